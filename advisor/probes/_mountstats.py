"""What the NFS client counts for each mount. Format: fs/nfs/super.c (nfs_show_stats), net/sunrpc/stats.c."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, Volatile
from advisor.probes._mountinfo import LIMIT_BYTES, plain

MOUNTSTATS = "/proc/self/mountstats"
_FIELDS = (
    "operations",
    "transmissions",
    "timeouts",
    "sent_bytes",
    "received_bytes",
    "queue_ms",
    "round_trip_ms",
    "execution_ms",
    "errors",
)
_MOST = 2**63
"""Larger numbers are sums that fell below zero."""
_HEAD = re.compile(r"device (\S+) mounted on (\S+) with fstype (nfs4?)(?: statvers=\S+)?\s*")
_OPERATION = re.compile(r"\s*([A-Z][A-Z0-9_]*):((?: \d{1,20}){8,9})\s*", re.ASCII)


class NfsOperations(Facts):
    """Sums over one kind of operation since the mount; those of milliseconds are of all operations together."""

    operations: Annotated[int | None, Counter(), "asked for"] = None
    transmissions: Annotated[int | None, Counter(), "requests sent"] = None
    retransmissions: Annotated[int | None, Counter(), "requests sent more than once"] = None
    timeouts: Annotated[int | None, Counter(), "major timeouts: nothing came back for all of retrans"] = None
    sent_bytes: Annotated[int | None, Counter()] = None
    received_bytes: Annotated[int | None, Counter()] = None
    queue_ms: Annotated[int | None, Counter(), "before they were sent"] = None
    round_trip_ms: Annotated[int | None, Counter(), "from sending to the answer"] = None
    execution_ms: Annotated[int | None, Counter(), "from asking to the end"] = None
    errors: Annotated[int | None, Counter(), "ended with an error; kernels since 5.3"] = None


class NfsUse(Facts):
    """What the NFS client has done for one mount."""

    read_from: ClassVar[str] = "/proc/self/mountstats"
    point: str
    age_seconds: Annotated[int | None, Volatile(), "since it was mounted"] = None
    transports: Annotated[tuple[str, ...] | None, "of each connection: tcp, rdma, udp, local"] = None
    reads: Annotated[NfsOperations | None, Volatile()] = None
    writes: Annotated[NfsOperations | None, Volatile()] = None
    all_operations: Annotated[NfsOperations | None, Volatile(), "of every kind together"] = None


def read_mountstats(host: Host) -> dict[str, NfsUse]:
    """What is counted for each mounted NFS file system, by mount point."""
    text = host.text(MOUNTSTATS, LIMIT_BYTES)
    if text is None:
        return {}
    found = parse_mountstats(text)
    odd = any(None in (one.round_trip_ms, one.queue_ms) for use in found.values() for one in _sums(use))
    if odd:
        host.missed(MOUNTSTATS, "unsupported")
    return found


def _sums(use: NfsUse) -> tuple[NfsOperations, ...]:
    return tuple(one for one in (use.reads, use.writes, use.all_operations) if one is not None)


def parse_mountstats(text: str) -> dict[str, NfsUse]:
    r"""What is counted, by mount point::

    device filer:/export mounted on /data with fstype nfs4 statvers=1.1
            age:    13968
            xprt:   tcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726
            per-op statistics
                READ: 1298 1300 0 207680 1210292152 6 79386 79407 0
    """
    found: dict[str, NfsUse] = {}
    for paragraph in re.split(r"(?m)^(?=device )", text):
        first, _, rest = paragraph.partition("\n")
        head = _HEAD.fullmatch(first)
        if head is not None and rest:
            point = plain(head[2])
            found[point] = _use(point, rest)
    return found


def _use(point: str, text: str) -> NfsUse:
    age = re.search(r"(?m)^\s*age:\s+(\d{1,18})\s*$", text, re.ASCII)
    transports = re.findall(r"(?m)^\s*xprt:\s+([a-z]+)\b", text)
    rows = {found[1]: found[2].split() for line in text.split("\n") if (found := _OPERATION.fullmatch(line))}
    return NfsUse(
        origin=MOUNTSTATS,
        point=point,
        age_seconds=int(age[1]) if age else None,
        transports=tuple(transports) or None,
        reads=_operations([rows["READ"]]) if "READ" in rows else None,
        writes=_operations([rows["WRITE"]]) if "WRITE" in rows else None,
        all_operations=_operations(list(rows.values())) if rows else None,
    )


def _operations(rows: Sequence[Sequence[str]]) -> NfsOperations:
    values: dict[str, Any] = {}
    for number, name in enumerate(_FIELDS):
        column = [int(row[number]) for row in rows if len(row) > number]
        values[name] = sum(column) if column and max(column) < _MOST else None
    again = [max(0, int(row[1]) - int(row[0])) for row in rows if int(row[1]) < _MOST]
    return NfsOperations(origin=MOUNTSTATS, retransmissions=sum(again), **values)
