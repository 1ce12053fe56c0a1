"""What storcli and perccli print: JSON where it was asked for and understood, else text.

Format: Broadcom, StorCLI Reference Manual. Text is brought into the shape of the JSON and then read the same way.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.probes._raid import (
    ALWAYS_WRITE_BACK,
    WRITE_BACK,
    WRITE_THROUGH,
    Controller,
    VirtualDrive,
    caches,
    parse_level,
    parse_media,
    parse_os_device,
    parse_yes,
    small,
    told,
)
from advisor.probes._raid_storcli_text import parse_text

_STARTS_TRIED = 16
_POLICIES = {"AWB": ALWAYS_WRITE_BACK, "FWB": ALWAYS_WRITE_BACK, "WB": WRITE_BACK, "WT": WRITE_THROUGH}
_CONFIGURED = {
    "writeback": WRITE_BACK,
    "writethrough": WRITE_THROUGH,
    "alwayswriteback": ALWAYS_WRITE_BACK,
    "awb": ALWAYS_WRITE_BACK,
    "forcewriteback": ALWAYS_WRITE_BACK,
}
_STATES = {
    "Optl": ("optimal", False),
    "Pdgd": ("partially degraded", True),
    "Dgrd": ("degraded", True),
    "OfLn": ("offline", True),
    "Rec": ("recovery", True),
}
_DRIVE_CACHES = {"disk's default": "default", "enabled": "enabled", "disabled": "disabled", "default": "default"}
_MISSING = ("missing", "absent", "not present")
_HBA_DRIVERS = ("mpt2sas", "mpt3sas")
_OF_VIRTUAL_DRIVES = ("configured_write_policy", "os_device", "drive_cache")
"""Fields that only the details of virtual drives tell."""

Data = Mapping[str, Any]


def parse_controllers(text: str, origin: str, tool: str) -> tuple[Controller, ...]:
    """The controllers that ``/call show all J`` tells of; none for what is no such output.

    Sample of one: ``{"Command Status": {"Controller": 0, "Status": "Success"}, "Response Data": {"Basics": {"Model":
    "PERC H740P Mini"}, "VD LIST": [{"DG/VD": "0/0", "State": "Optl", "Cache": "RWBD"}]}}``
    """
    return tuple(_controller(number, data, origin, tool) for number, data in _responses(text))


def with_virtual_drives(controllers: Sequence[Controller], text: str, origin: str) -> tuple[Controller, ...]:
    """``controllers`` with what ``/call/vall show all J`` tells of their drives, which is read from ``origin``."""
    details = dict(_responses(text))
    return tuple(_with_details(one, details.get(one.name, {}), origin) for one in controllers)


def parse_cache_code(code: object) -> str | None:
    """The write policy in a code of read, write and I/O policy.

    Samples: ``RWBD`` and ``NRWTD``; ``RAWBD`` is R+AWB+D (always write back), not Ra+WB+D.
    """
    found = re.fullmatch(r"(?:NR|R|Ra)?(AWB|FWB|WB|WT)[CD]?", told(code) or "")
    return _POLICIES[found[1]] if found else None


def _responses(text: str) -> Iterator[tuple[str, Data]]:
    """The name of each controller that answered, ``c0``, and its answer."""
    for document in _documents(text):
        status, data = _section(document, "Command Status"), document.get("Response Data")
        number = told(status.get("Controller"))
        if isinstance(data, Mapping) and number is not None and small(status.get("Status")) != "failure":
            yield f"c{number}", data


def _documents(text: str) -> Sequence[Data]:
    if "Controllers" not in text:
        return parse_text(text)
    # A banner or a warning may stand before the JSON, with braces of its own.
    starts = [found.start() for found in re.finditer(r"\{", text[:65536])][:_STARTS_TRIED]
    for start in starts:
        try:
            document, _ = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        listed = document.get("Controllers")
        if isinstance(listed, list):
            return [one for one in listed if isinstance(one, Mapping)]
    return ()


def _section(data: Data, name: str) -> Data:
    found = data.get(name)
    return found if isinstance(found, Mapping) else {}


def _rows(data: Data, name: str) -> list[Data]:
    found = data.get(name)
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def _controller(number: str, data: Data, origin: str, tool: str) -> Controller:
    basics, version, status = (_section(data, name) for name in ("Basics", "Version", "Status"))
    hardware, drives = _section(data, "HwCfg"), _drives(data, origin)
    present, state = _protection(data, hardware)
    memory = told(hardware.get("On Board Memory Size"))
    return Controller(
        origin=origin,
        name=number,
        address=_address(basics.get("PCI Address") or data.get("PCI Address")),
        tool=tool,
        model=told(basics.get("Model") or data.get("Product Name")),
        firmware=told(version.get("Firmware Version") or data.get("FW Version")),
        status=small(status.get("Controller Status")),
        mode=_mode(data),
        has_cache=caches(drives or (), None if memory is None else not re.match(r"0+ ?[KMGT]?B?$", memory)),
        protection_present=present,
        protection_state=state,
        protection_ok=False if present is False else None if state is None else state.startswith("optimal"),
        drives=drives,
    )


def _address(text: object) -> str | None:
    """The PCI address as sysfs writes it. Sample: ``00:3b:00:00``, domain, bus, device and function in hex."""
    found = re.fullmatch(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2}):0*([0-7])", told(text) or "")
    if not found:
        return None
    return f"{int(found[1], 16):04x}:{int(found[2], 16):02x}:{int(found[3], 16):02x}.{found[4]}"


def _mode(data: Data) -> str:
    """``hba`` for a card that only hands disks through."""
    sections = [data, *(value for value in data.values() if isinstance(value, Mapping))]
    personalities = [word for one in sections if (word := small(one.get("Current Personality"))) is not None]
    if any(word.startswith(("hba", "jbod")) for word in personalities):
        return "hba"
    drivers = [one.get("Driver Name") for one in sections]
    return "hba" if any(driver in _HBA_DRIVERS for driver in drivers) else "raid"


def _protection(data: Data, hardware: Data) -> tuple[bool | None, str | None]:
    """Whether there is a CacheVault or battery, and its state; a full answer without a list of them means none."""
    rows = _rows(data, "Cachevault_Info") or _rows(data, "BBU_Info")
    if rows:
        state = small(rows[0].get("State"))
        return state not in _MISSING, state
    present = parse_yes(hardware.get("BBU"))
    return (present if hardware else None), None


def _drives(data: Data, origin: str) -> tuple[VirtualDrive, ...] | None:
    if "VD LIST" not in data:
        return () if told(data.get("Virtual Drives")) in (None, "0") else None
    media = _media_by_group(_rows(data, "PD LIST"))
    unprotected = parse_yes(_section(data, "Defaults").get("Cache When BBU Bad"))
    return tuple(_drive(row, media, unprotected, origin) for row in _rows(data, "VD LIST"))


def _media_by_group(rows: Sequence[Data]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for row in rows:
        group, medium = told(row.get("DG")), told(row.get("Med"))
        if group is not None and medium is not None:
            groups.setdefault(group, []).append(medium)
    return groups


def _drive(row: Data, media: Mapping[str, Sequence[str]], unprotected: bool | None, origin: str) -> VirtualDrive:
    group, _, number = (told(row.get("DG/VD")) or "").rpartition("/")
    state = told(row.get("State"))
    word, degraded = _STATES.get(state or "", (small(state), None))
    policy = parse_cache_code(row.get("Cache"))
    return VirtualDrive(
        origin=origin,
        name=f"v{number}",
        level=parse_level(row.get("TYPE")),
        state=word,
        degraded=degraded,
        write_policy=policy,
        caches_unprotected=True if policy == ALWAYS_WRITE_BACK else unprotected,
        media=parse_media(media.get(group, ())),
    )


def _with_details(controller: Controller, details: Data, origin: str) -> Controller:
    if controller.drives is None:
        return controller
    drives = tuple(_with_properties(drive, details, origin) for drive in controller.drives)
    return controller.model_copy(update={"drives": drives})


def _with_properties(drive: VirtualDrive, details: Data, origin: str) -> VirtualDrive:
    number = drive.name.removeprefix("v")
    properties = _section(details, f"VD{number} Properties")
    media = [medium for row in _rows(details, f"PDs for VD {number}") if (medium := told(row.get("Med")))]
    configured = (small(properties.get("Write Cache(initial setting)")) or "").replace(" ", "")
    policy = _CONFIGURED.get(configured)
    forced = policy == ALWAYS_WRITE_BACK
    return drive.model_copy(
        update={
            "configured_write_policy": policy,
            "caches_unprotected": forced or drive.caches_unprotected,
            "os_device": parse_os_device(properties.get("OS Drive Name")),
            "drive_cache": _DRIVE_CACHES.get(small(properties.get("Disk Cache Policy")) or ""),
            "media": parse_media(media) or drive.media,
            "origins": dict.fromkeys((*_OF_VIRTUAL_DRIVES, *(("caches_unprotected",) if forced else ())), origin),
        }
    )
