"""/dev/shm, where DataLoader workers and NCCL put shared memory.

Format: statvfs(3), https://docs.kernel.org/filesystems/tmpfs.html
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host, command_origin
from advisor.model.facts import Facts, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._mountinfo import MOUNTINFO, MountLine, read_mountinfo

ORIGIN = "/dev/shm"
_IN_MEMORY = ("tmpfs", "ramfs")
LIST = ("ls", "-lnskA", ORIGIN)
PREFIXES = ("nccl-", "torch_", "psm_", "sem.")
"""Of NCCL's buffers, PyTorch's tensors, Python's shared memory, and semaphores."""


class Segments(Facts):
    """Files in ``/dev/shm`` whose names begin alike; what no process uses any more stays until somebody removes it."""

    read_from: ClassVar[str] = "command: ls -lnskA /dev/shm"
    prefix: Annotated[str, "nccl-, torch_, psm_ or sem.; empty for all others"]
    count: Annotated[int | None, Volatile(), "files"] = None
    used_bytes: Annotated[int | None, Volatile(), "memory that they take"] = None


class Shm(Facts):
    """Size and use of ``/dev/shm``."""

    read_from: ClassVar[str] = "/dev/shm"
    seen: ClassVar[Seen | None] = "own"
    is_tmpfs: Annotated[bool | None, "whether a tmpfs is mounted there"] = None
    size_bytes: Annotated[int | None, "all that fits; its pages count as memory"] = None
    available_bytes: Annotated[int | None, Volatile(), "what still fits"] = None
    size_option: Annotated[str | None, "mount option size=, as mountinfo prints it; none: half of memory"] = None
    huge: Annotated[str | None, "mount option huge=: always, within_size or advise; none: never"] = None
    memory_policy: Annotated[str | None, "mount option mpol=: where its pages lie; none: as of the process"] = None
    swappable: Annotated[bool | None, "whether its pages may go to swap (not with noswap, since 6.4)"] = None
    segments: Annotated[tuple[Segments, ...] | None, Volatile(), "files in it by the beginning of their names"] = None


COLLECTED = Collected(commands=(LIST,))


def read(host: Host) -> Shm:
    """``/dev/shm`` of ``host``."""
    mounts = read_mountinfo(host)
    use = host.statvfs(ORIGIN)
    mount = _mount_of(mounts or (), ORIGIN)
    # Shared memory of another mount's file system (no mount at /dev/shm) would be disk: still its size, no tmpfs.
    return Shm(
        origin=ORIGIN,
        is_tmpfs=None if mounts is None else mount is not None and mount.fstype in _IN_MEMORY,
        size_bytes=use.block_bytes * use.blocks if use else _size_of(mount),
        available_bytes=use.block_bytes * use.blocks_available if use else None,
        size_option=_option(mount, "size"),
        huge=_option(mount, "huge"),
        memory_policy=_option(mount, "mpol"),
        swappable=None if mount is None or mount.fstype != "tmpfs" else "noswap" not in mount.super_options,
        segments=_segments(host),
        origins={"segments": command_origin(LIST)}
        | dict.fromkeys(("is_tmpfs", "size_option", "huge", "memory_policy", "swappable"), MOUNTINFO)
        | ({} if use else {"size_bytes": MOUNTINFO}),
    )


def _segments(host: Host) -> tuple[Segments, ...] | None:
    output = host.run(LIST)
    if output is None:
        return None
    if output.returncode != 0:
        host.missed(command_origin(LIST), "error")
        return None
    files = parse_listing(output.stdout)
    groups: dict[str, list[int]] = {prefix: [] for prefix in (*PREFIXES, "")}
    for name, size in files:
        groups[next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")].append(size)
    origin = command_origin(LIST)
    return tuple(
        Segments(origin=origin, prefix=prefix, count=len(found), used_bytes=sum(found))
        for prefix, found in groups.items()
        if found
    )


def parse_listing(text: str) -> tuple[tuple[str, int], ...]:
    """Name and bytes of each plain file that ``ls -lnskA`` lists.

    Sample: ``32768 -rw------- 1 0 0 33554432 Nov 29 17:00 nccl-Yx3kQ2``, blocks of 1 KiB first
    """
    rows = (line.split(None, 9) for line in text.split("\n"))
    return tuple(
        (row[9], int(row[0]) * 1024)
        for row in rows
        if len(row) == 10 and row[1].startswith("-") and re.fullmatch(r"\d{1,15}", row[0], re.ASCII)
    )


def _mount_of(mounts: tuple[MountLine, ...], point: str) -> MountLine | None:
    """The last, therefore topmost mount at exactly ``point``."""
    return next((mount for mount in reversed(mounts) if mount.point == point), None)


def _option(mount: MountLine | None, name: str) -> str | None:
    if mount is None:
        return None
    values = (option.partition("=")[2] for option in mount.super_options if option.startswith(f"{name}="))
    return next(values, None)


def _size_of(mount: MountLine | None) -> int | None:
    """The size that a tmpfs's ``size=`` option gives (``65536k``)."""
    found = re.fullmatch(r"(\d{1,15})([kmgt]?)", _option(mount, "size") or "", re.ASCII | re.IGNORECASE)
    return None if found is None else int(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " ")
