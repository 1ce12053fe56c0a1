"""The Lustre client's read-ahead, where its parameters lie in sysfs.

Nobody has checked the paths over Lustre's versions (they moved from procfs to sysfs): what is not found there is not
known, and never taken for absent. Format: Lustre Operations Manual, Tuning the Client I/O RPC Stream
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Seen
from advisor.probes._collected import Collected
from advisor.probes._mountinfo import read_mountinfo
from advisor.probes._sysfs import quiet_names

ORIGIN = "/sys/fs/lustre"
_CLIENTS = f"{ORIGIN}/llite"
_MEGABYTE = 1024 * 1024


class LustreClient(Facts):
    """One mounted Lustre file system as its client has it."""

    read_from: ClassVar[str] = "/sys/fs/lustre/llite/*"
    name: Annotated[str, "of the file system"]
    max_read_ahead_bytes: Annotated[int | None, File("max_read_ahead_mb", scale=_MEGABYTE), "of all files"] = None
    max_read_ahead_per_file_bytes: Annotated[
        int | None, File("max_read_ahead_per_file_mb", scale=_MEGABYTE), "of each file"
    ] = None


class Lustre(Facts):
    """The Lustre client, where something of it is mounted."""

    read_from: ClassVar[str] = "/sys/fs/lustre"
    seen: ClassVar[Seen | None] = "host"
    mounted: Annotated[int | None, "mounts of Lustre"] = None
    version: Annotated[str | None, File("version", unknown=("",))] = None
    clients: Annotated[tuple[LustreClient, ...] | None, "by name"] = None


COLLECTED = Collected(
    models=((ORIGIN, Lustre), (f"{_CLIENTS}/*", LustreClient)),
    folders=((_CLIENTS, ""),),
)


def read(host: Host) -> Lustre:
    """The Lustre client of ``host``."""
    lines = read_mountinfo(host)
    mounted = None if lines is None else sum(line.fstype == "lustre" for line in lines)
    if not mounted:
        return Lustre(origin=ORIGIN, mounted=mounted, clients=None if mounted is None else ())
    names = quiet_names(host, _CLIENTS)
    clients = None if names is None else tuple(_client(host, name) for name in names)
    if clients is None:
        host.missed(_CLIENTS, "unsupported")
    found = read_fields(host, Lustre, ORIGIN, mounted=mounted, clients=clients, origins={"clients": _CLIENTS})
    _not_absent(host)
    return found


def _client(host: Host, folder: str) -> LustreClient:
    return read_fields(host, LustreClient, f"{_CLIENTS}/{folder}", name=parse_name(folder))


def _not_absent(host: Host) -> None:
    """A path that nobody has checked is no proof of absence."""
    for path, state in host.gaps.items():
        if path.startswith(f"{ORIGIN}/") and state == "absent":
            host.gaps[path] = "unsupported"


def parse_name(folder: str) -> str:
    """The file system's name, without the address in the kernel. Sample: ``scratch-ffff9d2c4f6b8000``"""
    return re.sub(r"-[0-9a-f]{8,16}$", "", folder)
