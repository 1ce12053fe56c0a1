"""What systemd gives the services of a training node: state, limits, CPUs, memory; and what holds for all of them.

limits.conf does not reach services: what a container or a Slurm job may lock, open or start comes from here.
Settings: systemd.exec(5), systemd.resource-control(5), systemd-system.conf(5), logind.conf(5).
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts, Seen
from advisor.probes._collected import Collected
from advisor.probes._dropins import drop_ins
from advisor.probes._irqbalance import SLICES
from advisor.probes._sysfs import quiet_names
from advisor.probes._unit_files import TOPS, UnitLine, listings, settings_of, unit_drop_ins, unit_path

ORIGIN = "/etc/systemd/system"
SYSTEM_CONF = "/etc/systemd/system.conf"
LOGIND_CONF = "/etc/systemd/logind.conf"
UNITS = (
    "advisor-irq-affinity.service", "chrony.service", "chronyd.service", "containerd.service", "crio.service",
    "docker.service", "irqbalance.service",
    "k3s.service", "kubelet.service", "lldpad.service", "munge.service", "ntpd.service", "ntpsec.service",
    "nvidia-dcgm.service", "nvidia-fabricmanager.service", "nvidia-imex.service", "nvidia-persistenced.service",
    "opensm.service", "openibd.service", "phc2sys.service", "podman.service", "ptp4l.service", "rke2-agent.service",
    "slurmd.service", "ssh.service", "sshd.service", "systemd-timesyncd.service", "tuned.service", "user@.service",
)  # fmt: skip
"""Services that start jobs, tune the host and its links, keep its clock or serve its GPUs. user@ runs the sessions' own
services."""
_LIMITS = ("CORE", "MEMLOCK", "NOFILE", "NPROC", "RTPRIO", "STACK")
UNIT_KEYS = frozenset(
    (
        *(f"Limit{name}" for name in _LIMITS),
        *("AllowedCPUs", "AllowedMemoryNodes", "CPUAffinity", "CPUQuota", "CPUWeight", "Delegate", "IOWeight"),
        *("MemoryHigh", "MemoryMax", "MemorySwapMax", "NUMAMask", "NUMAPolicy", "Nice", "OOMScoreAdjust", "Slice"),
        "TasksMax",
    )
)
MANAGER_KEYS = frozenset(
    (*(f"DefaultLimit{name}" for name in _LIMITS), "DefaultTasksMax", "CPUAffinity", "NUMAPolicy", "NUMAMask")
)
LOGIND_KEYS = frozenset(("RemoveIPC", "KillUserProcesses", "UserTasksMax"))
_PROGRAM_OF = {"nvidia-persistenced.service": frozenset(("ExecStart",))}
"""Whose command lines say something of the GPUs' state; others may hold credentials."""


class Service(Facts):
    """One service, from its unit's files and its control group."""

    read_from: ClassVar[str] = "/usr/lib/systemd/system/*.service"
    name: Annotated[str, "containerd.service, user@.service ..."]
    path: Annotated[str | None, "its unit's own file; none where the package is not installed"] = None
    masked: Annotated[bool | None, "its file is a link to /dev/null: it cannot be started"] = None
    enabled: Annotated[bool | None, "a .wants or .requires folder in /etc has it: it starts with the system"] = None
    running: Annotated[bool | None, "its control group has processes; a container cannot tell"] = None
    settings: Annotated[
        tuple[UnitLine, ...] | None, "limits, CPUs and memory in its file and its drop-ins, in the order of application"
    ] = None


class Systemd(Facts):
    """Services that matter for training, and the settings for all services and sessions."""

    read_from: ClassVar[str] = "/etc/systemd"
    seen: ClassVar[Seen | None] = "own"

    services: Annotated[tuple[Service, ...] | None, "services whose unit's files are there, or that run"] = None
    manager: Annotated[tuple[UnitLine, ...] | None, "defaults for all services: DefaultLimit..., CPUAffinity"] = None
    logind: Annotated[
        tuple[UnitLine, ...] | None, "RemoveIPC (yes by default): shared memory goes with a user's last session"
    ] = None


COLLECTED = Collected(
    folders=(
        *((f"{top}/systemd/system", " ".join(UNITS)) for top in TOPS),
        *((f"{top}/systemd/system/*.service.d", "*.conf") for top in TOPS),
        *((f"{top}/systemd/system/service.d", "*.conf") for top in TOPS),
        *((f"{ORIGIN}/*.{kind}", "") for kind in ("wants", "requires")),
        *((f"{top}/systemd/{name}.conf.d", "*.conf") for top in TOPS for name in ("system", "logind")),
        *((folder, "") for folder in SLICES),
        *((f"{folder}/{unit}", "cgroup.procs") for folder in SLICES for unit in UNITS),
    ),
    files=(SYSTEM_CONF, LOGIND_CONF),
)


def read(host: Host) -> Systemd:
    """The services of ``host`` that matter."""
    return Systemd(
        origin=ORIGIN,
        services=_services(host),
        manager=_daemon(host, SYSTEM_CONF, MANAGER_KEYS),
        logind=_daemon(host, LOGIND_CONF, LOGIND_KEYS),
        origins={"manager": SYSTEM_CONF, "logind": LOGIND_CONF},
    )


def service_named(systemd: Systemd, name: str) -> Service | None:
    """The service ``name`` (without .service); ``None`` where no file and no process shows it."""
    return next((one for one in systemd.services or () if one.name == f"{name}.service"), None)


def _services(host: Host) -> tuple[Service, ...] | None:
    folders = listings(host)
    if all(names is None for names in folders.values()) and host.gaps.get(ORIGIN) != "absent":
        return None
    wanted = _wanted(host, folders[ORIGIN] or ())
    group, running = _groups(host)
    found = []
    for unit in UNITS:
        path = unit_path(folders, unit)
        drop_in = unit_drop_ins(host, folders, unit)
        if path is None and not drop_in and unit not in running:
            continue
        masked = None if path is None else _masked(host, path)
        files = (() if path is None or masked else (path,)) + drop_in
        found.append(
            Service(
                origin=path or f"{group}/{unit}",
                name=unit,
                path=path,
                masked=masked,
                enabled=unit in wanted,
                running=_running(host, group, unit, running),
                settings=settings_of(host, files, UNIT_KEYS | _PROGRAM_OF.get(unit, frozenset())),
                origins={"enabled": ORIGIN, "running": f"{group}/{unit}"},
            )
        )
    return tuple(found)


def _wanted(host: Host, names: tuple[str, ...]) -> frozenset[str]:
    """Units that others in ``/etc`` ask for."""
    folders = [name for name in names if name.endswith((".wants", ".requires"))]
    return frozenset(unit for name in folders for unit in host.names(f"{ORIGIN}/{name}") or ())


def _masked(host: Host, path: str) -> bool | None:
    known = path in host.gaps
    target = host.link(path)
    if target is not None:
        return target == "/dev/null"
    if not known and host.gaps.get(path) in ("unsupported", "absent"):
        del host.gaps[path]  # it is no link
        return False
    return None


def _groups(host: Host) -> tuple[str, tuple[str, ...]]:
    """The folder of the services' control groups, and their names."""
    for folder in SLICES:
        if (names := quiet_names(host, folder)) is not None:
            return folder, names
    host.names(SLICES[0])
    return SLICES[0], ()


def _running(host: Host, group: str, unit: str, names: tuple[str, ...]) -> bool | None:
    """Whether the unit has processes; where no service has a control group that it has none says nothing."""
    if not names or "@." in unit:
        return None
    if unit not in names:
        return False if host.exists(group) else None
    processes = host.text(f"{group}/{unit}/cgroup.procs")
    if processes is None:
        return None
    if processes.strip():
        return True
    # A service with delegated groups keeps its processes in groups of its own below.
    below = quiet_names(host, f"{group}/{unit}") or ()
    return None if any("." not in name or name.endswith((".scope", ".slice")) for name in below) else False


def _daemon(host: Host, conf: str, keys: frozenset[str]) -> tuple[UnitLine, ...] | None:
    """The settings of a part of systemd itself: its file, then its drop-ins."""
    main = host.text(conf)
    name = conf.rpartition("/")[2]
    known = tuple(f for top in TOPS if quiet_names(host, f := f"{top}/systemd/{name}.d") is not None)
    if main is None and host.gaps.get(conf) != "absent" and not known:
        return None
    files = drop_ins(host, known) if known else ()
    return settings_of(host, (*((conf,) if main is not None else ()), *(files or ())), keys)
