"""What ssacli and, before it, hpssacli and hpacucli print of HPE Smart Array controllers. Text only."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from advisor.probes._raid import (
    WRITE_BACK,
    WRITE_THROUGH,
    Controller,
    VirtualDrive,
    cached_policies,
    caches,
    parse_level,
    parse_media,
    parse_os_device,
    parse_yes,
    small,
    told,
)

_HEAD = re.compile(r"(?P<model>\S.*?) in Slot (?P<slot>[0-9A-Za-z_]+)(?P<rest>.*)")
_DISK = re.compile(r"physicaldrive \S+ \((?P<about>.*)\)")
_SHORT = re.compile(r"logicaldrive (?P<number>\d+) \((?P<about>.*)\)")
_ELSEWHERE = re.compile(
    r"physicaldrive \S+$|Port Name:|.* Drive Cage at |Physical Drives$|SEP \(|Expander |Unassigned|HBA Drives",
    re.IGNORECASE,
)
"""Lines after which something else than a controller or a logical drive is told of."""
_DEGRADED = ("interim recovery", "recovering", "ready for rebuild", "failed", "ready for recovery", "degraded")


@dataclass
class _Drive:
    number: str
    array: dict[str, str]
    pairs: dict[str, str] = field(default_factory=dict)
    disks: list[str] = field(default_factory=list)


@dataclass
class _Card:
    model: str
    slot: str
    rest: str
    pairs: dict[str, str] = field(default_factory=dict)
    drives: list[_Drive] = field(default_factory=list)


def parse_controllers(text: str, origin: str, tool: str) -> tuple[Controller, ...]:
    """The controllers that ``ctrl all show config detail`` tells of; shorter answers tell less. Sample::

    Smart Array P440ar in Slot 0 (Embedded)
       Cache Status: OK
       No-Battery Write Cache: Disabled
       Battery/Capacitor Status: OK

       Array: A
          Interface Type: Solid State SATA

          Logical Drive: 1
             Fault Tolerance: 1+0
             Status: OK
             Caching:  Enabled
             Disk Name: /dev/sda
    """
    return tuple(_controller(card, origin, tool) for card in _cards(text))


def _cards(text: str) -> list[_Card]:
    """The controllers and their logical drives, line by line: what a line belongs to is said by those above it."""
    cards: list[_Card] = []
    array: dict[str, str] = {}
    pairs: dict[str, str] | None = None
    for line in text.splitlines():
        words = line.strip()
        head = _HEAD.fullmatch(line.rstrip()) if line[:1].strip() else None
        if head:
            cards.append(_Card(head["model"], head["slot"], head["rest"]))
            array, pairs = {}, cards[-1].pairs
        elif not cards or not words:
            continue
        elif re.fullmatch(r"Array:? \w{1,3}(?: \(.*\))?", words, re.IGNORECASE):
            pairs = array = {"failed": "yes"} if "(failed)" in words.lower() else {}
        elif (drive := _started(words, array)) is not None:
            cards[-1].drives.append(drive)
            pairs = drive.pairs
        elif disk := _DISK.match(words):
            if cards[-1].drives and pairs is cards[-1].drives[-1].pairs:
                cards[-1].drives[-1].disks.append(disk["about"])
        elif _ELSEWHERE.match(words):
            pairs = None
        elif pairs is not None:
            key, _, value = words.partition(":")
            pairs.setdefault(key.strip(), value.strip())
    return cards


def _started(words: str, array: dict[str, str]) -> _Drive | None:
    """The logical drive that begins here, in full (``Logical Drive: 1``) or in one line."""
    full = re.fullmatch(r"Logical Drive: (\d+)", words)
    if full:
        return _Drive(full[1], array)
    short = _SHORT.match(words)
    if not short:
        return None
    # Size, level, state: ``894.2 GB, RAID 5, OK``; a state may have commas of its own.
    parts = [part.strip() for part in short["about"].split(",", 2)]
    told_of = dict(zip(("Size", "Fault Tolerance", "Status"), parts, strict=False))
    return _Drive(short["number"], array, told_of)


def _controller(card: _Card, origin: str, tool: str) -> Controller:
    drives = tuple(_drives(card, origin))
    mode = small(card.pairs.get("Controller Mode")) or ("hba" if "(HBA Mode)" in card.rest else "raid")
    state = small(card.pairs.get("Battery/Capacitor Status"))
    board, count = parse_yes(card.pairs.get("Cache Board Present")), told(card.pairs.get("Battery/Capacitor Count"))
    present = count != "0" if count is not None else None if state is None else True
    if board is None and "Controller Status" in card.pairs:
        # Every answer with a controller's status has one of its cache too, if there is a cache.
        board = "Cache Status" in card.pairs
    return Controller(
        origin=origin,
        name=f"slot {card.slot}",
        address=_address(card.pairs.get("PCI Address (Domain", "")),
        tool=tool,
        model=told(card.model),
        firmware=told(card.pairs.get("Firmware Version")),
        status=small(card.pairs.get("Controller Status")),
        mode=mode if mode in ("raid", "hba", "mixed") else None,
        has_cache=caches(drives, board),
        protection_present=present,
        protection_state=state,
        protection_ok=False if present is False else None if state is None else state == "ok",
        drives=drives,
    )


def _address(text: str) -> str | None:
    """The PCI address as sysfs writes it. Sample: ``Bus:Device.Function): 0000:5C:00.0``"""
    found = re.search(r"\b([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$", text)
    return found[1].lower() if found else None


def _drives(card: _Card, origin: str) -> Iterator[VirtualDrive]:
    cache = card.pairs.get("Drive Write Cache") or card.pairs.get("Configured Drive Write Cache Policy")
    enabled = parse_yes(cache)
    for drive in card.drives:
        state = small(drive.pairs.get("Status"))
        configured, current = _policies(card, drive)
        yield VirtualDrive(
            origin=origin,
            name=f"logicaldrive {drive.number}",
            level=parse_level(drive.pairs.get("Fault Tolerance")),
            state=state,
            # An array with failed disks may hold a logical drive that calls itself OK.
            degraded=True if drive.array.get("failed") else parse_degraded(state),
            os_device=parse_os_device(drive.pairs.get("Disk Name")),
            configured_write_policy=configured,
            write_policy=current,
            caches_unprotected=parse_yes(card.pairs.get("No-Battery Write Cache")),
            drive_cache={True: "enabled", False: "disabled", None: "default" if small(cache) == "default" else None}[
                enabled
            ],
            media=parse_media(drive.disks) or parse_media([drive.array.get("Interface Type", "")]),
        )


def _policies(card: _Card, drive: _Drive) -> tuple[str | None, str | None]:
    if re.search(r"\b0% Write", card.pairs.get("Cache Ratio", "")):
        # The whole cache is there for reading.
        return WRITE_THROUGH, WRITE_THROUGH
    caching, status = drive.pairs.get("Caching"), card.pairs.get("Cache Status")
    configured, current = cached_policies(caching, status, card.pairs.get("No-Battery Write Cache"))
    if current == WRITE_BACK and told(card.pairs.get("Battery/Capacitor Count")) == "0":
        # Only protected writes may be cached and nothing protects them: what the status is good for is not said.
        current = None
    return configured, current


def parse_degraded(state: str | None) -> bool | None:
    """Whether a drive lacks something. Samples: ``ok``, ``interim recovery mode``, ``recovering, 12% complete``"""
    if state is None:
        return None
    return False if state == "ok" else True if state.startswith(_DEGRADED) else None
