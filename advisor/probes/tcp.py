"""What TCP of this network namespace sent twice, dropped or could not take.

Formats: /proc/net/snmp (RFC 1213, RFC 4022) and https://docs.kernel.org/networking/snmp_counter.html
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, File, Seen, Volatile, marks
from advisor.probes._collected import Collected

ORIGIN = "/proc/net"
SNMP = "snmp"
NETSTAT = "netstat"
_COLUMNS = {
    "segments_sent": ("Tcp", "OutSegs"),
    "segments_received": ("Tcp", "InSegs"),
    "segments_retransmitted": ("Tcp", "RetransSegs"),
    "segments_bad": ("Tcp", "InErrs"),
    "connections": ("Tcp", "CurrEstab"),
    "reassembly_failures": ("Ip", "ReasmFails"),
    "timeouts": ("TcpExt", "TCPTimeouts"),
    "receive_queue_drops": ("TcpExt", "TCPRcvQDrop"),
    "backlog_drops": ("TcpExt", "TCPBacklogDrop"),
    "prunes": ("TcpExt", "PruneCalled"),
    "memory_pressures": ("TcpExt", "TCPMemoryPressures"),
    "listen_overflows": ("TcpExt", "ListenOverflows"),
    "listen_drops": ("TcpExt", "ListenDrops"),
}
"""Protocol and column of each field; newer kernels have more columns."""


class Tcp(Facts):
    """Counters of this network namespace since it was made. Their growth under load is what counts."""

    read_from: ClassVar[str] = "/proc/net/snmp, /proc/net/netstat, /proc/net"
    seen: ClassVar[Seen | None] = "own"

    segments_sent: Annotated[int | None, File(SNMP), Counter(), "with those sent again"] = None
    segments_received: Annotated[int | None, File(SNMP), Counter(), "with bad ones"] = None
    segments_retransmitted: Annotated[int | None, File(SNMP), Counter(), "segments sent again: packets were lost"] = (
        None
    )
    segments_bad: Annotated[int | None, File(SNMP), Counter(), "received with a wrong checksum or length"] = None
    connections: Annotated[int | None, File(SNMP), Volatile(), "established now"] = None
    reassembly_failures: Annotated[
        int | None, File(SNMP), Counter(), "IP packets whose fragments did not all come or found no room"
    ] = None
    timeouts: Annotated[int | None, File(NETSTAT), Counter(), "times nothing was heard until the timer ran out"] = None
    receive_queue_drops: Annotated[
        int | None, File(NETSTAT), Counter(), "packets dropped because a socket's receive buffer was full"
    ] = None
    backlog_drops: Annotated[
        int | None, File(NETSTAT), Counter(), "packets dropped because a busy socket's backlog was full"
    ] = None
    prunes: Annotated[int | None, File(NETSTAT), Counter(), "times a receive buffer was searched for room"] = None
    memory_pressures: Annotated[int | None, File(NETSTAT), Counter(), "times tcp_mem's second value was passed"] = None
    listen_overflows: Annotated[int | None, File(NETSTAT), Counter(), "connections refused: somaxconn was reached"] = (
        None
    )
    listen_drops: Annotated[int | None, File(NETSTAT), Counter(), "connections refused, for whatever reason"] = None


COLLECTED = Collected(large_files=(f"{ORIGIN}/{SNMP}", f"{ORIGIN}/{NETSTAT}"))


def read(host: Host) -> Tcp:
    """The counters of ``host``."""
    told = {name: host.text(f"{ORIGIN}/{name}") for name in (SNMP, NETSTAT)}
    found = {name: parse_columns(text or "") for name, text in told.items()}
    values: dict[str, int | None] = {}
    origins: dict[str, str] = {}
    for field, mark in marks(Tcp).items():
        protocol, column = _COLUMNS[field]
        assert mark.file is not None
        file = mark.file.name
        values[field] = found[file].get(protocol, {}).get(column)
        if values[field] is None and told[file] is not None:
            origins[field] = f"{ORIGIN}/{file}/{column}"
            host.missed(origins[field], "unsupported")
    return Tcp.model_validate({"origin": ORIGIN, "origins": origins, **values})


def parse_columns(text: str) -> Mapping[str, Mapping[str, int]]:
    """Counters by protocol and name; a line that does not fit its heading says nothing. Sample::

    Tcp: RtoAlgorithm RtoMin MaxConn ActiveOpens OutSegs RetransSegs
    Tcp: 1 200 -1 3744 2556 18
    """
    found: dict[str, dict[str, int]] = {}
    lines = text.split("\n")
    for heading, line in pairwise(lines):
        names, words = heading.split(), line.split()
        protocol = names[0] if names else ""
        if protocol.endswith(":") and words[:1] == [protocol] and len(names) == len(words):
            numbers = {name: word for name, word in zip(names[1:], words[1:], strict=True) if _is_count(word)}
            found.setdefault(protocol[:-1], {name: int(word) for name, word in numbers.items()})
    return found


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 20
