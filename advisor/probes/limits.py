"""Resource limits and the capabilities that lift one of them and place memory, of this process.

Format: getrlimit(2), capabilities(7).
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host, Limit
from advisor.model.facts import Facts, Seen, SeenAs
from advisor.probes._collected import Collected
from advisor.probes._irqbalance import SLICES
from advisor.probes._services import SERVICES, Service, read_services

ORIGIN = "/proc/self/limits"
STATUS = "/proc/self/status"
CAP_IPC_LOCK = 14
CAP_SYS_NICE = 23
"""Bits of the capabilities; include/uapi/linux/capability.h."""
_TITLES = {
    "memlock": "Max locked memory",
    "nofile": "Max open files",
    "stack": "Max stack size",
    "nproc": "Max processes",
}
_BYTES = ("memlock", "stack")


class ProcessLimits(Facts):
    """Limits of one process. A number is known only where it is not unlimited."""

    read_from: ClassVar[str] = "/proc/*/limits"
    memlock_unlimited: Annotated[bool | None, "soft limit of locked memory is unlimited"] = None
    memlock_soft_bytes: int | None = None
    memlock_hard_unlimited: bool | None = None
    memlock_hard_bytes: int | None = None
    nofile_unlimited: Annotated[bool | None, "soft limit of open files is unlimited"] = None
    nofile_soft: Annotated[int | None, "open files per process"] = None
    nofile_hard_unlimited: bool | None = None
    nofile_hard: Annotated[int | None, "what the process may raise the soft limit to"] = None
    stack_unlimited: bool | None = None
    stack_soft_bytes: int | None = None
    stack_hard_unlimited: bool | None = None
    stack_hard_bytes: int | None = None
    nproc_unlimited: bool | None = None
    nproc_soft: Annotated[int | None, "threads of this user"] = None
    nproc_hard_unlimited: bool | None = None
    nproc_hard: int | None = None


class ServiceLimits(ProcessLimits):
    """Limits of a service, which its jobs inherit unless it sets others for them."""

    program: Annotated[str, "containerd, dockerd, kubelet, slurmd or sshd"]


class Limits(ProcessLimits):
    """Limits that a job started from here inherits, and those of services that start jobs."""

    seen: ClassVar[Seen | None] = "own"
    may_lock_memory: Annotated[bool | None, "has CAP_IPC_LOCK: the memlock limit does not bind"] = None
    may_place_memory: Annotated[bool | None, "has CAP_SYS_NICE, without which containers refuse NUMA placement"] = None
    services: Annotated[
        tuple[ServiceLimits, ...] | None, SeenAs("masked"), "services of systemd that start jobs and run"
    ] = None


COLLECTED = Collected(
    folders=tuple((f"{folder}/{unit}", "cgroup.procs") for folder in SLICES for unit in SERVICES),
    large_files=("/proc/self/limits",),
)


def read(host: Host) -> Limits:
    """The limits of the reader's process on ``host``."""
    limits = {name: host.limit(name) for name in _TITLES}
    if None in limits.values() and (text := host.text(ORIGIN)) is not None:
        limits = {name: limits[name] or parse_limit(text, name) for name in _TITLES}
    values: dict[str, object] = {}
    for name, limit in limits.items():
        values.update(_fields(name, limit))
    status = host.text(STATUS)
    return Limits(
        origin=ORIGIN,
        **values,  # type: ignore[arg-type]
        may_lock_memory=None if status is None else parse_capability(status, CAP_IPC_LOCK),
        may_place_memory=None if status is None else parse_capability(status, CAP_SYS_NICE),
        services=_services(host),
        origins={"may_lock_memory": STATUS, "may_place_memory": STATUS, "services": SLICES[0]},
    )


def _services(host: Host) -> tuple[ServiceLimits, ...] | None:
    found = read_services(host)
    return None if found is None else tuple(map(_of_service, found))


def _of_service(service: Service) -> ServiceLimits:
    values: dict[str, object] = {}
    for name in _TITLES:
        values.update(_fields(name, parse_limit(service.limits or "", name)))
    # Without its number, which changes with every start.
    read = dict.fromkeys(values, f"/proc/PID/limits of a PID in {service.folder}/cgroup.procs")
    return ServiceLimits(origin=service.folder, program=service.program, **values, origins=read)  # type: ignore[arg-type]


def _fields(name: str, limit: Limit | None) -> dict[str, object]:
    """The four fields of one limit."""
    if limit is None:
        return {}
    unit = "_bytes" if name in _BYTES else ""
    return {
        f"{name}_unlimited": limit.soft is None,
        f"{name}_soft{unit}": limit.soft,
        f"{name}_hard_unlimited": limit.hard is None,
        f"{name}_hard{unit}": limit.hard,
    }


def parse_limit(text: str, name: str) -> Limit | None:
    """One resource limit in a ``/proc/PID/limits``.

    Sample: ``Max locked memory         8388608              unlimited            bytes``
    """
    number = r"(\d{1,20}|unlimited)"
    found = re.search(rf"^{_TITLES[name]} +{number} +{number}(?: |$)", text, re.MULTILINE | re.ASCII)
    if found is None:
        return None
    soft, hard = (None if word == "unlimited" else int(word) for word in found.groups())
    return Limit(soft, hard)


def parse_capability(text: str, bit: int) -> bool | None:
    r"""Whether a ``/proc/PID/status`` has this effective capability. Sample: ``CapEff:\t000001ffffffffff``"""
    found = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", text, re.MULTILINE)
    return None if found is None else bool(int(found[1], 16) >> bit & 1)
