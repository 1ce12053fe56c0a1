"""Conditions of udev rules: which devices are meant, which numbers are lower, and whether a rule may mean the same."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from advisor.probes.block import BlockDevice

NVME, NFS = "nvme", "nfs"
_NVME_DISKS = "nvme[0-9]*n[0-9]*"
_SAFE_NAME = re.compile(r"[A-Za-z0-9_.+-]+", re.ASCII)
"""Names that udev takes for themselves: no pattern, no quote, no substitution."""
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_MAPPED = "dm:"
_CONDITION = re.compile(r'([A-Z]+)\s*(==|!=)\s*"([^"]*)"', re.ASCII)


def block_match(place: str) -> str:
    """Conditions for whole disks; ``place`` is what `place_of` gave."""
    start = 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk"'
    if place == NVME:
        return f'{start}, KERNEL=="{_NVME_DISKS}"'
    if place.startswith(_MAPPED):
        return f'{start}, KERNEL=="dm-*", ENV{{DM_NAME}}=="{place.removeprefix(_MAPPED)}"'
    if _PCI.fullmatch(place):
        return f'{start}, KERNEL=="{_NVME_DISKS}", KERNELS=="{place}"'
    return f'{start}, KERNEL=="{place}"'


def place_of(devices: str, found: Sequence[BlockDevice]) -> str:
    """What stays the same over reboots: all of a kind, ``dm:`` and the volume's name, or the address on the bus."""
    device = found[0] if found and devices != NVME else None
    if device is not None and device.dm_name and _SAFE_NAME.fullmatch(device.dm_name):
        return f"{_MAPPED}{device.dm_name}"
    if device is not None and device.kind == NVME and device.pci_address and _PCI.fullmatch(device.pci_address):
        return device.pci_address
    return devices


def is_place(devices: str) -> bool:
    """Whether it is an address or ``dm:`` and a volume's name, which a rule has instead of a device's name."""
    name = devices.removeprefix(_MAPPED)
    return bool(_PCI.fullmatch(devices) or (name != devices and _SAFE_NAME.fullmatch(name)))


def means(devices: str, device: BlockDevice) -> bool:
    """Whether a key for ``devices`` means this device."""
    if devices == NVME:
        return device.kind == NVME
    return devices in (device.name, device.pci_address if device.kind == NVME else None, f"{_MAPPED}{device.dm_name}")


def devices_of(conditions: Mapping[str, str]) -> str:
    """What the conditions of `block_match` mean, as a key has it."""
    if "ENV{DM_NAME}" in conditions:
        return f"{_MAPPED}{conditions['ENV{DM_NAME}']}"
    if "KERNELS" in conditions:
        return conditions["KERNELS"]
    return NVME if conditions.get("KERNEL") == _NVME_DISKS else conditions.get("KERNEL", "")


def bdi_match() -> str:
    """Conditions for the read-ahead of an NFS mount, whose number stands in the fourth column of the kernel's list."""
    search = "BEGIN{r=1} $$4==dev{r=0} END{exit r}"
    return f'ACTION=="add", SUBSYSTEM=="bdi", PROGRAM=="/usr/bin/awk -v dev=%k \'{search}\' /proc/fs/nfsfs/volumes"'


def numbers_below(limit: int) -> str:
    """A pattern of udev for the whole numbers from 0 to below ``limit``: ``?|[0-2]?|3[0-1]`` for 32."""
    digits = str(limit)
    patterns = ["?" * length for length in range(1, len(digits))]
    for place, digit in enumerate(digits):
        least = 1 if place == 0 and len(digits) > 1 else 0
        if int(digit) > least:
            first = f"[{least}-{int(digit) - 1}]" if int(digit) - 1 > least else str(least)
            patterns.append(digits[:place] + first + "?" * (len(digits) - place - 1))
    return "|".join(patterns)


def may_match(conditions: Sequence[str], subsystem: str, names: Sequence[str]) -> bool:
    """Whether a rule may mean a device of this subsystem and one of these names; what cannot be told may."""
    for key, sign, pattern in (found.groups() for one in conditions if (found := _CONDITION.match(one))):
        wanted = {"SUBSYSTEM": (subsystem,), "KERNEL": names}.get(key)
        if wanted and sign == "==" and not any(fnmatchcase(n, p) for n in wanted for p in pattern.split("|")):
            return False
    return True
