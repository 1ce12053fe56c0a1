"""What kind of device a PCI class code and vendor mean. Codes: include/linux/pci_ids.h"""

import re

from advisor.host.base import Host

GPU_VENDORS = {"10de": "nvidia", "1002": "amd"}
_KINDS = {
    "0104": "raid",
    "0107": "sas",
    "0108": "nvme",
    "0200": "nic",
    "0207": "nic",
    "0280": "nic",
    "0604": "bridge",
}
"""By class and subclass (include/linux/pci_ids.h)."""


def kind_of(class_code: str | None, vendor: str | None) -> str | None:
    """The kind of a device by its class (six hex digits) and vendor; ``None`` for one that does not matter here."""
    if class_code is None:
        return None
    maker = GPU_VENDORS.get(vendor or "")
    if class_code[:2] == "03":
        return "gpu" if maker else "display"
    if class_code[:2] == "12":
        return "gpu" if maker else None
    if class_code[:4] == "0680":
        return "nvswitch" if maker == "nvidia" else None
    return _KINDS.get(class_code[:4])


def class_and_vendor(host: Host, folder: str) -> tuple[str | None, str | None]:
    """Class and, where the kind hangs on it, vendor of the device in ``folder``."""
    class_code = parse_hex(host.text(f"{folder}/class"), 6)
    needed = class_code is not None and class_code[:2] in ("03", "12", "06") and class_code[:4] != "0604"
    return class_code, parse_hex(host.text(f"{folder}/vendor"), 4) if needed else None


def parse_hex(text: str | None, digits: int) -> str | None:
    """The digits of a number in sysfs. Sample: ``0x10de`` gives ``10de``"""
    found = re.fullmatch(r"0x([0-9a-fA-F]{1,8})", text.strip()) if text else None
    return found[1].lower().rjust(digits, "0") if found else None
