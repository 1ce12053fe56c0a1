"""What a path lies on: its mount, and the devices below it down to the drives."""

from pathlib import Path

import pytest

from advisor.derived.storage import Place, below, derive, mount_of
from advisor.model.facts import evidence_path
from advisor.model.job import Job
from advisor.probes import block, mounts
from advisor.probes._md import Array
from advisor.probes.block import Block, BlockDevice, Partition
from advisor.probes.mounts import Mount, Mounts, OtherMount
from tests.trees import write_tree

MOUNTS = Mounts(
    origin="/proc/self/mountinfo",
    mounts=(
        Mount(point="/", fstype="ext4", kind="local", source="/dev/nvme0n1p2", device="259:2"),
        Mount(point="/data", fstype="xfs", kind="local", source="/dev/mapper/vg-data", device="253:0"),
        Mount(point="/data/shared", fstype="nfs4", kind="network", device="0:50", options={"vers": "4.2"}),
        Mount(point="/dev/shm", fstype="tmpfs", kind="memory", device="0:22"),
        Mount(point="/layer", fstype="overlay", kind="overlay", device="0:60"),
        Mount(point="/pool", fstype="zfs", kind="local", source="pool/data", device="0:61"),
    ),
    others=(OtherMount(point="/proc", fstype="proc"),),
)
BLOCK = Block(
    origin="/sys/block",
    devices=(
        BlockDevice(
            origin="/sys/block/nvme0n1",
            name="nvme0n1",
            kind="nvme",
            number="259:0",
            physical=True,
            rotational=False,
            read_ahead_bytes=131072,
            partitions=(Partition(name="nvme0n1p1", number="259:1"), Partition(name="nvme0n1p2", number="259:2")),
            slaves=(),
            pci_address="0000:3b:00.0",
            numa_node=1,
        ),
        BlockDevice(
            origin="/sys/block/dm-0",
            name="dm-0",
            kind="dm",
            number="253:0",
            dm_name="vg-data",
            physical=False,
            read_ahead_bytes=4096,
            slaves=("md0",),
        ),
        BlockDevice(name="md0", kind="md", number="9:0", physical=False, slaves=("sda1", "sdb1")),
        *(
            BlockDevice(
                origin=f"/sys/block/{name}",
                name=name,
                kind="scsi",
                physical=True,
                rotational=rotational,
                partitions=(Partition(name=f"{name}1"),),
                slaves=(),
                pci_address="0000:00:1f.2",
                numa_node=0,
            )
            for name, rotational in (("sda", True), ("sdb", False))
        ),
    ),
)


def place(path: str, given: Block | None = BLOCK, table: Mounts = MOUNTS) -> Place:
    found = derive(Job(origin="--data", data_path=path), table, given).data
    assert found is not None
    return found


def test_a_partition_lies_on_its_drive() -> None:
    found = place("/home/me/set")
    assert (found.point, found.fstype, found.kind) == ("/", "ext4", "local")
    assert (found.devices, found.top, found.drives) == (("nvme0n1p2", "nvme0n1"), "nvme0n1", ("nvme0n1",))
    assert (found.read_ahead_bytes, found.rotational) == (131072, False)
    assert (found.pci_addresses, found.numa_nodes) == (("0000:3b:00.0",), (1,))
    assert evidence_path(found, "read_ahead_bytes") == "/sys/block/nvme0n1/queue/read_ahead_kb"


def test_a_stack_is_followed_down_to_its_drives() -> None:
    found = place("/data/set")
    assert found.devices == ("dm-0", "md0", "sda1", "sdb1", "sda", "sdb")
    assert (found.top, found.drives, found.read_ahead_bytes) == ("dm-0", ("sda", "sdb"), 4096)
    assert (found.rotational, found.pci_addresses, found.numa_nodes) == (True, ("0000:00:1f.2",), (0,))


def test_a_drive_whose_node_is_not_told_leaves_the_nodes_unknown() -> None:
    devices = tuple(d.model_copy(update={"numa_node": None} if d.name == "sdb" else {}) for d in BLOCK.devices or ())
    found = place("/data/set", BLOCK.model_copy(update={"devices": devices}))
    assert (found.drives, found.numa_nodes) == (("sda", "sdb"), None)


@pytest.mark.parametrize(
    ("path", "kind", "devices"),
    [
        ("/data/shared/set", "network", ()),
        ("/dev/shm/x", "memory", ()),
        ("/layer/x", "overlay", None),
        ("/pool/x", "local", None),
        ("/proc/self", "other", None),
    ],
    ids=["network", "memory", "overlay", "zfs", "kernel interface"],
)
def test_what_lies_on_no_block_device_or_on_an_unknown_one(
    path: str, kind: str, devices: tuple[str, ...] | None
) -> None:
    found = place(path)
    assert (found.kind, found.devices) == (kind, devices)


@pytest.mark.parametrize(
    ("path", "point"),
    [("/data", "/data"), ("/data/", "/data"), ("/database", "/"), ("/data/shared", "/data/shared"), ("/", "/")],
)
def test_the_longest_mount_point_counts(path: str, point: str) -> None:
    found = mount_of(path, MOUNTS.mounts or ())
    assert found is not None
    assert found.point == point


@pytest.mark.parametrize(
    ("path", "point"),
    [
        ("/srv/node17/x", "/srv/HOSTNAME"),
        ("/srv/node17/here/x", "/srv/HOSTNAME/here"),
        ("/srv", "/"),
        ("/media/3f2a/x", None),
        ("/media", "/"),
    ],
)
def test_mount_points_out_of_a_file_may_have_lost_a_name(path: str, point: str | None) -> None:
    points = ("/", "/srv/HOSTNAME", "/srv/HOSTNAME/here", "/media/UUID01", "/media/UUID02")
    found = mount_of(path, [Mount(point=one, fstype="ext4", kind="local") for one in points])
    assert (found.point if found else None) == point


def test_without_block_devices_the_mount_is_still_told() -> None:
    found = place("/home", given=None)
    assert (found.fstype, found.devices, found.drives) == ("ext4", None, None)


def test_a_path_that_was_not_told_lies_nowhere() -> None:
    storage = derive(Job(), MOUNTS, BLOCK)
    assert (storage.data, storage.output) == (None, None)


def test_without_a_mount_table_nothing_is_told() -> None:
    assert derive(Job(output_path="/x"), Mounts(origin="/proc/self/mountinfo"), BLOCK).output is None


def test_devices_made_of_each_other_end() -> None:
    devices = {name: BlockDevice(name=name, kind="dm", slaves=(other,)) for name, other in (("a", "b"), ("b", "a"))}
    assert below("a", devices, {"a": "a", "b": "b"}) == ("a", "b")


def test_probes_and_derivation_meet(tmp_path: Path) -> None:
    host = write_tree(
        tmp_path,
        {
            "/proc/self/mountinfo": "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
            "/sys/block/sda/dev": "8:0\n",
            "/sys/block/sda/sda1/dev": "8:1\n",
            "/sys/block/sda/slaves/": "",
            "/sys/block/sda/queue/read_ahead_kb": "128\n",
        },
    )
    found = derive(Job(output_path="/out"), mounts.read(host), block.read(host)).output
    assert found is not None
    assert (found.devices, found.read_ahead_bytes) == (("sda1", "sda"), 131072)


def test_each_layer_says_what_it_is() -> None:
    with_level = BLOCK.model_copy(update={"md": (Array(name="md0", level="raid0"),)})
    assert place("/data", with_level).layers == ("dm", "md raid0", "partition", "partition", "scsi", "scsi")
    assert place("/home").layers == ("partition", "nvme")
    assert place("/data/shared").layers == ()


def test_read_ahead_of_a_network_file_system_is_its_own() -> None:
    bdi = "/sys/class/bdi/0:50/read_ahead_kb"
    mount = Mount(point="/n", fstype="nfs4", kind="network", read_ahead_bytes=131072, origins={"read_ahead_bytes": bdi})
    found = place("/n/x", table=MOUNTS.model_copy(update={"mounts": (mount,)}))
    assert (found.read_ahead_bytes, evidence_path(found, "read_ahead_bytes")) == (131072, bdi)


def test_parts_of_volumes_are_told_by_their_names() -> None:
    names = (("dm-1", "vg-pool-tpool"), ("dm-2", "vg-home-real"), ("dm-3", "vg-home-cow"), ("dm-4", "vg-tpool"))
    parts = tuple(BlockDevice(name=name, kind="dm", dm_name=dm, dm_kind="LVM", slaves=()) for name, dm in names)
    top = BlockDevice(
        name="dm-0", kind="dm", number="253:0", dm_name="x", dm_kind="CRYPT", slaves=tuple(name for name, _ in names)
    )
    found = place("/data", Block(devices=(top, *parts)))
    kinds = ("dm LVM thin pool", "dm LVM snapshot origin", "dm LVM snapshot", "dm LVM")
    assert found.layers == ("dm CRYPT", *kinds)


def test_a_file_system_on_a_ram_disk_is_memory() -> None:
    mount = Mount(point="/r", fstype="ext4", kind="local", source="/dev/zram1", device="252:1")
    assert place("/r/x", table=MOUNTS.model_copy(update={"mounts": (mount,)})).kind == "memory"


def test_what_keeps_copies_itself_is_not_judged_by_its_device() -> None:
    kept = [place("/home", table=_root(fstype)).redundant for fstype in ("ext4", "btrfs")]
    assert kept == [False, None]


def _root(fstype: str) -> Mounts:
    mount = Mount(point="/", fstype=fstype, kind="local", source="/dev/nvme0n1p2", device="259:2")
    return MOUNTS.model_copy(update={"mounts": (mount,)})
