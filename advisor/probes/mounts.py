"""Mounted file systems that may hold data, and what /etc/fstab asks for.

Kernel interfaces (proc, cgroup ...) and the mounts of containers are only counted: they come and go.
Formats: proc_pid_mountinfo(5), fstab(5).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from advisor.host.base import Host
from advisor.model.facts import Facts, Private, Volatile
from advisor.probes._collected import Collected
from advisor.probes._filesystems import is_passing, kept_options, kind_of, names_server
from advisor.probes._mountinfo import MOUNTINFO, MountLine, plain, read_mountinfo

FSTAB = "/etc/fstab"
_REMOTE = ("network", "fuse")
"""Kinds whose source may name servers and accounts."""
_USE = ("size_bytes", "available_bytes", "inodes", "inodes_free")
_FIXED_INODES = ("ext2", "ext3", "ext4", "tmpfs")
_NFS_ATTRIBUTE_SECONDS = 60
"""acregmax and acdirmax of the kernel (include/uapi/linux/nfs_fs.h)."""


class Mount(Facts):
    """One mounted file system that can be reached: what lies under a later mount is left out."""

    point: str
    fstype: Annotated[str, "as the kernel names it: ext4, xfs, nfs4, fuse.gcsfuse ..."]
    kind: Annotated[str, "local, network, memory, overlay, fuse or automount (nothing is mounted yet)"]
    source: Annotated[str | None, "device, data set or label; of network file systems see remote"] = None
    remote: Annotated[str | None, Private(), "server and path of a network file system"] = None
    device: Annotated[str | None, "major:minor of the file system; 0:N for those without a device"] = None
    folder: Annotated[str | None, "the folder of the file system that is mounted; not /: a bind mount"] = None
    options: Annotated[
        dict[str, str] | None, "of the mount and of the file system; flags have an empty value; credentials left out"
    ] = None
    read_only: bool | None = None
    size_bytes: Annotated[int | None, "in all"] = None
    available_bytes: Annotated[int | None, Volatile(), "free for this user"] = None
    inodes: Annotated[int | None, "in all; only where their number is fixed (ext, tmpfs)"] = None
    inodes_free: Annotated[int | None, Volatile()] = None
    nfs_version: Annotated[str | None, "3, 4.0, 4.1, 4.2"] = None
    nfs_protocol: Annotated[str | None, "tcp, rdma, udp"] = None
    nfs_connections: Annotated[int | None, "nconnect; 1 when not printed"] = None
    nfs_soft: Annotated[bool | None, "soft or softerr: gives up with an error when the server is silent"] = None
    nfs_read_bytes: Annotated[int | None, "rsize, negotiated"] = None
    nfs_write_bytes: Annotated[int | None, "wsize, negotiated"] = None
    nfs_attribute_seconds: Annotated[int | None, "acregmax: attributes of files are trusted so long; 0 with noac"] = (
        None
    )
    nfs_folder_attribute_seconds: Annotated[int | None, "acdirmax, the same for folders"] = None


class FstabEntry(Facts):
    """One line of /etc/fstab."""

    line: int
    point: str
    fstype: str
    kind: Annotated[str, "as of mounts, or other: no data"]
    source: str | None = None
    remote: Annotated[str | None, Private(), "server and path of a network file system"] = None
    options: Annotated[dict[str, str] | None, "flags have an empty value; credentials left out"] = None


class OtherMount(Facts):
    """A mount that is not listed."""

    point: str
    fstype: str


class Mounts(Facts):
    """Mounts and fstab."""

    mounts: Annotated[tuple[Mount, ...] | None, "by mount point"] = None
    others: Annotated[tuple[OtherMount, ...] | None, Volatile(), "kernel interfaces and mounts of containers"] = None
    fstab: Annotated[tuple[FstabEntry, ...] | None, "in the order of the file"] = None


COLLECTED = Collected(files=("/etc/fstab",))


def read(host: Host) -> Mounts:
    """The mounts of ``host``."""
    lines = read_mountinfo(host)
    fstab = host.text(FSTAB)
    origins = {"fstab": FSTAB}
    entries = parse_fstab(fstab) if fstab is not None else None
    if lines is None:
        return Mounts(origin=MOUNTINFO, fstab=entries, origins=origins)
    listed, others = [], []
    for line in sorted(reachable(lines), key=lambda line: line.point):
        kind = kind_of(line.fstype)
        if kind is None or is_passing(line.point, kind):
            others.append(OtherMount(origin=MOUNTINFO, point=line.point, fstype=line.fstype))
        else:
            listed.append(_mount(host, line, kind))
    return Mounts(origin=MOUNTINFO, mounts=tuple(listed), others=tuple(others), fstab=entries, origins=origins)


def reachable(lines: Sequence[MountLine]) -> tuple[MountLine, ...]:
    """The mounts that a path can lead to: not those that a later mount covers."""
    by_number = {line.number: line for line in lines if line.number is not None}
    seen: list[MountLine] = []
    for line in lines:
        below = line.point.rstrip("/") + "/"
        seen = [
            earlier
            for earlier in seen
            if not (earlier.point == line.point or (line.number is not None and earlier.point.startswith(below)))
            or _is_in(earlier, line, by_number)
        ]
        seen.append(line)
    return tuple(seen)


def _is_in(line: MountLine, outer: MountLine, by_number: Mapping[int, MountLine]) -> bool:
    """Whether ``line`` is mounted, directly or not, in ``outer``: then ``outer`` cannot cover it."""
    passed: set[int] = set()
    at: MountLine | None = line
    while at is not None and at.parent is not None and at.parent not in passed:
        if at.parent == outer.number:
            return True
        passed.add(at.parent)
        at = by_number.get(at.parent)
    return False


def _mount(host: Host, line: MountLine, kind: str) -> Mount:
    options = kept_options((*line.super_options, *line.options))
    far = kind in _REMOTE or names_server(line.source)
    read_only = "ro" in line.options or "ro" in line.super_options
    options.pop("rw" if read_only else "ro", None)
    return Mount(
        origin=MOUNTINFO,
        point=line.point,
        fstype=line.fstype,
        kind=kind,
        source=None if far else line.source,
        remote=line.source if far else None,
        device=line.device,
        folder=line.root,
        options=options,
        read_only=read_only,
        **_use(host, line, kind),
        **(nfs_facts(options) if line.fstype in ("nfs", "nfs4") else {}),
        origins=dict.fromkeys(_USE, line.point),
    )


def _use(host: Host, line: MountLine, kind: str) -> dict[str, Any]:
    """Size and use; a server is not asked, it may be dead."""
    if kind not in ("local", "memory", "overlay"):
        return {}
    use = host.statvfs(line.point)
    if use is None:
        return {}
    values = {"available_bytes": use.blocks_available * use.block_bytes}
    if line.fstype != "zfs":  # a data set grows and shrinks with what its pool has left
        values["size_bytes"] = use.blocks * use.block_bytes
    if line.fstype in _FIXED_INODES:
        values.update(inodes=use.files, inodes_free=use.files_free)
    return values


def nfs_facts(options: Mapping[str, str]) -> dict[str, Any]:
    """What the options of a mounted NFS file system mean; the kernel prints some only when they differ from its own.

    Sample: ``{"vers": "4.2", "rsize": "1048576", "hard": "", "proto": "tcp", "nconnect": "8", "acregmax": "1"}``
    """
    no_cache = "noac" in options
    return {
        "nfs_version": options.get("vers") or options.get("nfsvers"),
        "nfs_protocol": options.get("proto"),
        "nfs_connections": _number(options, "nconnect", 1),
        "nfs_soft": True if "soft" in options or "softerr" in options else False if "hard" in options else None,
        "nfs_read_bytes": _number(options, "rsize", None),
        "nfs_write_bytes": _number(options, "wsize", None),
        "nfs_attribute_seconds": 0 if no_cache else _number(options, "acregmax", _NFS_ATTRIBUTE_SECONDS),
        "nfs_folder_attribute_seconds": 0 if no_cache else _number(options, "acdirmax", _NFS_ATTRIBUTE_SECONDS),
    }


def _number(options: Mapping[str, str], name: str, otherwise: int | None) -> int | None:
    value = options.get(name)
    if value is None:
        return otherwise
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else None


def parse_fstab(text: str) -> tuple[FstabEntry, ...]:
    r"""The entries of an fstab.

    Sample: ``UUID=1b2c /data xfs defaults,noatime 0 2``; ``#`` starts a comment line, blanks are ``\040``
    """
    rows = ((number, line.split()) for number, line in enumerate(text.split("\n"), 1))
    return tuple(_entry(number, words) for number, words in rows if len(words) >= 3 and not words[0].startswith("#"))


def _entry(number: int, words: list[str]) -> FstabEntry:
    kind = kind_of(words[2]) or "other"
    source = plain(words[0])
    far = kind in _REMOTE or names_server(source)
    return FstabEntry(
        origin=FSTAB,
        line=number,
        point=plain(words[1]),
        fstype=words[2],
        kind=kind,
        source=None if far else source,
        remote=source if far else None,
        options=kept_options(words[3].split(",") if len(words) > 3 else ()),
    )
