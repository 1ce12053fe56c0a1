"""Mounted file systems that may hold data, and what /etc/fstab and systemd's mount units ask for.

Kernel interfaces (proc, cgroup ...) and the mounts of containers are only counted: they come and go.
Formats: proc_pid_mountinfo(5), fstab(5).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_value
from advisor.model.facts import Facts, File, Private, Seen, SeenAs, Volatile
from advisor.probes._collected import Collected
from advisor.probes._filesystems import family_of, is_passing, is_remote, kept_options, kind_of
from advisor.probes._mount_units import FOLDERS as UNIT_FOLDERS
from advisor.probes._mount_units import SUFFIX, MountUnit, read_units
from advisor.probes._mountinfo import MOUNTINFO, MountLine, plain, read_mountinfo
from advisor.probes._mountstats import MOUNTSTATS, NfsUse, read_mountstats
from advisor.probes._nfs_route import interface_to, server_of
from advisor.probes.ip import ROUTES, ROUTES_LIMIT_BYTES, Route, parse_routes

FSTAB = "/etc/fstab"
BDI = "/sys/class/bdi"
_READ_AHEAD = File("read_ahead_kb", scale=1024)
_NFS = ("nfs", "nfs4")
_CEPH_READ_AHEAD_BYTES = 8 * 1024 * 1024
"""rasize of the kernel (fs/ceph/super.h), which prints it only when it differs."""
_NFS_CACHE = ("actimeo", "acregmin", "acregmax", "acdirmin", "acdirmax")
_USE = ("size_bytes", "available_bytes", "inodes", "inodes_free")
_FIXED_INODES = ("ext2", "ext3", "ext4", "tmpfs")
_NFS_ATTRIBUTE_SECONDS = 60
"""acregmax and acdirmax of the kernel (include/uapi/linux/nfs_fs.h)."""


class Mount(Facts):
    """One mounted file system that can be reached: what lies under a later mount is left out."""

    read_from: ClassVar[str] = "/proc/self/mountinfo"
    point: str
    fstype: Annotated[str, "as the kernel names it: ext4, xfs, nfs4, fuse.gcsfuse ..."]
    kind: Annotated[str, "local, network, memory, overlay, fuse or automount (nothing is mounted yet)"]
    family: Annotated[
        str | None,
        "what serves it: nfs, smb, ceph, lustre, gpfs, weka, beegfs, gluster, juicefs, object store, hypervisor ...; "
        "none for local file systems and for what is not known",
    ] = None
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
    read_ahead_bytes: Annotated[
        int | None, SeenAs("host"), "of network and FUSE file systems, which have no block device for it"
    ] = None
    nfs_version: Annotated[str | None, "3, 4.0, 4.1, 4.2"] = None
    nfs_protocol: Annotated[str | None, "tcp, rdma, udp"] = None
    nfs_connections: Annotated[int | None, "nconnect; 1 when not printed"] = None
    nfs_interface: Annotated[
        str | None, "network interface that leads to the server, by the main routing table; IPv4 only"
    ] = None
    nfs_soft: Annotated[bool | None, "soft or softerr: gives up with an error when the server is silent"] = None
    nfs_read_bytes: Annotated[int | None, "rsize, negotiated"] = None
    nfs_write_bytes: Annotated[int | None, "wsize, negotiated"] = None
    nfs_attribute_seconds: Annotated[int | None, "acregmax: attributes of files are trusted so long; 0 with noac"] = (
        None
    )
    nfs_folder_attribute_seconds: Annotated[int | None, "acdirmax, the same for folders"] = None
    nfs_use: Annotated[NfsUse | None, Volatile(), "what the client counted since it was mounted"] = None
    ceph_read_ahead_bytes: Annotated[int | None, "rasize of the kernel's client; 0: none"] = None
    ceph_read_bytes: Annotated[int | None, "rsize: most of one request; none: the kernel's own"] = None
    ceph_write_bytes: Annotated[int | None, "wsize: most of one request; none: the kernel's own"] = None
    ceph_synchronous_metadata: Annotated[
        bool | None, "wsync: creating and removing files waits for the server; none: the kernel's own"
    ] = None
    ceph_connection_mode: Annotated[
        str | None, "ms_mode: legacy, crc, secure (encrypts), prefer-crc ...; none: the kernel's own"
    ] = None


class FstabEntry(Facts):
    """One line of /etc/fstab."""

    read_from: ClassVar[str] = "/etc/fstab"
    line: int
    point: str
    fstype: str
    kind: Annotated[str, "as of mounts, or other: no data"]
    source: str | None = None
    remote: Annotated[str | None, Private(), "server and path of a network file system"] = None
    options: Annotated[dict[str, str] | None, "flags have an empty value; credentials left out"] = None
    nfs_read_bytes: Annotated[int | None, "rsize, where one is asked for"] = None
    nfs_write_bytes: Annotated[int | None, "wsize, where one is asked for"] = None
    nfs_cache_seconds: Annotated[
        dict[str, int] | None, "actimeo, acregmin, acregmax, acdirmin and acdirmax, those that are asked for"
    ] = None
    text: Annotated[
        str | None,
        "with single blanks, SERVER for a source that is private; none: it holds more that is",
    ] = None


class OtherMount(Facts):
    """A mount that is not listed."""

    read_from: ClassVar[str] = "/proc/self/mountinfo"
    point: str
    fstype: str


class Mounts(Facts):
    """Mounts, fstab and mount units."""

    seen: ClassVar[Seen | None] = "own"
    mounts: Annotated[tuple[Mount, ...] | None, "by mount point"] = None
    others: Annotated[tuple[OtherMount, ...] | None, Volatile(), "kernel interfaces and mounts of containers"] = None
    fstab: Annotated[tuple[FstabEntry, ...] | None, "in the order of the file"] = None
    units: Annotated[
        tuple[MountUnit, ...] | None, "systemd's mount units by name, less those made of fstab; drop-ins not read"
    ] = None


COLLECTED = Collected(
    files=("/etc/fstab",),
    large_files=(MOUNTSTATS, ROUTES),
    folders=((BDI, "*"), (f"{BDI}/*", "read_ahead_kb"), *((folder, f"*{SUFFIX}") for folder in UNIT_FOLDERS)),
)


def read(host: Host) -> Mounts:
    """The mounts of ``host``."""
    lines = read_mountinfo(host)
    fstab = host.text(FSTAB)
    if fstab is None and host.gaps.get(FSTAB) == "absent":
        fstab = ""  # what is not there asks for nothing
    origins = {"fstab": FSTAB, "units": UNIT_FOLDERS[0]}
    entries = parse_fstab(fstab) if fstab is not None else None
    units = read_units(host)
    if lines is None:
        return Mounts(origin=MOUNTINFO, fstab=entries, units=units, origins=origins)
    has_nfs = any(line.fstype in _NFS for line in lines)
    uses = read_mountstats(host) if has_nfs else {}
    routes = parse_routes(host.text(ROUTES, ROUTES_LIMIT_BYTES) or "") if has_nfs else None
    listed, others = [], []
    for line in sorted(reachable(lines), key=lambda line: line.point):
        kind = kind_of(line.fstype)
        if kind is None or is_passing(line.point, kind):
            others.append(OtherMount(origin=MOUNTINFO, point=line.point, fstype=line.fstype))
        else:
            listed.append(_mount(host, line, kind, uses.get(line.point), routes or ()))
    return Mounts(
        origin=MOUNTINFO, mounts=tuple(listed), others=tuple(others), fstab=entries, units=units, origins=origins
    )


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


def _mount(host: Host, line: MountLine, kind: str, use: NfsUse | None, routes: Sequence[Route]) -> Mount:
    options = kept_options((*line.super_options, *line.options))
    far = is_remote(line.source, kind)
    served = nfs_facts(options) if line.fstype in _NFS else ceph_facts(options) if line.fstype == "ceph" else {}
    server = server_of(line.super_options) if line.fstype in _NFS else None
    read_only = "ro" in line.options or "ro" in line.super_options
    options.pop("rw" if read_only else "ro", None)
    return Mount(
        origin=MOUNTINFO,
        point=line.point,
        fstype=line.fstype,
        kind=kind,
        family=family_of(line.fstype),
        source=None if far else line.source,
        remote=line.source if far else None,
        device=line.device,
        folder=line.root,
        options=options,
        read_only=read_only,
        **_use(host, line, kind),
        **served,
        nfs_use=use,
        nfs_interface=None if server is None else interface_to(server, routes),
        read_ahead_bytes=_read_ahead(host, line, kind),
        origins=dict.fromkeys(_USE, line.point)
        | {
            "nfs_use": MOUNTSTATS,
            "nfs_interface": ROUTES,
            "read_ahead_bytes": f"{BDI}/{line.device}/{_READ_AHEAD.name}",
        },
    )


def _read_ahead(host: Host, line: MountLine, kind: str) -> int | None:
    """Read-ahead of a file system without a block device; some (ceph) name the folder otherwise."""
    if kind not in ("network", "fuse") or re.fullmatch(r"\d{1,9}:\d{1,9}", line.device or "", re.ASCII) is None:
        return None
    value = read_value(host, f"{BDI}/{line.device}/{_READ_AHEAD.name}", _READ_AHEAD, int)
    return value if isinstance(value, int) else None


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


def ceph_facts(options: Mapping[str, str]) -> dict[str, Any]:
    """What the options of the kernel's Ceph client mean. Sample: ``{"rasize": "33554432", "wsync": ""}``"""
    return {
        "ceph_read_ahead_bytes": _number(options, "rasize", _CEPH_READ_AHEAD_BYTES),
        "ceph_read_bytes": _number(options, "rsize", None),
        "ceph_write_bytes": _number(options, "wsize", None),
        "ceph_synchronous_metadata": True if "wsync" in options else False if "nowsync" in options else None,
        "ceph_connection_mode": options.get("ms_mode"),
    }


def _number(options: Mapping[str, str], name: str, otherwise: int | None) -> int | None:
    value = options.get(name)
    if value is None:
        return otherwise
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else None


def _cache_seconds(options: Mapping[str, str]) -> dict[str, int]:
    asked = {name: _number(options, name, None) for name in _NFS_CACHE}
    return {name: seconds for name, seconds in asked.items() if seconds is not None}


def parse_fstab(text: str) -> tuple[FstabEntry, ...]:
    r"""The entries of an fstab.

    Sample: ``UUID=1b2c /data xfs defaults,noatime 0 2``; ``#`` starts a comment line, blanks are ``\040``
    """
    rows = ((number, line.split()) for number, line in enumerate(text.split("\n"), 1))
    return tuple(_entry(number, words) for number, words in rows if len(words) >= 3 and not words[0].startswith("#"))


def _entry(number: int, words: list[str]) -> FstabEntry:
    kind = kind_of(words[2]) or "other"
    source = plain(words[0])
    far = is_remote(source, kind)
    written = words[3].split(",") if len(words) > 3 else []
    options = kept_options(written)
    nfs = options if words[2] in _NFS else {}
    whole = len({option.partition("=")[0] for option in written if option}) == len(options)
    shown = ["SERVER" if far else words[0], *words[1:6]]
    return FstabEntry(
        origin=FSTAB,
        line=number,
        point=plain(words[1]),
        fstype=words[2],
        kind=kind,
        source=None if far else source,
        remote=source if far else None,
        options=options,
        nfs_read_bytes=_number(nfs, "rsize", None),
        nfs_write_bytes=_number(nfs, "wsize", None),
        nfs_cache_seconds=_cache_seconds(nfs) if words[2] in _NFS else None,
        text=" ".join(shown) if whole and "".join(shown).isprintable() else None,
    )
