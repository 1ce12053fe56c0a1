"""The root whose files are installed or put back, and whether they may be."""

import os
from dataclasses import dataclass

from advisor.errors import ApplyError, InputError
from advisor.host.base import Host
from advisor.host.live import LiveHost
from advisor.host.tree import Tree as HostTree
from advisor.inputs import printable
from advisor.planning.apply import Kernel, Tree
from advisor.planning.transaction import Site
from advisor.probes import platform


@dataclass
class Place:
    """A root that may be changed."""

    site: Site
    host: Host
    running: bool
    """It is the root of the running system: its kernel can be set too."""


def place_at(target_root: str | None, verb: str, changes: bool) -> Place:
    """The place for ``--target-root``, or the running system. Raises InputError, and ApplyError in a container."""
    root = "/" if target_root is None else _named(target_root)
    running = root == "/"
    host = LiveHost.here() if running else HostTree.in_folder(root)
    if changes and running and not host.root_user:
        raise InputError(f"advisor {verb} needs root: start it with sudo, or give --target-root DIR")
    if changes:
        _refuse_in_a_container(root, verb)
    return Place(Site(Tree(root), Kernel() if running else None), host, running)


def _named(target_root: str) -> str:
    real = os.path.realpath(target_root) if target_root and "\0" not in target_root else ""
    if not os.path.isdir(real):
        raise InputError(f"--target-root must be the folder of a system's root but is {printable(target_root)!r}")
    if not os.access(real, os.R_OK | os.X_OK):
        raise InputError(f"--target-root {printable(target_root)} cannot be read: start advisor with sudo")
    return real


def _refuse_in_a_container(root: str, verb: str) -> None:
    """A container's own files are not its host's, and its host's are not the container's to change."""
    inside = platform.read(LiveHost.here()).container
    if root == "/" and inside is not False:
        why = "this is a container" if inside else "it cannot be told whether this is a container"
        raise ApplyError(f"{why}: run advisor {verb} on the host, or give --target-root DIR for another system's files")
    if inside and os.path.lexists(f"{root}/proc/self"):
        raise ApplyError(
            f"this is a container, and {printable(root)} is the root of a running system: run advisor {verb} there"
        )
