"""What arcconf prints of Adaptec (Microchip) controllers. Text only."""

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

_DRIVE = re.compile(r"Logical (?:device|drive) number (\d+)", re.IGNORECASE)
_BATTERIES = (
    "controller battery information/status",
    "controller zmm information/status",
    "overall backup unit status",
    "backup power status",
)
_NO_BATTERY = ("not installed", "not present", "zmm not installed")
_DEGRADED = ("degraded", "failed", "offline", "suboptimal", "rebuilding", "critical")


@dataclass
class _Told:
    card: dict[str, str] = field(default_factory=dict)
    drives: dict[str, dict[str, str]] = field(default_factory=dict)
    disks: dict[str, list[str]] = field(default_factory=dict)


def parse_controller(text: str, origin: str, number: int) -> Controller | None:
    """The controller that ``GETCONFIG 1 AL`` tells of; ``None`` for what is no such output. Sample::

    Controller information
       Controller Model                         : Adaptec 6405
       Controller ZMM Information
       Status                                   : ZMM not installed
    Logical device information
    Logical device number 0
       RAID level                               : 10
       Status of logical device                 : Optimal
       Write-cache setting                      : On when protected by battery/ZMM
       Write-cache status                       : On
    """
    found = _told(text)
    if not found.card and not found.drives:
        return None
    drives = tuple(_drive(name, found, origin) for name in found.drives)
    state = next((word for key in _BATTERIES if (word := small(found.card.get(key))) is not None), None)
    if state is not None:
        state = state.removeprefix("zmm ")
    present = None if state is None else state not in _NO_BATTERY
    memory = told(found.card.get("installed memory") or found.card.get("cache memory"))
    mode = small(found.card.get("controller mode")) or "raid"
    return Controller(
        origin=origin,
        name=f"controller {number}",
        tool="arcconf",
        model=told(found.card.get("controller model")),
        firmware=told(found.card.get("controller version information/firmware") or found.card.get("firmware")),
        status=small(found.card.get("controller status")),
        mode="hba" if mode.startswith("hba") else "mixed" if mode.startswith("mixed") else "raid",
        has_cache=caches(drives, _has_cache(found, memory)),
        protection_present=present,
        protection_state=state if present else None,
        protection_ok=None if present is None else state in ("optimal", "ready", "ok"),
        drives=drives,
    )


def _has_cache(found: _Told, memory: str | None) -> bool | None:
    if any("not supported" in (pairs.get("write-cache mode") or "").lower() for pairs in found.drives.values()):
        return False
    return None if memory is None else not re.match(r"0+ ", memory)


def _told(text: str) -> _Told:
    """The pairs of the controller (also as ``section/key``) and of each logical drive, keys in small letters."""
    found = _Told()
    part = section = ""
    drive: str | None = None
    for line in text.splitlines():
        words = line.strip()
        start = _DRIVE.fullmatch(words)
        if start:
            drive, part = start[1], "logical"
            found.drives.setdefault(drive, {})
            continue
        if line[:1].isalpha() and " information" in words.lower():
            part, section, drive = words.lower().split(" ")[0], "", None
            continue
        key, colon, value = _pair(words)
        if not colon:
            section = words.lower() if words and not words.startswith("-") else section
        elif drive is not None:
            found.drives[drive].setdefault(key, value)
            if value.startswith("Present"):
                found.disks.setdefault(drive, []).append(value)
        elif part == "controller":
            found.card.setdefault(key, value)
            found.card.setdefault(f"{section}/{key}", value)
    return found


def _pair(words: str) -> tuple[str, bool, str]:
    """Key in small letters and value of ``Key    : value``; a key may have colons, which no space follows."""
    found = re.match(r"(.*?)\s*:(?:\s+(.*))?$", words)
    return (found[1].lower(), True, (found[2] or "").strip()) if found else ("", False, "")


def _drive(number: str, found: _Told, origin: str) -> VirtualDrive:
    pairs = found.drives[number]
    state = next((small(value) for key, value in pairs.items() if key.startswith("status of logical")), None)
    configured, current = _policies(pairs, found.card)
    cache = small(found.card.get("global physical device write cache policy"))
    media = parse_media(_segments(found.disks.get(number, ())))
    return VirtualDrive(
        origin=origin,
        name=f"logical device {number}",
        level=parse_level(pairs.get("raid level")),
        state=state,
        degraded=parse_degraded(state),
        os_device=parse_os_device(pairs.get("disk name")),
        configured_write_policy=configured,
        write_policy=current,
        caches_unprotected=_caches_unprotected(pairs, found.card),
        drive_cache="default" if cache == "drive specific" else cache if cache in ("enabled", "disabled") else None,
        media=media or parse_media([kind for key in ("device type", "interface type") if (kind := pairs.get(key))]),
    )


def _segments(texts: object) -> Iterator[str]:
    """The kind of each disk. Sample: ``Present (457862MB, SATA, SSD, Connector:0, Device:0) 7CS009RP``; what older
    versions print names no kind."""
    for text in texts if isinstance(texts, list) else ():
        found = re.search(r"\b(SSD|HDD)\b", text)
        if found:
            yield found[1]


def _policies(pairs: dict[str, str], card: dict[str, str]) -> tuple[str | None, str | None]:
    """Configured and current write policy.

    Samples of what is configured: ``On when protected by battery/ZMM``; ``Enabled (write-back)``; ``Disabled
    (write-through)``. Whether the second one caches without protection too is not documented where we could look, so
    it is not called forced. What is done now is the status or, before it was called that, the mode.
    """
    if "caching" in pairs:
        return cached_policies(pairs["caching"], card.get("cache status"), card.get("no-battery write cache"))
    setting = small(pairs.get("write-cache setting"))
    enabled = parse_yes(setting)
    configured = None
    if setting is not None and "when protected" in setting:
        configured = WRITE_BACK
    elif enabled is not None:
        configured = WRITE_BACK if enabled else WRITE_THROUGH
    now = parse_yes(pairs.get("write-cache status") or pairs.get("write-cache mode"))
    if now is None:
        return configured, None
    return configured, (configured if configured not in (None, WRITE_THROUGH) else WRITE_BACK) if now else WRITE_THROUGH


def _caches_unprotected(pairs: dict[str, str], card: dict[str, str]) -> bool | None:
    """Whether write back goes on without protection. Sample that says no: ``On when protected by battery/ZMM``"""
    if "caching" in pairs:
        return parse_yes(card.get("no-battery write cache"))
    return False if "when protected" in (small(pairs.get("write-cache setting")) or "") else None


def parse_degraded(state: str | None) -> bool | None:
    """Whether a drive lacks something. Samples: ``optimal``, ``degraded``, ``impacted ( build/verify : 90 % )``, which
    has all its members and is being checked."""
    if state is None:
        return None
    if state.startswith(_DEGRADED):
        return True
    return False if state.startswith(("optimal", "okay", "ok", "impacted")) else None
