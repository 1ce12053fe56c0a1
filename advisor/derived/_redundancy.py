"""Whether what lies on a block device outlives any one drive: of arrays, volumes and RAID controllers' drives."""

from collections.abc import Sequence

from advisor.probes.block import Block, BlockDevice
from advisor.probes.raid import Raid

_KEEP = ("raid1", "raid4", "raid5", "raid6", "raid10", "raid50", "raid60", "mirror")
_FAR_MODELS = ("Amazon Elastic Block Store", "MSFT NVMe Accelerator", "nvme_card-pd", "PersistentDisk")
"""Network volumes of clouds that look like NVMe drives, to bare-metal instances too."""
_SPREAD = ("raid0", "linear", "striped", "thin", "thin-pool", "cache", "jbod")
"""As safe as what it is made of."""


def survives(name: str, block: Block, raid: Raid | None, passed: frozenset[str] = frozenset()) -> bool | None:
    """Whether a device (or partition) keeps its data when any one drive fails; ``None`` where nothing tells."""
    device = next((one for one in block.devices or () if _is_on(name, one)), None)
    if device is None or device.name in passed or device.dm_kind == "mpath":
        return None
    below = [survives(one, block, raid, passed | {device.name}) for one in device.slaves or ()]
    levels = _levels(device, block, raid)
    if levels:
        # What a controller spreads over its disks has nothing below it here.
        beneath = _all(below) if below else None if device.kind in ("md", "dm") else False
        return _all([_of_level(level, beneath) for level in levels])
    if device.kind == "md" or (device.dm_kind == "LVM" and len(below) > 1):
        # Copies, stripes or one after the other: only that all keep their data settles it.
        return True if _all(below) else None
    return _all(below) if below else False if device.physical and not _is_far(device) else None


def _is_far(device: BlockDevice) -> bool:
    return (device.model or "").startswith(_FAR_MODELS)


def _is_on(name: str, device: BlockDevice) -> bool:
    return name == device.name or any(name == part.name for part in device.partitions or ())


def _of_level(level: str | None, beneath: bool | None) -> bool | None:
    """What a level makes of what lies beneath it."""
    if level is None or level.partition("_")[0] in _KEEP:
        return None if level is None else True
    return beneath if level in _SPREAD else None


def _levels(device: BlockDevice, block: Block, raid: Raid | None) -> list[str | None]:
    """Levels of the array, of all segments of the volume, or of the controller's drive that a device is."""
    if device.kind == "md":
        return [array.level for array in block.md or () if array.name == device.name]
    if device.kind == "dm":
        return [volume.segment_type for volume in block.lvm or () if volume.device == device.name]
    drives = [drive for one in (raid.controllers if raid else None) or () for drive in one.drives or ()]
    return [drive.level for drive in drives if drive.os_device == f"/dev/{device.name}"]


def _all(answers: Sequence[bool | None]) -> bool | None:
    return False if False in answers else None if None in answers else True
