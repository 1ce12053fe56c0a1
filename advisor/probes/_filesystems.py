"""Kinds of file systems by the names that the kernel gives them, and which mount options may be kept."""

import re
from collections.abc import Iterable

NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "cvfs", "gfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "orangefs", "panfs", "pvfs2", "smb3", "smbfs", "virtiofs", "wekafs",
}  # fmt: skip
"""What lies on somebody else's machine; 9p and virtiofs on the hypervisor's."""
_MEMORY = {"ramfs", "rootfs", "tmpfs"}
_OVERLAY = {"aufs", "fuse.fuse-overlayfs", "overlay", "unionfs"}
_FAMILIES = {
    "nfs": "nfs", "nfs4": "nfs", "cifs": "smb", "smb3": "smb", "smbfs": "smb",
    "ceph": "ceph", "fuse.ceph": "ceph", "fuse.ceph-fuse": "ceph", "lustre": "lustre", "gpfs": "gpfs",
    "wekafs": "weka", "beegfs": "beegfs", "fuse.beegfs": "beegfs", "glusterfs": "gluster", "fuse.glusterfs": "gluster",
    "orangefs": "orangefs", "pvfs2": "orangefs", "panfs": "panfs", "afs": "afs", "gfs2": "gfs2", "ocfs2": "ocfs2",
    "fuse.juicefs": "juicefs", "9p": "hypervisor", "virtiofs": "hypervisor", "fuse.sshfs": "ssh",
    **dict.fromkeys(
        (
            "fuse.s3fs", "fuse.gcsfuse", "fuse.blobfuse", "fuse.blobfuse2", "fuse.goofys", "fuse.geesefs",
            "fuse.rclone", "fuse.mountpoint-s3", "fuse.mount-s3", "fuse.ossfs", "fuse.cosfs", "fuse.obsfs",
        ),
        "object store",
    ),
}  # fmt: skip
"""What serves a file system of somebody else's machine."""
KERNEL = {
    "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fuse.gvfsd-fuse", "fuse.lxcfs", "fuse.portal", "fusectl", "hugetlbfs", "mqueue", "none", "nsfs", "proc", "pstore",
    "resctrl", "rpc_pipefs", "securityfs", "selinuxfs", "squashfs", "sysfs", "tracefs", "usbfs",
}  # fmt: skip
"""Interfaces of the kernel and images of packages: nothing that data is put on."""
_CONTAINERS = re.compile(
    r"/(?:(?:run|snap|proc|sys|etc)(?:/|$)|var/lib/(?:docker|containerd|containers|kubelet|rancher|lxc|lxd|snapd)/)"
)
"""Below these the runtimes of containers and user sessions mount; such mounts come and go."""
_DEV = re.compile(r"/dev/(?!shm$)")
_SECRET = re.compile(r"pass|secret|cred|token|key|user|auth", re.IGNORECASE)
_ADDRESSES = {
    "addr", "backup-volfile-servers", "backupvolfile-server", "clientaddr", "dom", "domain", "fsid", "ip", "mon_addr",
    "mountaddr", "name", "srcaddr", "unc",
}  # fmt: skip
_FAR = re.compile(r"//|[^/]*://|[^/]*@|[^/=]+:/")
"""A server, or an account at one: ``//server/share``, ``https://me:password@host/``, ``me@host:``, ``host:/export``."""
_ACCOUNT = re.compile(r"[^/@]+@|[^/]*://")
"""The value of an option that names a server or an account; ``@`` and ``/@home`` are subvolumes of btrfs."""
_LAYERS = {"lowerdir", "lowerdir+", "datadir+", "upperdir", "workdir"}
"""Long and different in every container."""


def kind_of(fstype: str) -> str | None:
    """local, network, memory, overlay, fuse or automount; ``None`` for what holds no data."""
    if fstype in KERNEL:
        return None
    if fstype in NETWORK:
        return "network"
    if fstype in _MEMORY:
        return "memory"
    if fstype in _OVERLAY:
        return "overlay"
    if fstype == "autofs":
        return "automount"
    return "fuse" if fstype == "fuse" or fstype.startswith("fuse.") else "local"


def family_of(fstype: str) -> str | None:
    """What serves the file system: nfs, ceph, lustre, object store ...; ``None`` for local and unknown ones."""
    return _FAMILIES.get(fstype)


def is_remote(source: str, kind: str | None) -> bool:
    """Whether the source of a mount may name servers and accounts."""
    return kind in ("network", "fuse") or names_server(source)


def is_passing(point: str, kind: str) -> bool:
    """Whether a mount belongs to a container, a session or a service, by where it lies."""
    if point.startswith("/run/media/"):
        return False
    return _DEV.match(point) is not None or (_CONTAINERS.match(point) is not None and kind != "network")


def kept_options(options: Iterable[str]) -> dict[str, str]:
    """Options by name, without credentials, addresses and the layers of overlays; flags have an empty value."""
    pairs = (option.partition("=") for option in options if option)
    return {name: value for name, _, value in pairs if not _is_private(name, value)}


def names_server(source: str) -> bool:
    """Whether the source of a mount names a server, whatever its type: helpers of mount have types of their own."""
    return _FAR.match(source) is not None


def _is_private(name: str, value: str) -> bool:
    if not value or name == "user_id":
        return name in _LAYERS
    hidden = name in _ADDRESSES or name in _LAYERS or _SECRET.search(name) is not None
    return hidden or _ACCOUNT.match(value) is not None
