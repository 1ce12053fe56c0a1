"""Mounted file systems as /proc/self/mountinfo lists them. Format: proc_pid_mountinfo(5)."""

import re
from dataclasses import dataclass

from advisor.host.base import Host

MOUNTINFO = "/proc/self/mountinfo"
MOUNTS = ("/proc/self/mounts", "/proc/mounts")
"""Says less (not which folder is mounted); some dumps have nothing else."""
LIMIT_BYTES = 4 * 1024 * 1024
"""Nodes that run containers have thousands of long overlay lines."""
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class MountLine:
    """One mount."""

    root: str
    """The folder of the file system that is mounted (not ``/``: a bind mount, or a cgroup seen from inside)."""
    point: str
    fstype: str
    source: str
    options: tuple[str, ...]
    super_options: tuple[str, ...]
    number: int | None = None
    """Identifies the mount among the others; ``None`` where the text is not mountinfo."""
    parent: int | None = None
    """The mount that it is mounted in."""
    device: str | None = None
    """major:minor of the file system."""


def read_mountinfo(host: Host) -> tuple[MountLine, ...] | None:
    """The mounts that this process sees, later ones on top of earlier ones; ``None`` when they are not known."""
    text = host.text(MOUNTINFO, LIMIT_BYTES)
    if text is not None:
        return parse_mountinfo(text)
    other = next((text for path in MOUNTS if (text := host.text(path, LIMIT_BYTES)) is not None), None)
    return None if other is None else parse_mounts(other)


def parse_mountinfo(text: str) -> tuple[MountLine, ...]:
    r"""The mounts in a mountinfo text; lines that are cut short are left out.

    Sample: ``36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue``
    """
    return tuple(line for raw in text.split("\n") if (line := _line(raw)) is not None)


def parse_mounts(text: str) -> tuple[MountLine, ...]:
    """The mounts in ``/proc/mounts``. Sample: ``/dev/root /mnt ext3 rw,noatime 0 0``"""
    rows = (line.split(" ") for line in text.split("\n"))
    return tuple(
        MountLine("/", plain(row[1]), row[2], plain(row[0]), tuple(row[3].split(",")), tuple(row[3].split(",")))
        for row in rows
        if len(row) >= 4
    )


def _line(raw: str) -> MountLine | None:
    mount, dash, system = raw.partition(" - ")
    fields, of_system = mount.split(" "), system.split(" ")
    if not dash or len(fields) < 6 or len(of_system) < 2:
        return None
    return MountLine(
        root=plain(fields[3]),
        point=plain(fields[4]),
        fstype=of_system[0],
        source=plain(of_system[1]),
        options=tuple(fields[5].split(",")),
        super_options=tuple(of_system[2].split(",")) if len(of_system) > 2 else (),
        number=int(fields[0]) if fields[0].isdecimal() else None,
        parent=int(fields[1]) if fields[1].isdecimal() else None,
        device=fields[2],
    )


def plain(text: str) -> str:
    r"""A name with its escapes undone: ``/a\040b`` is ``/a b``."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)
