"""How IPv4 of this network namespace answers for its interfaces: ARP, reverse paths, subnets that interfaces share.

An interface obeys the larger of its own value and that of ``all``. Addresses stay out of the facts: which interfaces
lie in one subnet is what rails need to know.
Formats: https://docs.kernel.org/networking/ip-sysctl.html and /proc/net/route (net/ipv4/fib_trie.c)
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, Seen, SeenAs, Volatile
from advisor.probes._collected import Collected
from advisor.probes._interfaces import physical_interfaces

ORIGIN = "/proc/sys/net/ipv4/conf"
ROUTES = "/proc/net/route"
NEIGHBOURS = "/proc/net/stat/arp_cache"
ROUTES_LIMIT_BYTES = 1024 * 1024
KEYS = ("arp_ignore", "arp_announce", "rp_filter")
_HEX = re.compile(r"[0-9A-F]{8}")
_ONE_HOST = "FFFFFFFF"
"""The mask of routes to single containers, of which there may be hundreds."""
_TABLE = {"neighbours": "entries", "neighbour_overflows": "table_fulls", "neighbour_collections": "forced_gc_runs"}
"""Field to column of the neighbour table's statistics."""


class IpInterface(Facts):
    """IPv4 of one interface."""

    read_from: ClassVar[str] = "/proc/sys/net/ipv4/conf/*"
    name: Annotated[str, "interface"]
    arp_ignore: Annotated[int | None, "in force: 0 answers for the addresses of all interfaces, 1 for its own"] = None
    arp_announce: Annotated[int | None, "in force: 2 names the best address of its own when it asks"] = None
    rp_filter: Annotated[int | None, "in force: 1 drops packets that came by another way than answers go"] = None
    same_subnet: Annotated[tuple[str, ...] | None, "other interfaces with an address in the same subnet"] = None
    default_route: Annotated[bool | None, "packets to anywhere else leave here"] = None


class Ip(Facts):
    """IPv4 of the interfaces that have hardware or lie in a subnet."""

    read_from: ClassVar[str] = "/proc/net, /proc/sys/net/ipv4"
    seen: ClassVar[Seen | None] = "own"

    interfaces: Annotated[tuple[IpInterface, ...] | None, "by name"] = None
    neighbours: Annotated[
        int | None, Volatile(), SeenAs("masked"), "entries of the neighbour table, of all namespaces together"
    ] = None
    neighbour_overflows: Annotated[
        int | None, Counter(), SeenAs("masked"), "neighbours that found no room (net.ipv4.neigh.default.gc_thresh3)"
    ] = None
    neighbour_collections: Annotated[
        int | None, Counter(), SeenAs("masked"), "times room had to be made (net.ipv4.neigh.default.gc_thresh2)"
    ] = None


@dataclass(frozen=True)
class Route:
    """One line of the routing table; addresses as the kernel prints them, in hexadecimal."""

    interface: str
    destination: str
    mask: str
    direct: bool
    """Reached without a gateway."""


COLLECTED = Collected(
    folders=((f"{ORIGIN}/*", " ".join(KEYS)),),
    large_files=(ROUTES, NEIGHBOURS),
)


def read(host: Host) -> Ip:
    """IPv4 of ``host``."""
    text = host.text(ROUTES, ROUTES_LIMIT_BYTES)
    routes = None if text is None else parse_routes(text)
    if text is not None and routes is None:
        host.missed(ROUTES, "unsupported")
    hardware = physical_interfaces(host)
    table = _table(host)
    origins = dict.fromkeys(_TABLE, NEIGHBOURS)
    if hardware is None and routes is None:
        return Ip(origin=ORIGIN, origins=origins).model_copy(update=table)
    with_subnets = (route.interface for route in routes or () if route.mask != _ONE_HOST)
    names = dict.fromkeys([*(hardware or ()), *with_subnets])
    overall = {key: _number(host, f"{ORIGIN}/all/{key}") for key in KEYS}
    interfaces = tuple(_interface(host, name, overall, routes) for name in sorted(names))
    return Ip(origin=ORIGIN, interfaces=interfaces, origins=origins).model_copy(update=table)


def _interface(host: Host, name: str, overall: Mapping[str, int | None], routes: Sequence[Route] | None) -> IpInterface:
    folder = f"{ORIGIN}/{name}"
    own = {key: _number(host, f"{folder}/{key}") for key in KEYS}
    force = {key: _larger(own[key], overall[key]) for key in KEYS}
    where = {key: f"{ORIGIN}/{'all' if _is_from_all(own[key], overall[key]) else name}/{key}" for key in KEYS}
    return IpInterface(
        origin=folder,
        name=name,
        **force,
        same_subnet=None if routes is None else sharing(routes, name),
        default_route=None if routes is None else any(r.interface == name and int(r.mask, 16) == 0 for r in routes),
        origins={**where, "same_subnet": ROUTES, "default_route": ROUTES},
    )


def _is_from_all(own: int | None, overall: int | None) -> bool:
    """Whether the value of ``all`` is the one in force, or the one that is missing."""
    return own is not None and (overall is None or overall > own)


def _larger(own: int | None, overall: int | None) -> int | None:
    return None if own is None or overall is None else max(own, overall)


def sharing(routes: Sequence[Route], name: str) -> tuple[str, ...]:
    """The other interfaces that reach a subnet of interface ``name`` without a gateway, as it does."""
    direct = [route for route in routes if route.direct and int(route.mask, 16)]
    own = {(route.destination, route.mask) for route in direct if route.interface == name}
    return tuple(sorted({r.interface for r in direct if r.interface != name and (r.destination, r.mask) in own}))


def parse_routes(text: str) -> tuple[Route, ...] | None:
    """The lines of the routing table; ``None`` when it is none. Sample, shortened::

    Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU
    eth0	00000000	0102A8C0	0003	0	0	0	00000000	0
    eth0	0002A8C0	00000000	0001	0	0	0	00FFFFFF	0
    """
    head, _, rest = text.partition("\n")
    if head.split()[:3] != ["Iface", "Destination", "Gateway"]:
        return None
    rows = [line.split() for line in rest.split("\n")]
    return tuple(
        Route(row[0], row[1], row[7], row[2] == "00000000")
        for row in rows
        if len(row) > 7 and all(_HEX.fullmatch(row[column]) for column in (1, 2, 7))
    )


def _number(host: Host, path: str) -> int | None:
    text = host.text(path)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 6:
        return int(text)
    host.missed(path, "unsupported")
    return None


def _table(host: Host) -> dict[str, int | None]:
    text = host.text(NEIGHBOURS)
    found = parse_neighbours(text or "")
    values = {field: found.get(column) for field, column in _TABLE.items()}
    if text is not None and None in values.values():
        host.missed(NEIGHBOURS, "unsupported")
    return values


def parse_neighbours(text: str) -> Mapping[str, int]:
    """Entries of the table, and its counters over all CPUs. Sample, shortened::

    entries  allocs   destroys forced_gc_runs unresolved_discards table_fulls
    00000014 00000001 00000002 00000000       00000000            00000000
    00000014 00000001 00000002 00000003       00000000            00000000
    """
    lines = [line.split() for line in text.split("\n") if line.strip()]
    rows = [
        [int(word, 16) for word in line]
        for line in lines[1:]
        if len(line) == len(lines[0]) and all(re.fullmatch(r"[0-9a-f]{8,16}", word) for word in line)
    ]
    if not rows or len(rows) != len(lines) - 1:
        return {}
    columns = dict(zip(lines[0], zip(*rows, strict=True), strict=True))
    return {name: column[0] if name == "entries" else sum(column) for name, column in columns.items()}
