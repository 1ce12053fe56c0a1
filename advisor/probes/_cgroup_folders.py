"""Where the control group of this process lies, for each controller: one hierarchy each (v1) or one for all (v2)."""

import re
from dataclasses import dataclass

from advisor.host.base import Host
from advisor.model.facts import GapState
from advisor.probes._mountinfo import MOUNTINFO, MountLine

CGROUP = "/proc/self/cgroup"
CPUSET = "/proc/self/cpuset"
USUAL_POINT = "/sys/fs/cgroup"
_LINE = re.compile(r"\d+:([^:]*):(/.*)", re.ASCII)


@dataclass(frozen=True)
class Membership:
    """The groups of one process: a path per v1 controller, and one in the v2 hierarchy."""

    v1: dict[str, str]
    v2: str | None


@dataclass(frozen=True)
class Groups:
    """The folders of a controller, from the process's own group up to the mount point."""

    v2: bool
    folders: tuple[str, ...]
    at_root: bool
    """The mount point shows the hierarchy's real root, which has no limits."""


def parse_cgroup(text: str) -> Membership:
    """The groups in a ``/proc/PID/cgroup``.

    Sample lines: ``4:memory:/slurm/uid_1000``, ``2:cpu,cpuacct:/`` and, for v2, ``0::/user.slice``
    """
    v1: dict[str, str] = {}
    v2 = None
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        if found[1] == "":
            v2 = found[2]
        for controller in found[1].split(","):
            if controller and not controller.startswith("name="):
                v1[controller] = found[2]
    return Membership(v1, v2)


def groups_of(host: Host, controller: str, member: Membership, mounts: tuple[MountLine, ...]) -> Groups | None:
    """The folders of ``controller``; ``None`` when no mounted hierarchy shows them: then `unseen` says where."""
    if controller in member.v1:
        return _first(host, member.v1[controller], _mounts_of(controller, member, mounts), v2=False)
    if member.v2 is None:
        return None
    return _first(host, member.v2, _mounts_of(controller, member, mounts), v2=True)


def unseen(host: Host, controller: str, member: Membership, mounts: tuple[MountLine, ...] | None) -> str:
    """The path that would have to be seen to know of ``controller``, with its gap recorded."""
    if mounts is None:
        return MOUNTINFO
    point = next((mount.point for mount in _mounts_of(controller, member, mounts)), USUAL_POINT)
    if host.names(point) is not None or host.gaps.get(point) == "absent":
        # Another mount hides it, or none shows it here: what is missing says nothing of limits.
        host.missed(point, "denied")
    return point


def _mounts_of(controller: str, member: Membership, mounts: tuple[MountLine, ...]) -> list[MountLine]:
    if controller in member.v1:
        return [mount for mount in mounts if _holds(mount, controller)]
    return [mount for mount in mounts if mount.fstype == "cgroup2"]


def _holds(mount: MountLine, controller: str) -> bool:
    if mount.fstype == "cpuset":
        return controller == "cpuset"
    return mount.fstype == "cgroup" and controller in mount.super_options


def _first(host: Host, path: str, mounts: list[MountLine], v2: bool) -> Groups | None:
    """The folders below the first mount that shows the process's group, else the first mount point alone.

    In a container the path may be the host's while the mount shows the container's group as its root.
    """
    seen = [mount for mount in mounts if _there(host, mount.point)]
    for mount in seen:
        below = _below(mount.root, path)
        if below is None or (below and not _maybe_there(host, f"{mount.point}/{below}")):
            continue
        parts = below.split("/") if below else []
        folders = tuple("/".join([mount.point.rstrip("/"), *parts[:depth]]) for depth in range(len(parts), -1, -1))
        return Groups(v2, folders, mount.root == "/")
    return Groups(v2, (seen[0].point,), seen[0].root == "/") if seen else None


def _below(root: str, path: str) -> str | None:
    """``path`` below the mounted folder ``root``, without slashes around it; ``None`` when it is not below."""
    if ".." in path.split("/"):
        return None
    if root == "/":
        return path.strip("/")
    if path == root or path.startswith(root.rstrip("/") + "/"):
        return path[len(root) :].strip("/")
    return None


def _there(host: Host, folder: str) -> bool:
    """Whether a folder is there; looking for it leaves no gap."""
    known = folder in host.gaps
    found = host.names(folder) is not None
    if not found and not known:
        host.gaps.pop(folder, None)
    return found


def _maybe_there(host: Host, folder: str) -> bool:
    """Whether a folder is there or nobody knows; a limit in one that was not looked at may bind."""
    if _there(host, folder):
        return True
    known = folder in host.gaps
    absent = host.exists(folder) is False
    if not known:
        host.gaps.pop(folder, None)
    return not absent


def look(host: Host, path: str) -> tuple[str | None, GapState | None]:
    """The text of a file or why there is none, without a gap being recorded: most groups lack most files."""
    text = host.text(path)
    return text, None if text is not None else host.gaps.pop(path, "error")
