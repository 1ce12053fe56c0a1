"""Ceph's storage daemons on this host: how each keeps its data.

Format: https://docs.ceph.com/en/latest/rados/operations/bluestore-migration/ (a folder for each daemon)
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Root, Seen
from advisor.probes._collected import Collected

ORIGIN = "/var/lib/ceph/osd"
_FOLDER = re.compile(r"[A-Za-z0-9_.]{1,64}-\d{1,9}", re.ASCII)


class Osd(Facts):
    """One storage daemon, from its folder."""

    name: Annotated[str, Root(), "cluster and number: ceph-0"]
    store: Annotated[str | None, File("type", unknown=("",)), Root(), "bluestore, filestore ..."] = None


class Ceph(Facts):
    """Ceph's storage daemons (OSDs), but for those in containers, whose folders lie elsewhere."""

    seen: ClassVar[Seen | None] = "masked"
    osds: Annotated[tuple[Osd, ...] | None, Root(), "by name"] = None


COLLECTED = Collected(models=((f"{ORIGIN}/*", Osd),), folders=((ORIGIN, ""),))


def read(host: Host) -> Ceph:
    """The storage daemons of ``host``."""
    names = host.names(ORIGIN)
    if names is None:
        return Ceph(origin=ORIGIN, osds=() if host.gaps.get(ORIGIN) == "absent" else None)
    folders = sorted(name for name in names if _FOLDER.fullmatch(name))
    return Ceph(origin=ORIGIN, osds=tuple(read_fields(host, Osd, f"{ORIGIN}/{name}", name=name) for name in folders))
