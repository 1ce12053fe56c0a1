"""Packets that CPUs took from network cards, dropped, or had no time for.

Format: /proc/net/softnet_stat, net/core/net-procfs.c (softnet_seq_show): a row for each online CPU, hexadecimal, with
more columns in newer kernels.
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._cpulist import read_cpulist

ORIGIN = "/proc/net/softnet_stat"
ONLINE = "/sys/devices/system/cpu/online"
LIMIT_BYTES = 1024 * 1024
_FIELDS = {
    "processed": 0,
    "dropped": 1,
    "time_squeeze": 2,
    "received_rps": 9,
    "flow_limit_drops": 10,
    "backlog_packets": 11,
}
"""Columns by their place, which no kernel changed."""
_CPU = 12
"""The column of the CPU's number, since Linux 5.10; with it came that of the backlog."""
_SUMS = ("processed", "dropped", "time_squeeze", "flow_limit_drops")


class SoftnetCpu(Facts):
    """One row. Counters are 32 bits wide and start again at 0."""

    cpu: Annotated[int | None, Volatile(), "number; on older kernels by the order of online CPUs"] = None
    processed: Annotated[int | None, Counter(bits=32), "packets"] = None
    dropped: Annotated[int | None, Counter(bits=32), "packets, because net.core.netdev_max_backlog was reached"] = None
    time_squeeze: Annotated[
        int | None, Counter(bits=32), "rounds that ended with work left (net.core.netdev_budget, netdev_budget_usecs)"
    ] = None
    received_rps: Annotated[int | None, Counter(bits=32), "times it was woken for packets of another CPU (RPS)"] = None
    flow_limit_drops: Annotated[int | None, Counter(bits=32), "packets of flows that took more than their share"] = None
    backlog_packets: Annotated[int | None, Volatile(), "packets waiting now"] = None


class Softnet(Facts):
    """The sums over all CPUs since start, and each CPU's share. Their growth under load is what counts."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "/proc/net/softnet_stat"
    processed: Annotated[int | None, Counter(sum_of="cpus"), "packets, over all CPUs"] = None
    dropped: Annotated[
        int | None, Counter(sum_of="cpus"), "packets, because net.core.netdev_max_backlog was reached"
    ] = None
    time_squeeze: Annotated[int | None, Counter(sum_of="cpus"), "rounds that ended with work left"] = None
    flow_limit_drops: Annotated[
        int | None, Counter(sum_of="cpus"), "packets of flows that took more than their share"
    ] = None
    cpus: Annotated[tuple[SoftnetCpu, ...] | None, Volatile(), "each online CPU"] = None


COLLECTED = Collected(large_files=(ORIGIN,))


def read(host: Host) -> Softnet:
    """The counters of ``host``."""
    text = host.text(ORIGIN, LIMIT_BYTES)
    if text is None:
        return Softnet(origin=ORIGIN)
    rows = parse_softnet(text)
    if not rows:
        host.missed(ORIGIN, "unsupported")
        return Softnet(origin=ORIGIN)
    numbers, where = _numbers(host, rows)
    cpus = []
    for number, row in zip(numbers, rows, strict=True):
        values = {field: row[column] for field, column in _FIELDS.items() if column < len(row)}
        cpus.append(SoftnetCpu(origin=ORIGIN, cpu=number, **values, origins={"cpu": where} if where != ORIGIN else {}))
    sums = {field: _sum([getattr(cpu, field) for cpu in cpus]) for field in _SUMS}
    if None in sums.values():
        # The missing columns' evidence is the file, which was read.
        host.missed(f"{ORIGIN}/flow_limit_drops", "unsupported")
    origins = {field: f"{ORIGIN}/{field}" for field, value in sums.items() if value is None}
    return Softnet(origin=ORIGIN, cpus=tuple(cpus), **sums, origins=origins)


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _numbers(host: Host, rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[int | None, ...], str]:
    """The CPU of each row, and what says so; unknown where the rows contradict themselves or the online CPUs."""
    if all(len(row) > _CPU for row in rows):
        told = tuple(row[_CPU] for row in rows)
        if len(set(told)) == len(told):
            return told, ORIGIN
    online = read_cpulist(host, ONLINE)
    if online is not None and len(online) == len(rows) and all(len(row) <= _CPU for row in rows):
        return online, ONLINE
    host.missed(f"{ORIGIN}/cpu", "unsupported")
    return (None,) * len(rows), f"{ORIGIN}/cpu"


def parse_softnet(text: str) -> tuple[tuple[int, ...], ...]:
    """The rows' numbers; none at all when a row is something else. Sample, shortened::

    00358fe3 00000012 00000001 00000000 00000000 00000000 00000000 00000000 00000000 000855fc 00000076 00000000 00000000
    """
    rows = []
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        if len(words) < 3 or not all(re.fullmatch(r"[0-9a-f]{8}", word) for word in words):
            return ()
        rows.append(tuple(int(word, 16) for word in words))
    return tuple(rows)
