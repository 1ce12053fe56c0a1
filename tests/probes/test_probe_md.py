"""md arrays from sysfs, /proc/mdstat and mdadm."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path, marks
from advisor.probes._md import Array, parse_completed, parse_export, parse_mdstat
from advisor.probes.block import read
from tests.trees import write_capture, write_tree

MD = "/sys/block/md6/md"
RAID6 = {
    "level": "raid6",
    "raid_disks": "4",
    "degraded": "1",
    "array_state": "active",
    "sync_action": "recover",
    "sync_completed": "1569888 / 2093056",
    "sync_speed": "102400",
    "mismatch_cnt": "8",
    "chunk_size": "524288",
    "component_size": "1046528",
    "metadata_version": "1.2",
    "consistency_policy": "bitmap",
    "bitmap/location": "+8",
    "stripe_cache_size": "256",
    "group_thread_cnt": "0",
    "safe_mode_delay": "0.201",
    "dev-sdq/state": "in_sync",
    "dev-sdq/slot": "0",
    "dev-sdt1/state": "faulty,write_error",
    "dev-sdt1/slot": "none",
}


def array(files: dict[str, str], folder: Path) -> Array:
    block = read(write_tree(folder, {f"{MD}/{name}": f"{text}\n" for name, text in files.items()}))
    assert block.md is not None
    return block.md[0]


def test_an_array_is_read_with_its_members(tmp_path: Path) -> None:
    found = array(RAID6, tmp_path)
    assert (found.level, found.raid_disks, found.degraded, found.mismatches) == ("raid6", 4, 1, 8)
    assert (found.sync_action, found.sync_completed) == ("recover", pytest.approx(0.750046))
    assert found.sync_bytes_per_second == 102400 * 1024
    assert (found.component_bytes, found.metadata_version) == (1046528 * 1024, "1.2")
    assert (found.consistency_policy, found.bitmap_location) == ("bitmap", "+8")
    assert (found.stripe_cache_entries, found.worker_threads, found.safe_mode_delay_seconds) == (256, 0, 0.201)
    assert found.member_states is not None
    assert [(m.name, m.state, m.slot) for m in found.member_states] == [
        ("sdq", "in_sync", 0),
        ("sdt1", "faulty,write_error", None),
    ]
    assert evidence_path(found, "sync_completed") == f"{MD}/sync_completed"
    assert evidence_path(found.member_states[1], "state") == f"{MD}/dev-sdt1/state"


def test_a_raid0_uses_all_of_each_member_so_the_kernels_zero_is_no_size(tmp_path: Path) -> None:
    assert array({"level": "raid0", "component_size": "0"}, tmp_path).component_bytes is None


@pytest.mark.parametrize(
    ("state", "condition"),
    [
        *(
            (state, "running")
            for state in ("clean", "active", "active-idle", "write-pending", "read-auto", "suspended")
        ),
        ("readonly", "running"),
        ("inactive", "stopped"),
        ("clear", "stopped"),
        ("broken", "broken"),
        ("dreaming", None),
    ],
)
def test_what_changes_by_itself_is_apart_from_whether_the_array_works(
    tmp_path: Path, state: str, condition: str | None
) -> None:
    found = array(RAID6 | {"array_state": state}, tmp_path)
    assert (found.array_state, found.condition) == (state, condition)
    assert evidence_path(found, "condition") == f"{MD}/array_state"
    told = marks(Array)
    assert [told[name].volatile for name in ("array_state", "sync_action", "condition")] == [True, True, False]


def test_an_array_that_is_reshaped_tells_its_coming_number_of_members(tmp_path: Path) -> None:
    assert array({"level": "raid5", "raid_disks": "11 (10)"}, tmp_path).raid_disks == 11


def test_nothing_being_synchronised_is_no_gap(tmp_path: Path) -> None:
    host = write_capture(
        tmp_path, {f"{MD}/level": "raid1\n", f"{MD}/sync_completed": "none\n", f"{MD}/sync_speed": "none\n"}
    )
    block = read(host)
    assert block.md is not None
    assert (block.md[0].sync_completed, block.md[0].sync_bytes_per_second) == (None, None)
    assert f"{MD}/sync_completed" not in host.gaps
    assert host.gaps[f"{MD}/stripe_cache_size"] == "absent"


@pytest.mark.parametrize(
    ("name", "text"), [("raid_disks", ""), ("sync_completed", "soon"), ("sync_speed", "fast"), ("dev-sda/slot", "x")]
)
def test_what_cannot_be_parsed_is_a_gap(name: str, text: str, tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{MD}/level": "raid1\n", f"{MD}/{name}": f"{text}\n"})
    read(host)
    assert host.gaps[f"{MD}/{name}"] == "unsupported"


@pytest.mark.parametrize(("text", "part"), [("none", None), ("delayed", None), ("5 / 0", None), ("1 / 4", 0.25)])
def test_the_part_that_is_done(text: str, part: float | None) -> None:
    assert parse_completed(text) == part


MDSTAT = """Personalities : [raid0] [raid1] [raid6]

md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]
      195310144 blocks super 1.2 [2/1] [U_]
      [=>...................]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec

md11 : active (auto-read-only) raid1 sdb2[0] sdc2[1]
      4190208 blocks super 1.2 [2/2] [UU]
      resync=PENDING

md219 : inactive sdb[2](S) sda[0](S)
        7932 blocks super external:imsm

md12 : active raid0 sdc2[0] sdd2[1]
      3886394368 blocks super 1.2 512k chunks

unused devices: <none>
"""


def test_mdstat_tells_states_and_members() -> None:
    found = {one.name: one for one in parse_mdstat(MDSTAT)}
    assert list(found) == ["md11", "md12", "md219", "md6"]
    six = found["md6"]
    assert (six.level, six.raid_disks, six.degraded, six.sync_action) == ("raid1", 2, 1, "recover")
    assert (six.sync_completed, six.members) == (0.085, ("sdb2", "sdc", "sda2"))
    assert six.member_states is not None
    assert [member.state for member in six.member_states] == ["faulty", "spare", None]
    assert (found["md11"].level, found["md11"].degraded, found["md11"].sync_action) == ("raid1", 0, "resync")
    assert (found["md219"].level, found["md219"].array_state) == (None, "inactive")
    assert [found[name].condition for name in ("md6", "md219")] == ["running", "stopped"]
    assert (found["md12"].level, found["md12"].chunk_bytes, found["md12"].degraded) == ("raid0", 524288, None)


def test_mdstat_is_read_where_sysfs_is_hidden(tmp_path: Path) -> None:
    block = read(write_tree(tmp_path, {"/proc/mdstat": MDSTAT}))
    assert block.devices is None
    assert block.md is not None
    assert [one.name for one in block.md] == ["md11", "md12", "md219", "md6"]
    assert evidence_path(block.md[0], "degraded") == "/proc/mdstat"


@pytest.mark.parametrize("text", ["", "md", "md0 :", "md0 : active", "md0 : active raid1 sda[x]\n [9/] [U_", "\0\x1b"])
def test_no_mdstat_is_too_short(text: str) -> None:
    assert all(one.degraded is None for one in parse_mdstat(text))


EXPORT = "MD_LEVEL=raid1\nMD_DEVICES=2\nMD_NAME=node:0\nMD_UUID=57219006:b1527c59:de32536d:bb88a27f\nno\n=1\n"


def test_mdadm_tells_root_label_and_uuid(tmp_path: Path) -> None:
    command = ("mdadm", "--detail", "--export", "/dev/md6")
    host = write_capture(tmp_path, {f"{MD}/level": "raid1\n"}, outputs={command: EXPORT})
    host.root_user = True
    block = read(host)
    assert block.md is not None
    assert (block.md[0].label, block.md[0].uuid) == ("node:0", "57219006:b1527c59:de32536d:bb88a27f")
    assert evidence_path(block.md[0], "uuid") == "command: mdadm --detail --export /dev/md6"
    assert parse_export("nothing") == {}


def test_mdadm_is_not_asked_without_root(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{MD}/level": "raid1\n"})
    block = read(host)
    assert block.md is not None
    assert host.gaps[evidence_path(block.md[0], "label")] == "denied"
