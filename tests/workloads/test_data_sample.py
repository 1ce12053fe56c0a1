"""The look at a data set follows its files as far as a cheap one can, and stays the same while nothing changes."""

import os
from pathlib import Path

import pytest

from advisor.workloads import _data
from advisor.workloads._data import data_sample


def test_a_file_is_known_by_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(b"1234")
    os.utime(path, ns=(0, 1_000))
    first = data_sample(str(path))
    assert data_sample(str(path)) == first
    os.utime(path, ns=(0, 2_000))
    later = data_sample(str(path))
    path.write_bytes(b"12345")
    os.utime(path, ns=(0, 1_000))
    assert len({first, later, data_sample(str(path))}) == 3


def test_a_folder_is_known_by_names_and_sizes_and_not_by_times(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.tar").write_bytes(b"1234")
    (tmp_path / "gone").symlink_to("nowhere")
    first = data_sample(str(tmp_path))
    os.utime(tmp_path / "a.tar", ns=(0, 1_000))
    (tmp_path / "below/deep").write_text("not looked at")
    assert data_sample(str(tmp_path)) == first
    (tmp_path / "a.tar").write_bytes(b"12345")
    larger = data_sample(str(tmp_path))
    (tmp_path / "b.tar").touch()
    assert len({first, larger, data_sample(str(tmp_path))}) == 3


def test_large_folders_are_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_data, "MOST_NAMES", 3)
    monkeypatch.setattr(_data, "MOST_SIZES", 1)
    for name in "abc":
        (tmp_path / name).touch()
    first = data_sample(str(tmp_path))
    (tmp_path / "b").write_text("of the sizes only the first is asked for")
    assert data_sample(str(tmp_path)) == first
    (tmp_path / "d").touch()
    more = data_sample(str(tmp_path))
    (tmp_path / "e").touch()
    assert data_sample(str(tmp_path)) == more != first


def test_names_that_are_no_text_and_missing_data_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    assert data_sample(str(tmp_path)) is not None
    assert data_sample(str(tmp_path / "none")) is None
