"""Block devices: queues, what they are, what they are made of, md arrays."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.block import Block, BlockDevice, is_physical, kind_of, parse_dm_kind, parse_scheduler, read
from tests.trees import write_capture, write_link, write_tree

BLOCK = "/sys/block"
CARD = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
SCSI = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"


def by_name(block: Block) -> dict[str, BlockDevice]:
    assert block.devices is not None
    return {device.name: device for device in block.devices}


def linked(tmp_path: Path, *folders: str) -> None:
    for folder in folders:
        write_link(tmp_path, f"{BLOCK}/{folder.rpartition('/')[2]}", f"../{folder.removeprefix('/sys/')}")


def test_an_nvme_drive_is_read(tmp_path: Path) -> None:
    drive = f"{CARD}/nvme/nvme0/nvme0n1"
    files = {
        "dev": "259:0",
        "size": "2000",
        "ro": "0",
        "removable": "0",
        "queue/rotational": "0",
        "queue/scheduler": "[none] mq-deadline kyber",
        "queue/read_ahead_kb": "128",
        "queue/nr_requests": "1023",
        "queue/write_cache": "write through",
        "nvme0n1p1/dev": "259:1",
        "nvme0n1p1/partition": "1",
        "nvme0n1p1/size": "8",
        "holders/": "",
        "slaves/": "",
    }
    tree = {f"{drive}/{name}": text and text + "\n" for name, text in files.items()}
    tree |= {f"{CARD}/nvme/nvme0/model": "Some Drive 3T   \n", f"{CARD}/nvme/nvme0/transport": "pcie\n"}
    host = write_tree(tmp_path, {**tree, f"{CARD}/numa_node": "1\n", "/sys/bus/pci/drivers/nvme/": ""})
    linked(tmp_path, drive)
    write_link(tmp_path, f"{drive}/device", "../../nvme0")
    write_link(tmp_path, f"{CARD}/nvme/nvme0/device", "../../../0000:3b:00.0")
    write_link(tmp_path, f"{CARD}/driver", "../../../../bus/pci/drivers/nvme")
    device = by_name(read(host))["nvme0n1"]
    assert (device.kind, device.number, device.size_bytes, device.physical) == ("nvme", "259:0", 1024000, True)
    assert (device.model, device.transport, device.driver) == ("Some Drive 3T", "pcie", "nvme")
    assert (device.scheduler, device.schedulers) == ("none", ("none", "mq-deadline", "kyber"))
    assert (device.read_ahead_bytes, device.nr_requests, device.write_cache) == (131072, 1023, "write through")
    assert (device.rotational, device.pci_address, device.numa_node) == (False, "0000:3b:00.0", 1)
    assert device.partitions is not None
    assert [(part.name, part.number, part.size_bytes) for part in device.partitions] == [("nvme0n1p1", "259:1", 4096)]
    assert (device.slaves, device.holders) == ((), ())
    assert evidence_path(device, "scheduler") == f"{BLOCK}/nvme0n1/queue/scheduler"


def test_hidden_nvme_paths_stand_under_their_head(tmp_path: Path) -> None:
    head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1"
    paths = [f"{CARD}/nvme/nvme{number}/nvme0c{number}n1" for number in (0, 1)]
    host = write_tree(
        tmp_path, {f"{head}/size": "8\n", f"{CARD}/numa_node": "1", **{f"{p}/hidden": "1" for p in paths}}
    )
    linked(tmp_path, head, *paths)
    found = by_name(read(host))
    assert list(found) == ["nvme0n1"]
    assert found["nvme0n1"].multipath == ("nvme0c0n1", "nvme0c1n1")
    assert (found["nvme0n1"].pci_address, found["nvme0n1"].physical) == ("0000:3b:00.0", True)


def test_a_scsi_disk_tells_its_transport_and_cache(tmp_path: Path) -> None:
    disk = f"{SCSI}/block/sda"
    host = write_tree(
        tmp_path,
        {
            f"{disk}/size": "8\n",
            f"{SCSI}/scsi_disk/0:0:0:0/cache_type": "write back\n",
            f"{disk}/queue/rotational": "1",
        },
    )
    linked(tmp_path, disk)
    write_link(tmp_path, f"{disk}/device", "../../../0:0:0:0")
    device = by_name(read(host))["sda"]
    assert (device.kind, device.transport, device.disk_cache, device.physical) == ("scsi", "sata", "write back", True)
    assert device.pci_address == "0000:00:1f.2"


def test_what_holds_no_data_is_left_out(tmp_path: Path) -> None:
    names = ("loop0", "ram3", "zram0", "sr0", "fd0", "vda", "cciss!c0d0")
    host = write_tree(tmp_path, {f"{BLOCK}/{name}/size": "8" for name in names})
    assert sorted(by_name(read(host))) == ["cciss/c0d0", "vda"]


def test_stacks_name_what_they_are_made_of(tmp_path: Path) -> None:
    md = f"{BLOCK}/md0"
    tree = {
        f"{BLOCK}/dm-0/dm/name": "vg-data\n",
        f"{BLOCK}/dm-0/dm/uuid": "LVM-Rkq7Yc\n",
        f"{BLOCK}/dm-0/slaves/md0/": "",
        f"{md}/slaves/sda1/": "",
        f"{md}/slaves/sdb1/": "",
        f"{md}/md/level": "raid1\n",
        f"{md}/md/raid_disks": "2\n",
        f"{md}/md/degraded": "1\n",
        f"{md}/md/array_state": "clean\n",
        f"{md}/md/sync_action": "idle\n",
        f"{md}/md/chunk_size": "0\n",
    }
    block = read(write_tree(tmp_path, tree))
    dm = by_name(block)["dm-0"]
    assert (dm.dm_name, dm.dm_kind, dm.slaves, dm.physical) == ("vg-data", "LVM", ("md0",), False)
    assert block.md is not None
    (array,) = block.md
    assert (array.name, array.level, array.raid_disks, array.degraded) == ("md0", "raid1", 2, 1)
    assert (array.array_state, array.sync_action, array.members) == ("clean", "idle", ("sda1", "sdb1"))
    assert evidence_path(array, "degraded") == f"{md}/md/degraded"


def test_raid0_has_no_file_for_missing_members(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{BLOCK}/md0/md/level": "raid0\n"})
    block = read(host)
    assert block.md is not None
    assert block.md[0].degraded is None
    assert host.gaps[f"{BLOCK}/md0/md/degraded"] == "absent"


def test_a_dump_with_the_class_only_gives_the_whole_devices(tmp_path: Path) -> None:
    disk = f"{SCSI}/block/sda"
    host = write_tree(tmp_path, {f"{disk}/dev": "8:0", f"{disk}/sda1/dev": "8:1"})
    write_link(tmp_path, "/sys/class/block/sda", f"../../{disk.removeprefix('/sys/')}")
    write_link(tmp_path, "/sys/class/block/sda1", f"../../{disk.removeprefix('/sys/')}/sda1")
    device = by_name(read(host))["sda"]
    assert [part.number for part in device.partitions or ()] == ["8:1"]
    assert evidence_path(device, "number") == "/sys/class/block/sda/dev"


def test_no_folder_is_no_device_only_where_absence_is_known(tmp_path: Path) -> None:
    known = read(write_capture(tmp_path / "capture", {}))
    assert (known.devices, known.md) == ((), ())
    unknown = read(write_tree(tmp_path / "tree", {}))
    assert (unknown.devices, unknown.md) == (None, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[none] mq-deadline", ("none", ("none", "mq-deadline"))),
        ("mq-deadline [bfq]", ("bfq", ("mq-deadline", "bfq"))),
        ("none", ("none", ("none",))),
        ("noop deadline", (None, ("noop", "deadline"))),
        ("", (None, None)),
    ],
)
def test_schedulers(text: str, found: tuple[str | None, tuple[str, ...] | None]) -> None:
    assert parse_scheduler(text) == found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvme0n1", "nvme"),
        ("sdaa", "scsi"),
        ("cciss!c0d0", "scsi"),
        ("vdb", "virtio"),
        ("md127", "md"),
        ("md_d0", "md"),
        ("dm-3", "dm"),
        ("xvda", "xen"),
        ("mmcblk0", "mmc"),
        ("nbd0", "nbd"),
        ("rbd1", "rbd"),
        ("pmem0", "pmem"),
        ("drbd0", "other"),
    ],
)
def test_kinds_follow_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("kind", "transport", "real", "physical"),
    [
        ("nvme", "pcie", CARD, True),
        ("nvme", "tcp", "/sys/devices/virtual/nvme", False),
        ("scsi", "iscsi", "/sys/devices/platform/host1/session1", False),
        ("scsi", None, "/sys/devices/pci0000:00/0000:00:04.0/virtio1/host0", False),
        ("scsi", None, "/sys/devices/pci0000:00/0000:00:03.0/host0/target0:2:0", None),
        ("virtio", None, CARD, False),
        ("dm", None, "/sys/devices/virtual/block/dm-0", False),
        ("other", None, CARD, None),
    ],
)
def test_drives_of_this_machine(kind: str, transport: str | None, real: str, physical: bool | None) -> None:
    assert is_physical(kind, transport, real) is physical


@pytest.mark.parametrize(
    ("uuid", "kind"), [("LVM-abc", "LVM"), ("CRYPT-LUKS2-0a", "CRYPT"), ("mpath-36", "mpath"), ("", None)]
)
def test_makers_of_device_mapper_devices(uuid: str, kind: str | None) -> None:
    assert parse_dm_kind(uuid) == kind


def test_queue_attributes_and_counters_are_read(tmp_path: Path) -> None:
    files = {
        "queue/nomerges": "2",
        "queue/rq_affinity": "1",
        "queue/fua": "1",
        "queue/wbt_lat_usec": "75000",
        "queue/io_poll": "0",
        "queue/iostats": "1",
        "queue/logical_block_size": "512",
        "queue/physical_block_size": "4096",
        "queue/minimum_io_size": "524288",
        "queue/optimal_io_size": "1048576",
        "queue/discard_granularity": "512",
        "queue/discard_max_bytes": "0",
        "inflight": "       1        2",
        "stat": "    1    2    3    4    5    6    7    8    9   10   11",
        "device/state": "running",
        "device/rev": "SC60",
        "device/vendor": "SEAGATE ",
    }
    device = by_name(read(write_tree(tmp_path, {f"{BLOCK}/sda/{n}": f"{text}\n" for n, text in files.items()})))["sda"]
    assert (device.no_merges, device.rq_affinity, device.force_unit_access, device.io_poll) == (2, 1, True, 0)
    assert (device.write_throttle_microseconds, device.io_statistics) == (75000, True)
    assert (device.logical_block_bytes, device.physical_block_bytes) == (512, 4096)
    assert (device.minimum_io_bytes, device.optimal_io_bytes) == (524288, 1048576)
    assert (device.discard_granularity_bytes, device.discard_max_bytes) == (512, 0)
    assert (device.in_flight, device.statistics) == ((1, 2), tuple(range(1, 12)))
    assert (device.state, device.firmware, device.vendor) == ("running", "SC60", "SEAGATE")


def test_the_number_of_virtios_vendor_is_no_maker_of_a_disk(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{BLOCK}/vda/size": "8\n", f"{BLOCK}/vda/device/vendor": "0x1af4\n"})
    assert by_name(read(host))["vda"].vendor is None


def test_a_device_without_writeback_throttling_does_not_answer(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{BLOCK}/vda/size": "8\n"})
    path = f"{BLOCK}/vda/queue/wbt_lat_usec"
    with open(tmp_path / "errors.tsv", "a") as errors:
        errors.write(f"{path}\tEINVAL\tdata\n")
    host = open_root(str(tmp_path))
    assert by_name(read(host))["vda"].write_throttle_microseconds is None
    assert host.gaps[path] == "unsupported"


def test_counters_stay_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {f"{BLOCK}/sda/stat": "1 2 3\n", f"{BLOCK}/sda/inflight": "4 5\n"}))
    text = committed_json(Snapshot(Source(kind="tree"), {"block": facts}, {}))
    assert "statistics" not in text
    assert "in_flight" not in text
