"""Whether the reader runs in a container, by the marks that container programs leave."""

import re

from advisor.host.base import ENVIRONMENT, Host
from advisor.probes._mountinfo import MOUNTINFO, MountLine

MARKS = (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/.singularity.d", "apptainer"))
_VARIABLES = (
    ("KUBERNETES_SERVICE_HOST", "kubernetes"),
    ("APPTAINER_CONTAINER", "apptainer"),
    ("SINGULARITY_CONTAINER", "apptainer"),
)
_GROUPS = (
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("crio", "crio"),
    ("containerd", "containerd"),
    ("lxc", "lxc"),
)
_LAYERS = (("/docker/", "docker"), ("containerd", "containerd"), ("/containers/storage/", "podman"))
"""Where container programs keep the layers of an overlay root; an overlay alone may be a diskless or live system."""
_HOST_GROUP = re.compile(r"^\d+:[^:]*:/(?:user|system|init)\.(?:slice|scope)", re.MULTILINE)


def container_mark(
    host: Host, groups: str | None, mounts: tuple[MountLine, ...], groups_path: str
) -> tuple[str, str] | None:
    """The program that made the container and where its mark was found, the surest mark first."""
    told = host.text("/run/systemd/container")
    environment = host.environment() or {}
    found = [(kind, path) for path, kind in MARKS if host.exists(path)]
    found += [(told, "/run/systemd/container")] if told else []
    found += [(environment["container"], ENVIRONMENT)] if environment.get("container") else []
    found += [(kind, ENVIRONMENT) for name, kind in _VARIABLES if name in environment]
    found += [(kind, groups_path) for word, kind in _GROUPS if re.search(rf"\b{word}\b", groups or "")]
    found += [(kind, MOUNTINFO) for kind in _layers(mounts)]
    # A pod's containers are made by containerd or crio, whose marks they bear too.
    return next((mark for mark in found if mark[0] == "kubernetes"), found[0] if found else None)


def _layers(mounts: tuple[MountLine, ...]) -> list[str]:
    root = next((mount for mount in reversed(mounts) if mount.point == "/"), None)
    if root is None or root.fstype not in ("overlay", "fuse.fuse-overlayfs"):
        return []
    options = ",".join(root.super_options)
    return [kind for word, kind in _LAYERS if word in options]


def in_container(host: Host, mark: tuple[str, str] | None, groups: str | None) -> bool | None:
    """Whether the reader is in a container; that it is not, only where the marks were looked for in vain."""
    if mark is not None:
        return True
    if groups is not None and _HOST_GROUP.search(groups):
        return False
    return False if all(host.exists(path) is False for path, _ in MARKS) else None
