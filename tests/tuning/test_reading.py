"""Which share of what was read came from a device, and when that cannot be told."""

import os
from pathlib import Path

import pytest

from advisor.tuning.accounts import reads_are_counted, reads_of
from advisor.tuning.reading import Read, between, filesystem_at, parse_io, reading_notes
from tests.tuning.trials import ALONE, WORKERS, trial

IO = """rchar: 323934931
wchar: 323929600
syscr: 632687
syscw: 632675
read_bytes: 8192
write_bytes: 323932160
cancelled_write_bytes: 0
"""
MOUNTS = """22 27 0:21 / /sys rw,nosuid shared:7 - sysfs sysfs rw
27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
60 27 0:52 / /data rw,relatime shared:30 - nfs4 server:/export rw,vers=4.2
61 60 259:3 / /data/local\\040copy rw - xfs /dev/nvme1n1 rw,attr2
62 27 0:53 / /scratch rw - tmpfs tmpfs rw
63 27 259:4 / /scratch rw - btrfs /dev/nvme2n1 rw
64 27 cut
"""
MIB = 1 << 20
FILE_BYTES = 64 * 1024


def test_the_figures_of_a_process() -> None:
    assert parse_io(IO) == Read(323934931, 8192)


@pytest.mark.parametrize("text", ["", "rchar: 1\n", IO.replace("read_bytes: 8192", "read_bytes: x")])
def test_a_file_without_them_tells_nothing(text: str) -> None:
    assert parse_io(text) is None


def test_what_the_same_processes_read_in_between_is_added_up() -> None:
    before, after = {7: Read(100, 10), 8: Read(200, 20)}, {7: Read(150, 10), 8: Read(260, 25)}
    assert between(before, after) == Read(110, 5)
    assert between(before, {**after, 9: Read(1, 1)}) is None
    assert between({7: before[7]}, {9: after[7]}) is None
    assert between(None, after) is None


@pytest.mark.parametrize(
    ("reads", "counted", "notes"),
    [
        pytest.param(
            [(Read(MIB, MIB), 10), (Read(MIB, 0), 10)],
            True,
            {"read_bytes_per_sample": 104857.6, "read_bytes_share": 0.5},
            id="half",
        ),
        pytest.param(
            [(Read(MIB, 0), 10)], True, {"read_bytes_per_sample": 104857.6, "read_bytes_share": 0.0}, id="all-cached"
        ),
        pytest.param([(Read(MIB, 0), 10)], False, {"read_bytes_per_sample": 104857.6}, id="over-a-network"),
        pytest.param([(Read(MIB, 0), 10_000)], True, {}, id="messages-of-the-loader"),
        pytest.param([(Read(100_000, 4096), 5)], True, {}, id="a-few-pages"),
        pytest.param([(None, 10)], True, {}, id="not-told"),
        pytest.param([(None, 10), (Read(MIB, MIB), 1)], False, {"read_bytes_per_sample": 1048576.0}, id="told-once"),
        pytest.param([], True, {}, id="no-window"),
    ],
)
def test_what_is_noted(reads: list[tuple[Read | None, int]], counted: bool, notes: dict[str, float]) -> None:
    assert reading_notes(reads, counted) == notes


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ada", "ext4"),
        ("/data", "nfs4"),
        ("/data/set", "nfs4"),
        ("/database", "ext4"),
        ("/data/local copy/set", "xfs"),
        ("/scratch/x", "btrfs"),
    ],
)
def test_a_path_lies_on_the_innermost_mount_and_the_last_one_there(path: str, kind: str) -> None:
    assert filesystem_at(path, MOUNTS) == kind
    assert filesystem_at(path, "") is None


def files_in(folder: Path, count: int) -> list[Path]:
    """Files of random bytes that are on the disk, and no longer in the page cache where that can be asked for."""
    made = [folder / str(number) for number in range(count)]
    for path in made:
        with path.open("wb") as file:
            file.write(os.urandom(FILE_BYTES))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return made


def test_files_that_left_the_page_cache_are_told_from_those_in_it(tmp_path: Path) -> None:
    """Where the kernel counts what a file system fetches; in memory, or over a network, it is told that it does not."""

    def share() -> float | None:
        before = reads_of([os.getpid()])
        for path in files:
            path.read_bytes()
        read = between(before, reads_of([os.getpid()]))
        return reading_notes([(read, len(files))], reads_are_counted(str(tmp_path))).get("read_bytes_share")

    files = files_in(tmp_path, 32)
    cold, warm = share(), share()
    if reads_are_counted(str(tmp_path)):
        assert cold is not None
        assert cold > 0.5
        assert warm is not None
        assert warm < 0.1
    else:
        assert (cold, warm) == (None, None)


def test_a_folder_with_links_to_elsewhere_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/link").symlink_to("/proc/self")
    assert not reads_are_counted(str(tmp_path / "here"))
    assert not reads_are_counted("/proc/self")
    assert not reads_are_counted(str(tmp_path / "nothing"))
    assert not reads_are_counted(None)


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_a_trial_notes_what_its_loading_processes_read(
    config: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files_in(tmp_path, 64)
    monkeypatch.setenv("FILES", str(tmp_path))
    measured = trial("ReadsFiles", config, data=str(tmp_path))  # type: ignore[arg-type]
    assert (measured.outcome, measured.message) == ("ok", "")
    told = measured.notes["read_bytes_per_sample"]
    assert isinstance(told, float)
    assert FILE_BYTES / 2 < told < FILE_BYTES * 2  # workers are ahead of the loop, by more or less at a window's edges
    assert ("read_bytes_share" in measured.notes) is reads_are_counted(str(tmp_path))
    assert "read_bytes_per_sample" not in trial("training", config).notes  # type: ignore[arg-type]
