"""What MegaCli prints, the tool of MegaRAID controllers before storcli. Text only."""

import re
from collections.abc import Iterator, Mapping

from advisor.probes._raid import (
    ALWAYS_WRITE_BACK,
    WRITE_BACK,
    WRITE_THROUGH,
    Controller,
    VirtualDrive,
    caches,
    parse_yes,
    small,
    told,
)

_ADAPTER = re.compile(r"(?:BBU status for )?Adapter:? ?#?(\d+)\b", re.IGNORECASE)
_DRIVE = re.compile(r"Virtual (?:Drive|Disk): ?(\d+) \(target id: ?\d+\)", re.IGNORECASE)
_BAD = (
    "battery pack missing",
    "battery replacement required",
    "remaining capacity low",
    "pack is about to fail & should be replaced",
    "no space to cache offload",
    "learn cycle active",
)
"""Answers of the battery that must be no."""
_DEGRADED = {"optimal": False, "degraded": True, "partially degraded": True, "offline": True, "failed": True}
_DRIVE_CACHES = {"disk's default": "default", "enabled": "enabled", "disabled": "disabled"}
_GOES_ON = "write cache ok if bad bbu"
_NESTED = {("1", "10"), ("5", "50"), ("6", "60")}

Pairs = dict[str, str]


def parse_controllers(drives: str, battery: str, about: str, origins: Mapping[str, str]) -> tuple[Controller, ...]:
    """The adapters that ``-LDInfo -Lall -aAll`` tells of, with what ``-AdpBbuCmd`` and ``-AdpAllInfo`` add.

    ``origins`` names the three commands: ``drives``, ``battery``, ``about``. Sample of the first::

        Adapter 0 -- Virtual Drive Information:
        Virtual Drive: 0 (Target Id: 0)
        State               : Optimal
        Default Cache Policy: WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU
        Current Cache Policy: WriteThrough, ReadAhead, Direct, No Write Cache if Bad BBU
    """
    batteries, cards = dict(_adapters(battery)), dict(_adapters(about))
    return tuple(
        _controller(number, lines, batteries.get(number), cards.get(number, []), origins)
        for number, lines in _adapters(drives)
    )


def _adapters(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines about each adapter."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        start = _ADAPTER.match(line.strip())
        if start:
            lines = found.setdefault(start[1], [])
        lines.append(line.strip())
    yield from found.items()


def _controller(
    number: str, lines: list[str], battery: list[str] | None, about: list[str], origins: Mapping[str, str]
) -> Controller:
    card = _pairs(about)
    drives = tuple(_drives(lines, origins["drives"]))
    present, state, fine = parse_battery(battery)
    if present is None and parse_yes(card.get("bbu")) is False:
        present, fine = False, False
    memory = told(card.get("memory size"))
    of_battery = dict.fromkeys(("protection_present", "protection_state", "protection_ok"), origins["battery"])
    of_card = dict.fromkeys(("model", "firmware", "has_cache", "status"), origins["about"])
    return Controller(
        origin=origins["drives"],
        name=f"adapter {number}",
        tool=origins["drives"].removeprefix("command: ").split(" ")[0],
        model=told(card.get("product name")),
        firmware=told(card.get("fw package build")),
        mode="raid",
        has_cache=caches(drives, None if memory is None else not re.match(r"0+ ?[KMG]?B?$", memory)),
        protection_present=present,
        protection_state=state,
        protection_ok=fine,
        drives=drives,
        origins=of_battery | of_card,
    )


def _pairs(lines: list[str]) -> Pairs:
    """The pairs ``Key : value``, keys in small letters; the first of a key counts."""
    pairs: Pairs = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            pairs.setdefault(" ".join(key.lower().split()), value.strip())
    return pairs


def parse_battery(lines: list[str] | None) -> tuple[bool | None, str | None, bool | None]:
    """Whether there is a battery, its state and whether it will do. Samples: ``Battery State: Optimal`` and, from old
    firmware without that word, ``Battery Replacement required : Yes``; ``The required hardware component is not
    present.``"""
    if lines is None:
        return None, None, None
    if any("hardware component is not present" in line.lower() for line in lines):
        return False, None, False
    pairs = _pairs(lines)
    answers = {key: parse_yes(pairs.get(key)) for key in _BAD}
    if answers["battery pack missing"]:
        return False, None, False
    state = small(pairs.get("battery state"))
    if state is None and all(answer is None for answer in answers.values()):
        return None, None, None
    bad = [key for key, answer in answers.items() if answer]
    fine = not bad and (state is None or state.startswith(("optimal", "operational")))
    return True, state or (bad[0] if bad else None), fine and parse_yes(pairs.get("issohgood")) is not False


def _drives(lines: list[str], origin: str) -> Iterator[VirtualDrive]:
    number: str | None = None
    own: list[str] = []
    for line in [*lines, "CacheCade Virtual Drive: end"]:
        start = _DRIVE.match(line)
        if start or line.startswith("CacheCade Virtual Drive:"):
            if number is not None:
                yield _drive(number, _pairs(own), origin)
            # A CacheCade drive is a cache of other drives, not one of the system.
            number, own = (start[1], []) if start else (None, [])
        own.append(line)


def _drive(number: str, pairs: Pairs, origin: str) -> VirtualDrive:
    state = small(pairs.get("state"))
    return VirtualDrive(
        origin=origin,
        name=f"v{number}",
        level=parse_levels(pairs.get("raid level", ""), pairs.get("span depth", "")),
        state=state,
        degraded=_DEGRADED.get(state or ""),
        configured_write_policy=parse_policy(pairs.get("default cache policy", "")),
        write_policy=parse_policy(pairs.get("current cache policy", "")),
        caches_unprotected=parse_unprotected(pairs.get("current cache policy", "")),
        drive_cache=_DRIVE_CACHES.get(small(pairs.get("disk cache policy")) or ""),
    )


def parse_policy(text: str) -> str | None:
    """The write policy among four. Samples: ``WriteBack, ReadAhead, Direct, No Write Cache if Bad BBU``;
    ``..., Write Cache OK if Bad BBU`` keeps writing back whatever becomes of the battery."""
    words = [word.strip().lower() for word in text.split(",")]
    if words[0] == "writethrough":
        return WRITE_THROUGH
    if words[0] != "writeback":
        return None
    return ALWAYS_WRITE_BACK if _GOES_ON in words else WRITE_BACK


def parse_unprotected(text: str) -> bool | None:
    """Whether write back goes on with a bad battery, by the fourth policy of four; see `parse_policy`."""
    words = [word.strip().lower() for word in text.split(",")]
    return True if _GOES_ON in words else False if "no write cache if bad bbu" in words else None


def parse_levels(text: str, depth: str) -> str | None:
    """The level of two nested ones. Sample: ``Primary-1, Secondary-3, RAID Level Qualifier-0`` is raid10"""
    found = re.match(r"Primary-(\d), Secondary-(\d)", text.strip())
    if not found:
        return None
    nested = found[2] == "3" or (depth.strip().isdecimal() and int(depth) > 1)
    return f"raid{found[1]}0" if nested and (found[1], f"{found[1]}0") in _NESTED else f"raid{found[1]}"
