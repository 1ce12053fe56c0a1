"""Whether what lies on a device outlives any one drive."""

import pytest

from advisor.derived._redundancy import survives
from advisor.probes._lvm import LogicalVolume
from advisor.probes._md import Array
from advisor.probes._raid import Controller, VirtualDrive
from advisor.probes.block import Block, BlockDevice, Partition
from advisor.probes.raid import Raid

DISKS = tuple(
    BlockDevice(name=name, kind="nvme", physical=True, slaves=(), partitions=(Partition(name=f"{name}p1"),))
    for name in ("nvme0n1", "nvme1n1")
)
BOTH = ("nvme0n1p1", "nvme1n1")
BOUGHT = BlockDevice(name="vda", kind="virtio", physical=False, slaves=())
CONTROLLERS = BlockDevice(name="sda", kind="scsi", slaves=())


def array(level: str | None, members: tuple[str, ...] = BOTH) -> Block:
    made = BlockDevice(name="md0", kind="md", physical=False, slaves=members)
    return Block(devices=(*DISKS, BOUGHT, made), md=(Array(name="md0", level=level),))


def volume(kinds: tuple[str, ...] | None, members: tuple[str, ...] = BOTH, maker: str = "LVM") -> Block:
    made = BlockDevice(name="dm-0", kind="dm", physical=False, slaves=members, dm_kind=maker)
    segments = tuple(LogicalVolume(name="d", group="vg", device="dm-0", segment_type=kind) for kind in kinds or ())
    return Block(devices=(*DISKS, BOUGHT, made), lvm=None if kinds is None else segments)


@pytest.mark.parametrize(
    ("name", "block", "expected"),
    [
        ("nvme0n1", Block(devices=DISKS), False),
        ("nvme0n1p1", Block(devices=DISKS), False),
        ("vda", Block(devices=(BOUGHT,)), None),
        ("sdz", Block(devices=DISKS), None),
        ("md0", array("raid1"), True),
        ("md0", array("raid6"), True),
        ("md0", array("raid0"), False),
        ("md0", array("linear"), False),
        ("md0", array("raid0", ("vda",)), None),
        ("md0", array("raid0", ()), None),
        ("md0", array("container"), None),
        ("md0", array(None), None),
        ("md0", array("raid1").model_copy(update={"md": None}), None),
        ("dm-0", volume(("raid1",)), True),
        ("dm-0", volume(("raid6_zr",)), True),
        ("dm-0", volume(("striped",)), False),
        ("dm-0", volume(("raid1", "linear")), False),
        ("dm-0", volume(("vdo",)), None),
        ("dm-0", volume(None), None),
        ("dm-0", volume(None, ("nvme0n1",)), False),
        ("dm-0", volume(None, ("vda",)), None),
        ("dm-0", volume((), ("nvme0n1p1",), "CRYPT"), False),
        ("dm-0", volume((), BOTH, "mpath"), None),
    ],
)
def test_a_device_outlives_a_drive_as_its_level_says(name: str, block: Block, expected: bool | None) -> None:
    assert survives(name, block, None) is expected


def test_stripes_over_mirrors_outlive_a_drive() -> None:
    mirrors = array("raid1")
    stripes = BlockDevice(name="dm-0", kind="dm", slaves=("md0",), dm_kind="LVM")
    made = mirrors.model_copy(update={"devices": (*(mirrors.devices or ()), stripes), "lvm": None})
    assert survives("dm-0", made, None) is True


@pytest.mark.parametrize(("level", "expected"), [("raid5", True), ("raid0", False), (None, None), ("raid1e", None)])
def test_a_controllers_drive_is_as_safe_as_its_level(level: str | None, expected: bool | None) -> None:
    raid = Raid(
        controllers=(Controller(name="c0", drives=(VirtualDrive(name="v0", os_device="/dev/sda", level=level),)),)
    )
    assert survives("sda", Block(devices=(CONTROLLERS,)), raid) is expected


def test_a_disk_that_may_be_a_controllers_is_not_known() -> None:
    assert survives("sda", Block(devices=(CONTROLLERS,)), Raid(controllers=())) is None


def test_a_clouds_network_volume_is_not_a_drive() -> None:
    volume = BlockDevice(name="nvme0n1", kind="nvme", physical=True, model="Amazon Elastic Block Store", slaves=())
    assert survives("nvme0n1", Block(devices=(volume,)), None) is None


def test_devices_made_of_each_other_end() -> None:
    devices = tuple(BlockDevice(name=a, kind="dm", slaves=(b,)) for a, b in (("dm-0", "dm-1"), ("dm-1", "dm-0")))
    assert survives("dm-0", Block(devices=devices), None) is None
