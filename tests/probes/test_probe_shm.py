"""/dev/shm: whether it is a tmpfs, and how large."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._mountinfo import parse_mountinfo, parse_mounts
from advisor.probes.shm import LIST, read
from tests.trees import write_capture, write_tree

MOUNTINFO = "/proc/self/mountinfo"
DOCKER = "40 30 0:50 / /dev/shm rw,nosuid,nodev - tmpfs shm rw,size=65536k,inode64\n"


def test_the_mount_and_the_system_tell(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {MOUNTINFO: DOCKER}, statvfs={"/dev/shm": [4096, 16384, 16000, 0, 0]})
    shm = read(host)
    assert (shm.is_tmpfs, shm.size_bytes, shm.available_bytes, shm.size_option) == (True, 64 << 20, 65536000, "65536k")


@pytest.mark.parametrize(
    ("option", "size"),
    [("size=65536k", 64 << 20), ("size=2g", 2 << 30), ("size=4096", 4096), ("size=50%", None), ("mode=1777", None)],
)
def test_a_plain_tree_tells_the_size_of_the_option(tmp_path: Path, option: str, size: int | None) -> None:
    shm = read(write_tree(tmp_path, {MOUNTINFO: DOCKER.replace("size=65536k", option)}))
    assert (shm.is_tmpfs, shm.size_bytes, shm.available_bytes) == (True, size, None)
    assert evidence_path(shm, "size_bytes") == MOUNTINFO


def test_without_a_mount_it_is_no_tmpfs(tmp_path: Path) -> None:
    root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
    host = write_capture(tmp_path, {MOUNTINFO: root}, statvfs={"/dev/shm": [4096, 1000, 10, 5, 5]})
    shm = read(host)
    assert (shm.is_tmpfs, shm.size_bytes) == (False, 4096000)


def test_the_topmost_of_two_mounts_counts(tmp_path: Path) -> None:
    shm = read(write_tree(tmp_path, {MOUNTINFO: DOCKER.replace("65536k", "1g") + DOCKER}))
    assert shm.size_option == "65536k"


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    shm = read(host)
    assert (shm.is_tmpfs, shm.size_bytes) == (None, None)
    assert host.gaps[MOUNTINFO] == "not captured"


def test_mountinfo_has_optional_fields_and_escapes() -> None:
    text = (
        "36 35 98:0 /a\\040b /mnt\\134x rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue\n"
        "37 35 98:0 / /short rw -\n"
        "cut\n"
    )
    (mount,) = parse_mountinfo(text)
    assert (mount.root, mount.point, mount.fstype, mount.source) == ("/a b", "/mnt\\x", "ext3", "/dev/root")
    assert (mount.options, mount.super_options) == (("rw", "noatime"), ("rw", "errors=continue"))


def test_the_short_table_of_mounts_is_read_too() -> None:
    (mount,) = parse_mounts("none /dev/cpuset cpuset rw,relatime 0 0\nbroken\n")
    assert (mount.root, mount.point, mount.fstype, mount.super_options) == (
        "/",
        "/dev/cpuset",
        "cpuset",
        ("rw", "relatime"),
    )


def test_mount_options_of_tmpfs_are_told(tmp_path: Path) -> None:
    options = "rw,size=65536k,huge=advise,mpol=interleave:0-1,noswap"
    shm = read(write_tree(tmp_path, {MOUNTINFO: f"30 20 0:30 / /dev/shm rw - tmpfs tmpfs {options}\n"}))
    assert (shm.size_option, shm.huge, shm.memory_policy, shm.swappable) == (
        "65536k",
        "advise",
        "interleave:0-1",
        False,
    )
    plain = read(write_tree(tmp_path / "b", {MOUNTINFO: "30 20 0:30 / /dev/shm rw - tmpfs tmpfs rw\n"}))
    assert (plain.huge, plain.memory_policy, plain.swappable) == (None, None, True)


LISTING = """total 98312
32768 -rw------- 1 0 0 33554432 Nov 29 17:00 nccl-Yx3kQ2
32768 -rw------- 1 0 0 33554432 Nov 29 17:00 nccl-aaaaaa
    4 -rw------- 1 1000 1000 32 Nov 29  2025 sem.mp-b c
    0 -rw-r--r-- 1 0 0 1048576 Nov 29 17:00 torch_41_7_0
    8 -rw-r--r-- 1 0 0 5000 Nov 29 17:00 \x1b[2J
    0 drwxr-xr-x 2 0 0 40 Nov 29 17:00 nccl-folder
much -rw-r--r-- 1 0 0 5000 Nov 29 17:00 psm_1
"""


def test_files_are_counted_by_the_beginning_of_their_names(tmp_path: Path) -> None:
    segments = read(write_capture(tmp_path, {}, outputs={LIST: LISTING})).segments or ()
    assert [(one.prefix, one.count, one.used_bytes) for one in segments] == [
        ("nccl-", 2, 64 << 20),
        ("torch_", 1, 0),
        ("sem.", 1, 4096),
        ("", 1, 8192),
    ]


def test_an_empty_folder_has_no_files_and_none_that_was_not_listed_is_not_known(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "empty", {}, outputs={LIST: "total 0\n"})).segments == ()
    host = write_tree(tmp_path / "tree", {})
    shm = read(host)
    assert (shm.segments, host.gaps[evidence_path(shm, "segments")]) == (None, "not captured")
