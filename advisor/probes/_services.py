"""Processes of the services that start jobs, found by the control groups that systemd keeps for them."""

from dataclasses import dataclass

from advisor.host.base import Host
from advisor.model.facts import GapState
from advisor.probes._cgroup_folders import look
from advisor.probes._irqbalance import SLICES
from advisor.probes._sysfs import quiet_names

SERVICES = {
    "containerd.service": "containerd",
    "docker.service": "dockerd",
    "kubelet.service": "kubelet",
    "slurmd.service": "slurmd",
    "ssh.service": "sshd",
    "sshd.service": "sshd",
}
"""The unit and the name of its program; the group may hold jobs as well, with limits of their own."""
MOST_PROCESSES = 64


@dataclass(frozen=True)
class Service:
    """A service that runs."""

    program: str
    folder: str
    """Its control group, which stands for its process: numbers of processes change with every start."""
    limits: str | None
    """The text of the limits of its process."""


def read_services(host: Host) -> tuple[Service, ...] | None:
    """The services that run; ``None`` where systemd's groups are not seen, as in a container."""
    found = [(folder, names) for folder in SLICES if (names := quiet_names(host, folder)) is not None]
    if not found:
        host.names(SLICES[0])  # leaves the gap that says why
        return None
    folder, names = found[0]
    services = (_service(host, f"{folder}/{unit}", SERVICES[unit]) for unit in SERVICES if unit in names)
    return tuple(service for service in services if service is not None)


def _service(host: Host, folder: str, program: str) -> Service | None:
    """The service of one group; ``None`` for a group without processes."""
    text = host.text(f"{folder}/cgroup.procs")
    if text == "":
        return None
    why: GapState = "error"
    for pid in (text or "").split()[:MOST_PROCESSES]:
        if not (pid.isascii() and pid.isdigit() and len(pid) < 10):
            continue
        name, gap = look(host, f"/proc/{pid}/comm")
        if name == program:
            limits, gap = look(host, f"/proc/{pid}/limits")
            if limits is not None:
                return Service(program, folder, limits)
        why = gap or why
    host.missed(folder, host.gaps.get(f"{folder}/cgroup.procs", why))
    return Service(program, folder, None)
