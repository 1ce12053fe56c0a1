"""Mounted file systems that may hold data, and what /etc/fstab asks for.

Kernel interfaces (proc, cgroup ...) and the mounts of containers are only counted: they come and go.
Formats: proc_pid_mountinfo(5), fstab(5).
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, Private, Volatile
from advisor.probes._mountinfo import MOUNTINFO

FSTAB = "/etc/fstab"


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
    kind: Annotated[str, "as of mounts"]
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


def read(host: Host) -> Mounts:
    """The mounts of ``host``."""
    return Mounts(origin=MOUNTINFO)
