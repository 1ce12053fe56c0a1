"""Which conditions of udev rules tell one device, or what a program said, instead of a kind of device."""

import re

_KINDS = (
    "ACTION", "ATTR", "ATTRS", "CONST", "DRIVER", "DRIVERS", "ENV", "KERNEL", "KERNELS", "SUBSYSTEM", "SUBSYSTEMS",
    "TAG", "TAGS", "TEST",
)  # fmt: skip
"""Keys that ask what the device is."""
_ONE_DEVICE = re.compile(
    r"serial|wwid|wwn|unique|uuid|label|address|_name|^name|host|guid|asset|secret|pass|key", re.IGNORECASE
)
"""Attributes and properties that tell one device from others of its make."""
_PLAIN = re.compile(r"[\W_]*\w?[\W_]*")
"""Patterns and flags."""


def is_private(key: str, attribute: str | None, value: str) -> bool:
    """Whether the value of a condition is to be kept back. Sample: ``ATTRS{serial}=="S4EVNF0M"``"""
    if _PLAIN.fullmatch(value):
        return False
    return key not in _KINDS or _ONE_DEVICE.search(attribute or "") is not None
