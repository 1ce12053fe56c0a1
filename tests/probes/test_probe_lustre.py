"""The Lustre client's parameters, whose paths nobody has checked."""

from pathlib import Path

import pytest

from advisor.probes.lustre import parse_name, read
from tests.trees import write_capture, write_tree

LLITE = "/sys/fs/lustre/llite"
MOUNTED = {"/proc/self/mountinfo": "60 20 0:50 / /scratch rw - lustre 192.0.2.7@o2ib:/scratch rw,flock\n"}


def test_read_ahead_is_told_where_it_is_found(tmp_path: Path) -> None:
    folder = f"{LLITE}/scratch-ffff9d2c4f6b8000"
    files = {f"{folder}/max_read_ahead_mb": "64\n", f"{folder}/max_read_ahead_per_file_mb": "32\n"}
    lustre = read(write_capture(tmp_path, {**MOUNTED, **files, "/sys/fs/lustre/version": "2.15.3\n"}))
    assert (lustre.mounted, lustre.version) == (1, "2.15.3")
    (client,) = lustre.clients or ()
    assert (client.name, client.max_read_ahead_bytes) == ("scratch", 64 << 20)
    assert client.max_read_ahead_per_file_bytes == 32 << 20


def test_a_path_that_is_not_there_is_not_known(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {**MOUNTED, f"{LLITE}/scratch-ffff9d2c4f6b8000/max_read_ahead_mb": "64.5\n"})
    (client,) = read(host).clients or ()
    assert (client.max_read_ahead_bytes, client.max_read_ahead_per_file_bytes) == (None, None)
    assert {state for path, state in host.gaps.items() if "lustre" in path} == {"unsupported"}
    bare = write_capture(tmp_path / "bare", MOUNTED)
    assert read(bare).clients is None
    assert bare.gaps[LLITE] == "unsupported"


def test_where_nothing_of_it_is_mounted_there_are_no_clients(tmp_path: Path) -> None:
    host = write_capture(tmp_path / "a", {"/proc/self/mountinfo": ""})
    assert (read(host).mounted, read(host).clients) == (0, ())
    assert not [path for path in host.gaps if "lustre" in path]
    assert read(write_tree(tmp_path / "b", {})).clients is None


@pytest.mark.parametrize(
    ("folder", "name"), [("scratch-ffff9d2c4f6b8000", "scratch"), ("my-fs-ffff9d2c", "my-fs"), ("plain", "plain")]
)
def test_the_kernels_address_is_no_part_of_the_name(folder: str, name: str) -> None:
    assert parse_name(folder) == name
