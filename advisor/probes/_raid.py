"""Hardware RAID controllers and their drives as facts, and the words that the vendors' tools share."""

import re
from collections.abc import Iterable
from typing import Annotated, ClassVar

from advisor.model.facts import Facts, Root, Seen

WRITE_BACK = "write back"
WRITE_THROUGH = "write through"
ALWAYS_WRITE_BACK = "always write back"
_NOT_TOLD = ("", "-", "n/a", "na", "none", "unknown", "not available", "not applicable")


class VirtualDrive(Facts):
    """One drive that a RAID controller makes out of disks."""

    seen: ClassVar[Seen | None] = "masked"
    read_from: ClassVar[str] = "command: storcli64, command: MegaCli64, command: ssacli, command: arcconf"
    name: Annotated[str, "as the tool counts them: v0, logicaldrive 1, logical device 0"]
    level: Annotated[str | None, Root(), "raid0, raid1, raid5, raid6, raid10 ..."] = None
    state: Annotated[
        str | None, Root(), "the tool's word for it, in small letters: optimal, ok, degraded, offline ..."
    ] = None
    degraded: Annotated[bool | None, Root(), "lacks members, is being rebuilt or is offline"] = None
    os_device: Annotated[str | None, Root(), "as the kernel names it: /dev/sda"] = None
    configured_write_policy: Annotated[
        str | None, Root(), "what was asked for: write back (while protected), write through, always write back"
    ] = None
    write_policy: Annotated[
        str | None, Root(), "what is done now; without protection write back falls to write through"
    ] = None
    caches_unprotected: Annotated[
        bool | None,
        Root(),
        "whether write back goes on without protection: the drive's own setting, else the controller's default",
    ] = None
    drive_cache: Annotated[
        str | None, Root(), "the disks' own caches, which nothing protects: enabled, disabled, default"
    ] = None
    media: Annotated[str | None, Root(), "hdd, ssd or mixed"] = None


class Controller(Facts):
    """One RAID or SAS controller; without its tool little more than that it is there."""

    seen: ClassVar[Seen | None] = "masked"
    read_from: ClassVar[str] = (
        "command: storcli64, command: MegaCli64, command: ssacli, command: arcconf, /sys/bus/pci/devices/*"
    )
    name: Annotated[str, "as its tool counts them: c0, adapter 0, slot 0, controller 1; else the PCI address"]
    address: Annotated[str | None, "PCI address"] = None
    driver: Annotated[str | None, "kernel driver"] = None
    tool: Annotated[str | None, Root(), "the program that told the rest"] = None
    model: Annotated[str | None, Root(), "as its tool prints it"] = None
    firmware: Annotated[str | None, Root(), "version"] = None
    status: Annotated[str | None, Root(), "the tool's word for it, in small letters"] = None
    mode: Annotated[str | None, Root(), "raid, hba (hands disks through) or mixed"] = None
    has_cache: Annotated[bool | None, Root(), "memory that can hold writes"] = None
    protection_present: Annotated[
        bool | None, Root(), "a battery or a capacitor with flash (CacheVault) for that memory"
    ] = None
    protection_state: Annotated[str | None, Root(), "the tool's word for it, in small letters"] = None
    protection_ok: Annotated[
        bool | None, Root(), "would keep writes over a power loss now; false without protection"
    ] = None
    drives: Annotated[tuple[VirtualDrive, ...] | None, Root(), "virtual drives"] = None


def told(text: object) -> str | None:
    """``text`` without the white space around it; ``None`` for what the tools print when there is nothing to tell."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    word = " ".join(str(text).split())
    return None if word.lower() in _NOT_TOLD else word


def small(text: object) -> str | None:
    """The same in small letters."""
    word = told(text)
    return None if word is None else word.lower()


def parse_level(text: object) -> str | None:
    """The level as ``raid10``. Samples: ``RAID6``, ``RAID 6 (ADG)``, ``1+0``, ``6 Reed-Solomon``, ``Spanned_volume``"""
    word = small(text)
    found = re.match(r"(?:raid[ -]?)?(\d{1,2})(?:\+(\d))?(?!\d)", word) if word else None
    return f"raid{found[1]}{found[2] or ''}" if found else word


def parse_os_device(text: object) -> str | None:
    """The kernel's name of a disk. Samples: ``/dev/sda``, ``/dev/sdb (Bus 1)``, ``N/A``"""
    found = re.match(r"/dev/[A-Za-z0-9_/!-]+", told(text) or "")
    return found[0] if found else None


def parse_media(texts: Iterable[str]) -> str | None:
    """The one kind of medium of some disks. Samples: ``SATA SSD``, ``HDD``, ``Solid State SATA``, ``SAS``"""
    kinds = {kind for text in texts if (kind := _medium(text.lower())) is not None}
    return None if not kinds else kinds.pop() if len(kinds) == 1 else "mixed"


def _medium(text: str) -> str | None:
    if any(word in text for word in ("ssd", "solid state", "nvme")):
        return "ssd"
    return "hdd" if any(word in text for word in ("hdd", "hard", "sas", "sata")) else None


def parse_yes(text: object) -> bool | None:
    """``True`` for Enabled, Yes, On, Present; ``False`` for their opposites."""
    word = small(text)
    if word is None:
        return None
    positive = ("enable", "yes", "on", "true", "present")
    negative = ("disable", "no", "off", "false", "absent", "not present", "not installed")
    if word in negative or word.startswith("disabled"):
        return False
    return True if word in positive or word.startswith("enabled") else None


def cached_policies(caching: object, cache_status: object, without_battery: object) -> tuple[str | None, str | None]:
    """Configured and current write policy of a Smart Array or SmartRAID drive.

    From ``Caching: Enabled``, ``Cache Status: Temporarily Disabled`` and ``No-Battery Write Cache: Disabled``.
    """
    enabled, forced, status = parse_yes(caching), parse_yes(without_battery), small(cache_status)
    if enabled is None:
        return None, None
    if not enabled:
        return WRITE_THROUGH, WRITE_THROUGH
    configured = None if forced is None else ALWAYS_WRITE_BACK if forced else WRITE_BACK
    if status is not None and "disabled" in status:
        # Which of the two was asked for makes no difference to what was lost.
        return configured or WRITE_BACK, WRITE_THROUGH
    return configured, configured if status is not None and status.startswith("ok") else None


def caches(drives: Iterable[VirtualDrive], otherwise: bool | None) -> bool | None:
    """Whether a controller has a cache: certainly when it writes back."""
    return True if any(d.write_policy in (WRITE_BACK, ALWAYS_WRITE_BACK) for d in drives) else otherwise
