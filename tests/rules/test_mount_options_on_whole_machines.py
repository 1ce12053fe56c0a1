"""What is suggested for /etc/fstab where a line has several options of one kind: all of them go, so that it helps."""

from pathlib import Path

import pytest

from advisor.commands._rules import evaluated
from advisor.commands._snapshot import probe_host
from advisor.model.job import Job
from tests.plans import suggested
from tests.trees import write_capture

ROOT = "36 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw\n"
NFS = "42 36 0:50 / /data {rw},relatime - nfs4 filer:/data {rw},vers=4.2,hard,proto=tcp,{options}\n"
JOB = Job(data_path="/data/images", output_path="/data/run1")


def new_lines(folder: Path, fstab: str, mounts: str = ROOT, kernel: str = "6.18.0") -> list[str]:
    """The lines of fstab as they are to be."""
    files = {"/etc/fstab": fstab, "/proc/self/mountinfo": mounts, "/proc/sys/kernel/osrelease": f"{kernel}\n"}
    snapshot, _ = probe_host(write_capture(folder, files), JOB)
    wishes = [setting for finding in evaluated(snapshot).failing() for setting in finding.settings]
    diff = suggested(*(one for one in wishes if one.target == "mount"), host=snapshot).get("fstab.diff", "")
    return [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


@pytest.mark.parametrize(
    ("kernel", "old", "new"),
    [
        ("6.18.0", "defaults,nobarrier,attr2", "defaults"),
        ("6.8.0", "noatime,nobarrier,attr2", "noatime"),
        ("6.8.0", "noatime,attr2,noikeep", "noatime"),
        ("6.1.0", "irixsgid", "defaults"),
        ("6.1.0", "osyncisosync,noatime", "noatime"),
        ("4.18.0", "delaylog,nobarrier", "nobarrier"),
    ],
)
def test_a_line_of_xfs_loses_every_option_that_the_kernel_refuses(
    tmp_path: Path, kernel: str, old: str, new: str
) -> None:
    assert new_lines(tmp_path, f"/dev/sdb1 /a xfs {old} 0 0\n", kernel=kernel) == [f"/dev/sdb1 /a xfs {new} 0 0"]


@pytest.mark.parametrize(
    ("seen", "old", "new"),
    [
        ("acregmax=5,acdirmax=5,lookupcache=none", "ro,acregmax=5,acdirmax=5,lookupcache=none", "ro"),
        ("noac,acregmin=1,acregmax=1,acdirmin=1,acdirmax=1", "ro,noac,actimeo=1", "ro"),
        ("acregmin=1,acregmax=1,acdirmin=1,acdirmax=600", "ro,actimeo=1,acdirmax=600", "ro,acdirmax=600"),
    ],
)
def test_attributes_of_nfs_are_kept_as_long_as_by_default_again(tmp_path: Path, seen: str, old: str, new: str) -> None:
    mounts = ROOT + NFS.format(rw="ro", options=seen)
    assert new_lines(tmp_path, f"filer:/data /data nfs4 {old} 0 0\n", mounts) == [f"SERVER /data nfs4 {new} 0 0"]


@pytest.mark.parametrize(
    ("mounts", "old", "new"),
    [
        (
            ROOT + "41 36 8:17 / /data rw,relatime,sync,dirsync - ext4 /dev/sdb1 rw\n",
            "/dev/sdb1 /data ext4 sync,dirsync 0 0",
            "/dev/sdb1 /data ext4 defaults 0 0",
        ),
        (
            ROOT + "41 36 8:17 / /data rw,relatime - ext4 /dev/sdb1 rw,nobarrier\n",
            "/dev/sdb1 /data ext4 barrier=0 0 0",
            "/dev/sdb1 /data ext4 defaults 0 0",
        ),
        (
            ROOT + NFS.format(rw="rw", options="sync,noac"),
            "filer:/data /data nfs4 noac,hard 0 0",
            "SERVER /data nfs4 hard 0 0",
        ),
        (
            ROOT + NFS.format(rw="rw", options="x").replace("hard", "softerr"),
            "filer:/data /data nfs4 soft,softerr 0 0",
            "SERVER /data nfs4 defaults 0 0",
        ),
    ],
    ids=["sync and dirsync", "barrier=0, printed as nobarrier", "noac, printed as sync too", "soft twice"],
)
def test_what_goes_is_what_the_line_says_not_what_the_kernel_prints(
    tmp_path: Path, mounts: str, old: str, new: str
) -> None:
    assert new_lines(tmp_path, f"{old}\n", mounts) == [new]
