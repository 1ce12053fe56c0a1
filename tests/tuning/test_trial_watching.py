"""What a supervisor sees and removes: memory of processes, names in /dev/shm, the tree below it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.tuning.memory import TreeMemory, available_bytes, default_limit_bytes, least_left_bytes, oom_kills
from advisor.tuning.processes import descendants, is_cleaner
from advisor.tuning.shm import FOLDER, SharedMemory

MIB = 1 << 20


@pytest.fixture
def child() -> Iterator["subprocess.Popen[str]"]:
    """A process that holds 100 MiB and has a child that shares them with it."""
    code = (
        "import os, sys; held = bytearray(os.urandom(1)) * (100 << 20); pid = os.fork();"
        "print(pid, flush=True) if pid else None; sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.readline()
    yield process
    process.stdin.close()
    process.wait(30)
    process.stdout.close()


def test_pages_that_processes_share_count_once(child: "subprocess.Popen[str]") -> None:
    tree = {child.pid, *descendants(child.pid)}
    assert len(tree) == 2
    memory = TreeMemory(limit_bytes=10_000 * MIB)
    assert 100 * MIB < memory.sample(tree) < 180 * MIB
    assert memory.peak_bytes < 180 * MIB


def test_memory_of_processes_that_have_ended_is_nothing() -> None:
    assert TreeMemory(limit_bytes=MIB).sample({2**22 - 1}) == 0


def test_the_default_limit_leaves_room() -> None:
    available, limit = available_bytes(), default_limit_bytes()
    assert available is not None
    assert limit is not None
    assert 0 < limit < available
    assert 0 < least_left_bytes() <= 256 * MIB
    assert oom_kills() >= 0


def test_only_a_cleaner_is_taken_for_one(child: "subprocess.Popen[str]") -> None:
    assert not is_cleaner(child.pid)
    assert not is_cleaner(2**22 - 1)
    code = "from multiprocessing.resource_tracker import main; print(1, flush=True); input()"
    tracker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert tracker.stdout is not None
        tracker.stdout.readline()
        assert is_cleaner(tracker.pid)
    finally:
        tracker.communicate(b"\n", timeout=30)


def test_only_names_of_the_trials_dead_processes_are_removed() -> None:
    own, other, unrelated = "torch_4194301_1_0", "torch_4194302_1_0", "advisor-test-4194301"
    older = "torch_4194301_0_0"
    paths = [Path(FOLDER) / name for name in (own, other, unrelated, older)]
    try:
        paths[3].touch()
        shm = SharedMemory()
        for path in paths[:3]:
            path.touch()
        assert shm.remove_leftovers({4194301}) == (own,)
        assert [path.exists() for path in paths] == [False, True, True, True]
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def test_a_link_in_shared_memory_is_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    link = Path(FOLDER) / "torch_4194303_1_0"
    shm = SharedMemory()
    link.symlink_to(kept)
    try:
        assert shm.remove_leftovers({4194303}) == ()
        assert kept.exists()
    finally:
        link.unlink()


def test_names_at_random_are_known_by_who_has_mapped_them() -> None:
    path = Path(FOLDER) / f"psm_advisor_{os.getpid()}"
    shm = SharedMemory()
    path.write_bytes(bytes(4096))
    try:
        code = (
            "import mmap, sys; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0);print(1, flush=True); input()"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        assert path.name not in shm.remove_leftovers({process.pid})
        shm.note_mappings([process.pid])
        process.communicate(b"\n", timeout=30)
        assert shm.remove_leftovers({process.pid}) == (path.name,)
    finally:
        path.unlink(missing_ok=True)


def test_a_supervisor_that_never_got_an_order_takes_its_folder_along(tmp_path: Path) -> None:
    """Advisor was killed in between."""
    folder = tmp_path / "trial"
    folder.mkdir()
    code = "import sys; from advisor.tuning.supervisor import main; main(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.returncode, done.stdout) == (1, b"")
    assert not folder.exists()
