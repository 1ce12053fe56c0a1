"""What only ethtool tells of the interfaces with hardware: rings, channels, offloads, pause, coalescing, statistics.

Features are asked for as JSON, which every version that knows ``--json`` has for them; for all the rest text is the
only form that all versions share. Format: ethtool(8)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.model.facts import Counter, Facts, GapState, Seen, Volatile
from advisor.probes._ethtool_text import (
    Switch,
    parse_adaptive,
    parse_features,
    parse_features_json,
    parse_hash_function,
    parse_indirection,
    parse_limits_and_values,
    parse_number,
    parse_pairs,
    parse_statistics,
    parse_switch,
)
from advisor.probes._interfaces import NET, physical_interfaces
from advisor.probes._sysfs import quiet_names
from advisor.probes._together import run_together

PROGRAM = "ethtool"
ORIGIN = command_origin((PROGRAM,))
MOST_INTERFACES = 16
"""More than any node has cards; each interface costs eight processes."""
MOST_STATISTICS = 256
FEATURES = (
    "generic-receive-offload", "generic-segmentation-offload", "large-receive-offload", "ntuple-filters",
    "receive-hashing", "rx-checksumming", "rx-gro-hw", "scatter-gather", "tcp-segmentation-offload", "tx-checksumming",
    "tx-nocache-copy",
)  # fmt: skip
"""Those that cost or save time where a node trains."""
_TELLING = (
    "buffer_passed", "cnp", "congest", "crc", "discard", "drop", "ecn_mark", "err", "exceeded", "fifo", "link_down",
    "miss", "no_buf", "nobuf", "out_of_buffer", "overrun", "pause", "reset", "stalled", "timed_out", "timeout",
)  # fmt: skip
"""Counters that tell of loss, waiting or a bad cable."""
_UNSUPPORTED = ("not supported", "no stats available", "bad command line", "no data available")
_DENIED = ("not permitted", "permission denied")


class Feature(Facts):
    """One offload (``-k``)."""

    name: Annotated[str, "as ethtool names it"]
    active: Annotated[bool, "on"]
    fixed: Annotated[bool, "cannot be changed"]
    refused: Annotated[bool, "wanted otherwise than it is: something else stands against it"]


class Statistic(Facts):
    """One counter of the driver (``-S``)."""

    name: Annotated[str, "as the driver names it"]
    value: Annotated[int, Counter(), "since the driver was loaded"]


class EthtoolInterface(Facts):
    """One interface as ethtool shows it."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "command: ethtool"
    name: str
    driver: Annotated[str | None, "kernel driver"] = None
    driver_version: Annotated[str | None, "the kernel's own release for a driver that comes with it"] = None
    firmware_version: Annotated[str | None, "of the card"] = None
    rx_ring: Annotated[int | None, "receive ring, entries"] = None
    rx_ring_max: Annotated[int | None, "largest receive ring, entries"] = None
    tx_ring: Annotated[int | None, "transmit ring, entries"] = None
    tx_ring_max: Annotated[int | None, "largest transmit ring, entries"] = None
    combined_channels: Annotated[int | None, "queues with an interrupt that both receive and send"] = None
    combined_channels_max: Annotated[int | None, "most combined channels"] = None
    rx_channels: Annotated[int | None, "queues with an interrupt that only receive"] = None
    rx_channels_max: Annotated[int | None, "most receive channels"] = None
    tx_channels: Annotated[int | None, "queues with an interrupt that only send"] = None
    tx_channels_max: Annotated[int | None, "most transmit channels"] = None
    features: Annotated[tuple[Feature, ...] | None, "offloads that matter, by name"] = None
    pause_autonegotiate: Annotated[bool | None, "flow control of the whole link is agreed on with the other end"] = None
    pause_rx: Annotated[bool | None, "heeds pause frames for the whole link; those by priority (PFC) are others"] = None
    pause_tx: Annotated[bool | None, "sends pause frames for the whole link"] = None
    adaptive_rx: Annotated[bool | None, "the driver adapts the holding back of interrupts to the load, receiving"] = (
        None
    )
    adaptive_tx: Annotated[bool | None, "the same, sending"] = None
    rx_usecs: Annotated[int | None, "longest wait for an interrupt after a packet came, microseconds"] = None
    rx_frames: Annotated[int | None, "most packets received before an interrupt"] = None
    tx_usecs: Annotated[int | None, "longest wait for an interrupt after a packet was sent, microseconds"] = None
    tx_frames: Annotated[int | None, "most packets sent before an interrupt"] = None
    rss_rings: Annotated[int | None, "receive rings that flows can be spread over (RSS)"] = None
    rss_entries: Annotated[int | None, "size of the table that spreads them"] = None
    rss_rings_used: Annotated[int | None, "rings that the table names"] = None
    rss_least_entries: Annotated[int | None, "entries of the ring with the fewest, among those named"] = None
    rss_most_entries: Annotated[int | None, "entries of the ring with the most"] = None
    rss_hash_function: Annotated[str | None, "toeplitz, xor or crc32"] = None
    statistics: Annotated[
        tuple[Statistic, ...] | None, Volatile(), "counters of loss, waiting and bad cables, not those of single queues"
    ] = None


class Ethtool(Facts):
    """The interfaces with hardware, as ethtool shows them."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "command: ethtool"
    interfaces: Annotated[tuple[EthtoolInterface, ...] | None, "by name"] = None
    left_out: Annotated[tuple[str, ...] | None, "interfaces that were not asked about: there are too many"] = None


def read(host: Host) -> Ethtool:
    """What ethtool tells of the interfaces of ``host``; one gap when there is no ethtool."""
    names = physical_interfaces(host)
    if names is None:
        return Ethtool(origin=ORIGIN, origins={"interfaces": NET, "left_out": NET})
    asked, left_out = _chosen(host, names)
    interfaces: list[EthtoolInterface] = []
    with_json = True
    for name in asked:
        one, with_json = _interface(host, name, with_json)
        interfaces.append(one)
        if _is_silent(host, asked[: len(interfaces)]):
            # Without the program, or where nothing was captured, no other interface will say more.
            return Ethtool(origin=ORIGIN, left_out=left_out)
    return Ethtool(origin=ORIGIN, interfaces=tuple(interfaces), left_out=left_out)


def _chosen(host: Host, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The interfaces to ask about and those for which there are too many; the functions of a shared card go first."""
    if len(names) <= MOST_INTERFACES:
        return names, ()
    shared = {name for name in names if "physfn" in (quiet_names(host, f"{NET}/{name}/device") or ())}
    kept = set(sorted(names, key=lambda name: (name in shared, names.index(name)))[:MOST_INTERFACES])
    return tuple(n for n in names if n in kept), tuple(n for n in names if n not in kept)


def _is_silent(host: Host, names: Sequence[str]) -> bool:
    """Whether no question about the first interface got an answer, all for one reason; then that is one gap."""
    if len(names) > 1:
        return False
    paths = [command_origin((PROGRAM, option, name)) for name in names for option in OPTIONS]
    states = {host.gaps.get(path) for path in paths}
    state = next(iter(states))
    if len(states) > 1 or state not in ("absent", "not captured"):
        return False
    for path in paths:
        del host.gaps[path]
    host.missed(ORIGIN, state)
    return True


def _interface(host: Host, name: str, with_json: bool) -> tuple[EthtoolInterface, bool]:
    """What is told of one interface, and whether JSON is still worth asking for."""
    commands = [(PROGRAM, "--json", "-k", name) if o == "-k" and with_json else (PROGRAM, o, name) for o in OPTIONS]
    outputs = dict(zip(OPTIONS, run_together(host, commands), strict=True))
    if with_json and not _is_json(outputs["-k"]):
        host.gaps.pop(command_origin(commands[OPTIONS.index("-k")]), None)
        with_json = False
        outputs["-k"] = host.run((PROGRAM, "-k", name))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for option, output in outputs.items():
        origin = command_origin(output.argv if output else (PROGRAM, option, name))
        fields, parse = _PARSERS[option]
        text = _text(host, output)
        told = {} if text is None else parse(text, origin)
        if text is not None and not any(value is not None for value in told.values()):
            # ``Operation not supported`` in the midst of a text, or one that is about something else.
            host.missed(origin, "unsupported")
        elif text is not None:
            _gap_each(host, origin, [field for field in fields if told.get(field) is None])
        values |= told
        origins |= {
            field: origin if told.get(field) is not None or not told else f"{origin}/{field}" for field in fields
        }
    return EthtoolInterface(origin=ORIGIN, name=name, **values, origins=origins), with_json


def _gap_each(host: Host, origin: str, fields: Sequence[str]) -> None:
    """One gap for each value that a command left out or told as ``n/a``."""
    for field in fields:
        host.missed(f"{origin}/{field}", "unsupported")


def _is_json(output: Output | None) -> bool:
    """Whether JSON was understood; an interface without an answer is one all the same."""
    return output is not None and "bad command line" not in output.stderr + output.stdout


def _text(host: Host, output: Output | None) -> str | None:
    """What a command printed; when it failed, its gap says why."""
    if output is None or output.returncode == 0:
        return None if output is None else output.stdout
    said = (output.stderr + output.stdout).lower()
    state: GapState = "error"
    if any(word in said for word in _UNSUPPORTED):
        state = "unsupported"
    elif any(word in said for word in _DENIED):
        state = "denied"
    host.missed(command_origin(output.argv), state)
    return None


def _driver(text: str, _origin: str) -> dict[str, object]:
    pairs = parse_pairs(text)
    names = {"driver": "driver", "driver_version": "version", "firmware_version": "firmware-version"}
    return {field: pairs.get(name) for field, name in names.items()}


def _rings(text: str, _origin: str) -> dict[str, object]:
    return _limits_and_values(text, {"rx_ring": "RX", "tx_ring": "TX"})


def _channels(text: str, _origin: str) -> dict[str, object]:
    return _limits_and_values(text, {"combined_channels": "Combined", "rx_channels": "RX", "tx_channels": "TX"})


def _limits_and_values(text: str, names: Mapping[str, str]) -> dict[str, object]:
    maximums, current = parse_limits_and_values(text)
    values: dict[str, object] = {field: current.get(name) for field, name in names.items()}
    return values | {f"{field}_max": maximums.get(name) for field, name in names.items()}


def _features(text: str, origin: str) -> dict[str, object]:
    told = parse_features_json(text) if text.lstrip().startswith("[") else parse_features(text)
    return {"features": tuple(_feature(origin, n, told[n]) for n in FEATURES if n in told) if told else None}


def _feature(origin: str, name: str, switch: Switch) -> Feature:
    return Feature(origin=origin, name=name, active=switch.active, fixed=switch.fixed, refused=switch.refused)


def _pause(text: str, _origin: str) -> dict[str, object]:
    pairs = parse_pairs(text)
    names = {"pause_autonegotiate": "Autonegotiate", "pause_rx": "RX", "pause_tx": "TX"}
    return {field: parse_switch(pairs.get(name)) for field, name in names.items()}


def _coalescing(text: str, _origin: str) -> dict[str, object]:
    pairs = parse_pairs(text)
    adaptive_rx, adaptive_tx = parse_adaptive(text)
    numbers = ("rx_usecs", "rx_frames", "tx_usecs", "tx_frames")
    values: dict[str, object] = {name: parse_number(pairs.get(name.replace("_", "-"))) for name in numbers}
    return {"adaptive_rx": adaptive_rx, "adaptive_tx": adaptive_tx, **values}


def _rss(text: str, _origin: str) -> dict[str, object]:
    rings, table = parse_indirection(text)
    counts = [table.count(ring) for ring in set(table)]
    return {
        "rss_rings": rings,
        "rss_entries": len(table) or None,
        "rss_rings_used": len(counts) or None,
        "rss_least_entries": min(counts, default=None),
        "rss_most_entries": max(counts, default=None),
        "rss_hash_function": parse_hash_function(text),
    }


def _statistics(text: str, origin: str) -> dict[str, object]:
    told = [one for one in parse_statistics(text) if _is_telling(one[0].lower())]
    return {"statistics": tuple(Statistic(origin=origin, name=n, value=value) for n, value in told[:MOST_STATISTICS])}


def _is_telling(name: str) -> bool:
    return any(word in name for word in _TELLING) and "interrupt" not in name


def _fields_between(first: str, last: str) -> tuple[str, ...]:
    """The fields of an interface from ``first`` to ``last``: those of one command stand together."""
    names = list(EthtoolInterface.model_fields)
    return tuple(names[names.index(first) : names.index(last) + 1])


_PARSERS: Mapping[str, tuple[tuple[str, ...], Callable[[str, str], dict[str, object]]]] = {
    "-i": (_fields_between("driver", "firmware_version"), _driver),
    "-g": (_fields_between("rx_ring", "tx_ring_max"), _rings),
    "-l": (_fields_between("combined_channels", "tx_channels_max"), _channels),
    "-k": (("features",), _features),
    "-a": (_fields_between("pause_autonegotiate", "pause_tx"), _pause),
    "-c": (_fields_between("adaptive_rx", "tx_frames"), _coalescing),
    "-x": (_fields_between("rss_rings", "rss_hash_function"), _rss),
    "-S": (("statistics",), _statistics),
}
"""The fields that each option tells of, and what reads them out of its text."""
OPTIONS = tuple(_PARSERS)
