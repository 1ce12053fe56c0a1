"""What only ethtool tells of the interfaces with hardware: rings, channels, offloads, pause, coalescing, statistics.

Features are asked for as JSON, which every version that knows ``--json`` has for them; for all the rest text is the
only form that all versions share. Format: ethtool(8)
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeVar

from advisor.host.base import Host, Output, command_origin
from advisor.model.facts import Facts, GapState, Volatile, marks
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
_TELLING = re.compile(
    r"(?i)err(?!u)|drop|discard|pause|miss|no_?buf|out_of_buffer|overrun|fifo|crc|timeout|timed_?out|stalled|link_down|"
    r"exceeded|ecn_mark|cnp|congest|buffer_passed|resets?$"
)
"""Counters that tell of loss, waiting or a bad cable."""
_OPTIONS = ("-i", "-g", "-l", "-k", "-a", "-c", "-x", "-S")
_UNSUPPORTED = ("not supported", "no stats available", "bad command line", "no data available")
_DENIED = ("not permitted", "permission denied")
F = TypeVar("F", bound=Facts)


class Driver(Facts):
    """The interface's driver (``-i``)."""

    name: Annotated[str | None, "kernel driver"] = None
    version: Annotated[str | None, "the kernel's own release for a driver that comes with it"] = None
    firmware_version: Annotated[str | None, "of the card"] = None


class Rings(Facts):
    """Sizes of the descriptor rings (``-g``), in entries."""

    rx: Annotated[int | None, "receive, entries"] = None
    rx_max: Annotated[int | None, "largest receive ring, entries"] = None
    tx: Annotated[int | None, "transmit, entries"] = None
    tx_max: Annotated[int | None, "largest transmit ring, entries"] = None


class Channels(Facts):
    """Queues with an interrupt of their own (``-l``)."""

    combined: Annotated[int | None, "channels that both receive and send"] = None
    combined_max: Annotated[int | None, "most combined channels"] = None
    rx: Annotated[int | None, "channels that only receive"] = None
    rx_max: Annotated[int | None, "most receive channels"] = None
    tx: Annotated[int | None, "channels that only send"] = None
    tx_max: Annotated[int | None, "most transmit channels"] = None


class Feature(Facts):
    """One offload (``-k``)."""

    name: Annotated[str, "as ethtool names it"]
    active: Annotated[bool, "on"]
    fixed: Annotated[bool, "cannot be changed"]
    refused: Annotated[bool, "wanted otherwise than it is: something else stands against it"]


class Pause(Facts):
    """Flow control of the whole link (``-a``); that by priority (PFC) is another."""

    autonegotiate: Annotated[bool | None, "agreed on with the other end"] = None
    rx: Annotated[bool | None, "heeds pause frames"] = None
    tx: Annotated[bool | None, "sends pause frames"] = None


class Coalescing(Facts):
    """How long interrupts are held back (``-c``)."""

    adaptive_rx: Annotated[bool | None, "the driver adapts it to the load, receiving"] = None
    adaptive_tx: Annotated[bool | None, "the driver adapts it to the load, sending"] = None
    rx_usecs: Annotated[int | None, "longest wait after a packet came, microseconds"] = None
    rx_frames: Annotated[int | None, "most packets received before an interrupt"] = None
    tx_usecs: Annotated[int | None, "longest wait after a packet was sent, microseconds"] = None
    tx_frames: Annotated[int | None, "most packets sent before an interrupt"] = None


class Rss(Facts):
    """How received flows are spread over rings (``-x``)."""

    rings: Annotated[int | None, "receive rings"] = None
    entries: Annotated[int | None, "size of the indirection table"] = None
    rings_used: Annotated[int | None, "rings that the table names"] = None
    least_entries: Annotated[int | None, "entries of the ring with the fewest, among those named"] = None
    most_entries: Annotated[int | None, "entries of the ring with the most"] = None
    hash_function: Annotated[str | None, "toeplitz, xor or crc32"] = None


class Statistic(Facts):
    """One counter of the driver (``-S``)."""

    name: Annotated[str, "as the driver names it"]
    value: Annotated[int, Volatile(), "since the driver was loaded"]


class EthtoolInterface(Facts):
    """One interface as ethtool shows it."""

    name: str
    driver: Annotated[Driver | None, "driver and firmware"] = None
    rings: Annotated[Rings | None, "descriptor rings"] = None
    channels: Annotated[Channels | None, "queues"] = None
    features: Annotated[tuple[Feature, ...] | None, "offloads that matter, by name"] = None
    pause: Annotated[Pause | None, "flow control of the link"] = None
    coalescing: Annotated[Coalescing | None, "holding interrupts back"] = None
    rss: Annotated[Rss | None, "spreading flows over rings"] = None
    statistics: Annotated[
        tuple[Statistic, ...] | None, Volatile(), "counters of loss, waiting and bad cables, not those of single queues"
    ] = None


class Ethtool(Facts):
    """The interfaces with hardware, as ethtool shows them."""

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
    paths = [command_origin((PROGRAM, option, name)) for name in names for option in _OPTIONS]
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
    commands = [(PROGRAM, "--json", "-k", name) if o == "-k" and with_json else (PROGRAM, o, name) for o in _OPTIONS]
    outputs = dict(zip(_OPTIONS, run_together(host, commands), strict=True))
    if with_json and not _is_json(outputs["-k"]):
        host.gaps.pop(command_origin(commands[_OPTIONS.index("-k")]), None)
        with_json = False
        outputs["-k"] = host.run((PROGRAM, "-k", name))
    texts = {option: _text(host, output) for option, output in outputs.items()}
    given = {option: command_origin(output.argv) for option, output in outputs.items() if output}
    origins = {option: given.get(option, command_origin((PROGRAM, option, name))) for option in _OPTIONS}
    facts = EthtoolInterface(
        origin=ORIGIN,
        name=name,
        driver=_driver(host, origins["-i"], texts["-i"]),
        rings=_rings(host, origins["-g"], texts["-g"]),
        channels=_channels(host, origins["-l"], texts["-l"]),
        features=_features(host, origins["-k"], texts["-k"]),
        pause=_pause(host, origins["-a"], texts["-a"]),
        coalescing=_coalescing(host, origins["-c"], texts["-c"]),
        rss=_rss(host, origins["-x"], texts["-x"]),
        statistics=_statistics(origins["-S"], texts["-S"]),
        origins={field: origins[option] for field, option in zip(_SECTIONS, _OPTIONS, strict=True)},
    )
    return facts, with_json


_SECTIONS = ("driver", "rings", "channels", "features", "pause", "coalescing", "rss", "statistics")
"""Fields of an interface, in the order of their options."""


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


def _facts(host: Host, model: type[F], origin: str, values: Mapping[str, object]) -> F | None:
    """A model of what a command said; each value that it did not give (``n/a``) is a gap of its own.

    A command that gave none at all (``Operation not supported`` in the midst of its text) is one gap.
    """
    if all(value is None for value in values.values()):
        host.missed(origin, "unsupported")
        return None
    missing = {name: f"{origin}/{name}" for name in marks(model) if values.get(name) is None}
    for path in missing.values():
        host.missed(path, "unsupported")
    return model(origin=origin, origins=missing, **values)


def _driver(host: Host, origin: str, text: str | None) -> Driver | None:
    if text is None:
        return None
    pairs = parse_pairs(text)
    names = {"name": "driver", "version": "version", "firmware_version": "firmware-version"}
    return _facts(host, Driver, origin, {field: pairs.get(name) for field, name in names.items()})


def _rings(host: Host, origin: str, text: str | None) -> Rings | None:
    return None if text is None else _facts(host, Rings, origin, _pairs_of(text, ("RX", "TX")))


def _channels(host: Host, origin: str, text: str | None) -> Channels | None:
    return None if text is None else _facts(host, Channels, origin, _pairs_of(text, ("Combined", "RX", "TX")))


def _pairs_of(text: str, names: Sequence[str]) -> Mapping[str, int | None]:
    maximums, current = parse_limits_and_values(text)
    values = {name.lower(): current.get(name) for name in names}
    return {**values, **{f"{name.lower()}_max": maximums.get(name) for name in names}}


def _features(host: Host, origin: str, text: str | None) -> tuple[Feature, ...] | None:
    if text is None:
        return None
    told = parse_features_json(text) if text.lstrip().startswith("[") else parse_features(text)
    if not told:
        host.missed(origin, "unsupported")
        return None
    return tuple(_feature(origin, name, told[name]) for name in FEATURES if name in told)


def _feature(origin: str, name: str, switch: Switch) -> Feature:
    return Feature(origin=origin, name=name, active=switch.active, fixed=switch.fixed, refused=switch.refused)


def _pause(host: Host, origin: str, text: str | None) -> Pause | None:
    if text is None:
        return None
    pairs = parse_pairs(text)
    names = {"autonegotiate": "Autonegotiate", "rx": "RX", "tx": "TX"}
    return _facts(host, Pause, origin, {field: parse_switch(pairs.get(name)) for field, name in names.items()})


def _coalescing(host: Host, origin: str, text: str | None) -> Coalescing | None:
    if text is None:
        return None
    pairs = parse_pairs(text)
    adaptive_rx, adaptive_tx = parse_adaptive(text)
    numbers = ("rx_usecs", "rx_frames", "tx_usecs", "tx_frames")
    values: dict[str, object] = {name: parse_number(pairs.get(name.replace("_", "-"))) for name in numbers}
    return _facts(host, Coalescing, origin, {"adaptive_rx": adaptive_rx, "adaptive_tx": adaptive_tx, **values})


def _rss(host: Host, origin: str, text: str | None) -> Rss | None:
    if text is None:
        return None
    rings, table = parse_indirection(text)
    counts = [table.count(ring) for ring in set(table)]
    values = {
        "rings": rings,
        "entries": len(table) or None,
        "rings_used": len(counts) or None,
        "least_entries": min(counts, default=None),
        "most_entries": max(counts, default=None),
        "hash_function": parse_hash_function(text),
    }
    return _facts(host, Rss, origin, values)


def _statistics(origin: str, text: str | None) -> tuple[Statistic, ...] | None:
    if text is None:
        return None
    told = [one for one in parse_statistics(text) if _TELLING.search(one[0])]
    return tuple(Statistic(origin=origin, name=name, value=value) for name, value in told[:MOST_STATISTICS])
