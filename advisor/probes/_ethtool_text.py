"""What ethtool prints, as values; ``n/a`` and what is not a number are left out."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_ON = {"on": True, "off": False}
_PER_QUEUE = re.compile(
    r"(?i)\[\d+\]|(?:queue|rxq|txq|cq|ring|chan(?:nel)?|cpu)[._-]?\d|(?:^|[._-])ch_?\d|^(?:rx|tx|xdp)[_-]?\d"
)
"""Names of one queue's counters, by driver: rx0_drops, rx_queue_0_drops, ch0_poll, tx-0.packets, [0]: rx_drops."""


@dataclass(frozen=True)
class Switch:
    """One feature: on or not, not to be changed, and wanted otherwise than it is."""

    active: bool
    fixed: bool
    refused: bool


def parse_pairs(text: str) -> Mapping[str, str]:
    """Names and values. Sample: ``driver: mlx5_core``, ``firmware-version: 28.41.1000 (MT_0000000838)``, one a line"""
    pairs: dict[str, str] = {}
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon and value.strip().lower() not in ("", "n/a"):
            pairs.setdefault(name.strip(), value.strip())
    return pairs


def parse_limits_and_values(text: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Maximums and current values of rings or channels. Sample::

    Ring parameters for eth0:
    Pre-set maximums:
    RX:		8192
    RX Mini:	n/a
    Current hardware settings:
    RX:		1024
    """
    _, _, rest = text.partition("Pre-set maximums:")
    maximums, _, current = rest.partition("Current hardware settings:")
    return _numbers(maximums), _numbers(current)


def _numbers(text: str) -> Mapping[str, int]:
    return {name: number for name, value in parse_pairs(text).items() if (number := parse_number(value)) is not None}


def parse_number(text: str | None) -> int | None:
    """A counter or size, up to 64 bits; ``None`` for anything else."""
    return int(text) if text and re.fullmatch(r"\d{1,20}", text, re.ASCII) else None


def parse_switch(text: str | None) -> bool | None:
    """``on`` or ``off``; ``None`` for anything else."""
    return _ON.get(text or "")


def parse_features(text: str) -> Mapping[str, Switch]:
    """The features in text. Sample: ``large-receive-offload: off [fixed]``, ``rx-gro-hw: off [requested on]``"""
    found = {}
    for name, value in parse_pairs(text).items():
        word, _, remark = value.partition(" ")
        active = parse_switch(word)
        if active is not None:
            found[name] = Switch(active, remark == "[fixed]", remark.startswith("[requested"))
    return found


def parse_features_json(text: str) -> Mapping[str, Switch]:
    """The features in JSON; none when it is not what ethtool prints. Sample::

    [{"ifname": "eth0", "rx-gro-hw": {"active": false, "fixed": false, "requested": true}}]
    """
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    first = told[0] if isinstance(told, list) and told else None
    if not isinstance(first, dict):
        return {}
    return {
        name: Switch(bool(one["active"]), one.get("fixed") is True, _is_refused(one))
        for name, one in first.items()
        if isinstance(one, dict) and isinstance(one.get("active"), bool)
    }


def _is_refused(feature: Mapping[str, object]) -> bool:
    """Whether it is wanted and off, or on and not wanted; what is fixed was not asked for by anyone."""
    wanted = feature.get("requested")
    return isinstance(wanted, bool) and feature.get("fixed") is False and wanted != feature["active"]


def parse_adaptive(text: str) -> tuple[bool | None, bool | None]:
    """Whether coalescing adapts itself, receiving and sending. Sample: ``Adaptive RX: on  TX: off``"""
    found = re.search(r"^Adaptive RX: *(\S+) +TX: *(\S+)", text, re.MULTILINE)
    return (parse_switch(found[1]), parse_switch(found[2])) if found else (None, None)


def parse_indirection(text: str) -> tuple[int | None, tuple[int, ...]]:
    """Number of receive rings, and the ring of each entry of the table. Sample::

    RX flow hash indirection table for eth0 with 8 RX ring(s):
        0:      0     1     2     3     4     5     6     7
    RSS hash key:
    """
    found = re.search(r"^RX flow hash indirection table for .* with (\d{1,6}) RX ring\(s\):$", text, re.MULTILINE)
    if not found:
        return None, ()
    rings: list[int] = []
    for line in text[found.end() :].split("\n")[1:]:
        row = re.fullmatch(r" *\d+:((?: +\d{1,6})+) *", line, re.ASCII)
        if not row:
            break
        rings += map(int, row[1].split())
    return int(found[1]), tuple(rings)


def parse_hash_function(text: str) -> str | None:
    """The hash function in use. Sample: ``RSS hash function:``, then ``    toeplitz: on``, ``    xor: off``"""
    _, _, functions = text.partition("RSS hash function:")
    return next((name for name, value in parse_pairs(functions).items() if value == "on"), None)


def parse_statistics(text: str) -> tuple[tuple[str, int], ...]:
    """Names and values of the counters that belong to the whole interface. Sample::

    NIC statistics:
         rx_out_of_buffer: 12
         rx0_packets: 5
    """
    found = []
    head, _, rest = text.partition("\n")
    for line in rest.split("\n") if head.strip().endswith("statistics:") else ():
        name, _, value = line.strip().rpartition(":")
        number = parse_number(value.strip())
        if name and number is not None and not _PER_QUEUE.search(name):
            found.append((name.strip(), number))
    return tuple(found)
