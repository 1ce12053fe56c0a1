"""A node on which nothing is wrong, with one thing wrong at a time in its storage, or a job whose files lie badly."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.model.job import Job
from tests.healthy_node import JOB, MOUNTS, calls, failing, healthy, mountstats, report, where
from tests.trees import write_link

DATA = "41 36 259:0 / /data rw,noatime - xfs /dev/nvme0n1 rw,inode64"
CKPT = "42 36 0:50 / /ckpt rw,relatime - nfs4 filer:/ckpt rw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp"
DRIVE = "/sys/block/nvme0n1"
ON_DATA = JOB.model_copy(update={"output_path": "/data/ckpt"})
ON_NFS = JOB.model_copy(update={"data_path": "/ckpt/set"})
BUCKET = DATA.replace("xfs /dev/nvme0n1", "fuse.gcsfuse bucket")


def mounted(old: str, new: str) -> dict[str, str]:
    assert old in MOUNTS
    return {"/proc/self/mountinfo": MOUNTS.replace(old, new)}


@pytest.mark.parametrize(
    ("rule", "changed", "job"),
    [
        ("access-times-written", mounted(DATA, DATA.replace("rw,noatime", "rw")), JOB),
        ("checkpoint-mount-synchronous", mounted(CKPT, CKPT.replace(" rw,", " rw,noac,")), JOB),
        ("read-ahead-small-for-large-files", {f"{DRIVE}/queue/read_ahead_kb": "128\n"}, JOB),
        ("nfs-reads-wait-in-client", {"/proc/self/mountstats": mountstats(waited_ms=30000)}, JOB),
        ("nfs-over-udp", mounted("proto=tcp", "proto=udp"), JOB),
        ("data-on-object-store", mounted(DATA, BUCKET), JOB),
        ("fstab-option-deprecated", {"/etc/fstab": "/dev/nvme0n1 /data xfs attr2 0 0\n"}, JOB),
        ("nfs-read-ahead-below-request", {"/sys/class/bdi/0:50/read_ahead_kb": "128\n"}, ON_NFS),
        ("checkpoint-exceeds-memory", {}, JOB.model_copy(update={"checkpoint_bytes": 2 << 40})),
    ],
)
def test_one_thing_wrong_is_one_finding(tmp_path: Path, rule: str, changed: Mapping[str, str], job: Job) -> None:
    assert failing(report(tmp_path, {**healthy(), **changed}, calls(), job)) == {f"storage/{rule}"}


def test_a_server_that_is_silent_between_the_readings(tmp_path: Path) -> None:
    later = {"/proc/self/mountstats": mountstats(waited_ms=10).replace("20000 20000 0", "20000 20000 1")}
    assert failing(report(tmp_path, healthy(), calls(), later=later)) == {"storage/nfs-server-silent"}


@pytest.mark.parametrize(
    ("rules", "changed", "job"),
    [
        ({"checkpoint-on-one-drive"}, {}, ON_DATA),
        ({"checkpoint-on-one-drive", "checkpoint-mount-discards"}, mounted("rw,inode64", "rw,discard"), ON_DATA),
        (
            {"checkpoint-on-one-drive", "checkpoint-space-below-two"},
            {},
            ON_DATA.model_copy(update={"checkpoint_bytes": 1030 * 10**9}),
        ),
        (
            {"checkpoint-on-one-drive", "checkpoint-on-instance-store"},
            {f"{DRIVE}/device/model": "Amazon EC2 NVMe Instance Storage\n"},
            ON_DATA,
        ),
        ({"checkpoint-on-object-store", "data-on-object-store"}, mounted(DATA, BUCKET), ON_DATA),
    ],
)
def test_checkpoints_on_the_drive_of_the_data(
    tmp_path: Path, rules: set[str], changed: Mapping[str, str], job: Job
) -> None:
    controller = f"{where('0000:1a:00.0')}/0000:1b:00.0/nvme/nvme0"
    drive = {f"{controller}/transport": "pcie\n", f"{controller}/nvme0n1/slaves/": ""}
    for part in ("fs", "sample/fs"):
        write_link(tmp_path / part, DRIVE, f"../..{controller}/nvme0n1")
        (tmp_path / part / f"{controller}/nvme0n1".lstrip("/")).mkdir(parents=True)
    found = failing(report(tmp_path, {**healthy(), **drive, **changed}, calls(), job))
    assert found == {f"storage/{rule}" for rule in rules}
