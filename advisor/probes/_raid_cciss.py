"""What cciss_vol_status prints of HP Smart Array controllers: state of volumes and cache, no policy of a volume.

Format: cciss_vol_status(8), option -V.
"""

import re

from advisor.probes._raid import (
    WRITE_BACK,
    WRITE_THROUGH,
    Controller,
    VirtualDrive,
    parse_level,
    parse_yes,
    small,
    told,
)

_VOLUME = re.compile(r"(/dev/\S+): \((.*?)\) (RAID \S.*?) Volume (\d{1,5}) status: ([^.]{1,200})\.")
_MOST_VOLUMES = 1000


def parse_controller(text: str, origin: str, name: str) -> Controller | None:
    """The controller in the answer for one device; ``None`` when there is none::

    Controller: Smart Array P420i
      Running firmware: 8.32
    /dev/sda: (Smart Array P420i) RAID 1(1+0) Volume 0 status: OK.
    /dev/sg0(Smart Array P420i:0): Non-Volatile Cache status:
                       Cache configured: Yes
                     Write cache memory: 735 MiB
                    Write cache enabled: Yes
       Flash backed cache present
    """
    volumes = _VOLUME.findall(text)[:_MOST_VOLUMES]
    model = _value(text, "Controller") or (volumes[0][1] if volumes else None)
    if model is None:
        return None
    configured, current = _policies(text)
    return Controller(
        origin=origin,
        name=name,
        tool="cciss_vol_status",
        model=told(model),
        firmware=told(_value(text, "Running firmware")),
        has_cache=_has_cache(text),
        protection_present=True if _is_told(text, "flash backed cache present", "battery pack") else None,
        protection_ok=False if current == WRITE_THROUGH and _is_told(text, "battery pack") else None,
        drives=tuple(_drive(volume, configured, current, origin) for volume in volumes),
    )


def _value(text: str, label: str) -> str | None:
    found = re.search(rf"(?m)^\s*{label}: *(\S.*?)\s*$", text)
    return found[1] if found else None


def _is_told(text: str, *phrases: str) -> bool:
    plain = " ".join(text.lower().split())
    return any(phrase in plain for phrase in phrases)


def _has_cache(text: str) -> bool | None:
    configured = parse_yes(_value(text, "Cache configured"))
    return True if configured and _value(text, "Write cache memory") not in (None, "0 MiB") else configured


def _policies(text: str) -> tuple[str | None, str | None]:
    """Configured and current policy of all volumes; enabled for the controller says nothing of a single volume."""
    if parse_yes(_value(text, "Write cache enabled")) is not False:
        return None, None
    return WRITE_BACK if _is_told(text, "write cache temporarily disabled") else None, WRITE_THROUGH


def _drive(volume: tuple[str, ...], configured: str | None, current: str | None, origin: str) -> VirtualDrive:
    device, _, level, number, state = volume
    inner = re.search(r"\((\d\+\d)\)", level)
    return VirtualDrive(
        origin=origin,
        name=f"volume {number}",
        level=parse_level(inner[1] if inner else level),
        state=small(state),
        degraded=small(state) != "ok",
        # Of several volumes the program may name the device that was asked.
        os_device=device if device.startswith("/dev/sd") else None,
        configured_write_policy=configured,
        write_policy=current,
    )
