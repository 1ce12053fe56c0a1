"""A change is made as a whole or not at all, and undone to the byte, wherever the process dies."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import ApplyError
from advisor.planning.transaction import HOME, JOURNAL, is_cut_off, recover
from tests.outs import LIMITS, MODPROBE, SYSCTL, sysctl_text
from tests.planning.sites import TEXTS, UNIT, install, killed_at, looks, machine, site, undo


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: every step is brought to the disk, which takes its time on a real one."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


def copied(root: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(root, to, symlinks=True)
    return to


def test_what_is_installed_can_be_undone_to_the_byte(tmp_path: Path) -> None:
    before = looks(machine(tmp_path))
    install(site(tmp_path))
    for path, text in TEXTS.items():
        place = tmp_path / path.lstrip("/")
        assert (place.read_text(), place.stat().st_mode & 0o7777) == (text, 0o644)
    assert (tmp_path / JOURNAL.lstrip("/")).stat().st_mode & 0o7777 == 0o600
    undo(site(tmp_path))
    assert looks(tmp_path) == before


def test_only_our_files_and_the_journal_are_new(tmp_path: Path) -> None:
    before = set(looks(machine(tmp_path)))
    install(site(tmp_path))
    new = {f"/{path}" for path in set(looks(tmp_path)) - before if (tmp_path / path).is_file()}
    assert new == {MODPROBE, LIMITS, UNIT, JOURNAL}


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    machine(tmp_path)
    install(site(tmp_path))
    once = looks(tmp_path)
    assert install(site(tmp_path)).is_empty
    assert looks(tmp_path) == once


def test_killed_anywhere_while_installing_it_can_be_undone(tmp_path: Path) -> None:
    original = machine(tmp_path / "original")
    before, number = looks(original), 0
    while True:
        root = copied(original, tmp_path / "root")
        if not killed_at(number, lambda step, root=root: install(site(root, step))):
            break
        undo(site(root))
        assert looks(root) == before, f"killed at step {number}"
        number += 1
    assert number > 25


def test_killed_anywhere_while_installing_it_can_be_done_again(tmp_path: Path) -> None:
    original = machine(tmp_path / "original")
    done = copied(original, tmp_path / "done")
    install(site(done))
    before, number = looks(original), 0
    while True:
        root = copied(original, tmp_path / "root")
        if not killed_at(number, lambda step, root=root: install(site(root, step))):
            break
        install(site(root))
        assert set(looks(root)) == set(looks(done)), f"killed at step {number}"
        undo(site(root))
        assert looks(root) == before, f"killed at step {number}"
        number += 1


def test_killed_anywhere_while_undoing_it_can_be_undone(tmp_path: Path) -> None:
    original = machine(tmp_path / "original")
    before, number = looks(original), 0
    install(site(copied(original, tmp_path / "installed")))
    while True:
        root = copied(tmp_path / "installed", tmp_path / "root")
        if not killed_at(number, lambda step, root=root: undo(site(root, step))):
            break
        undo(site(root))
        assert looks(root) == before, f"killed at step {number}"
        number += 1
    assert number > 25


def test_killed_while_putting_in_order_what_was_killed(tmp_path: Path) -> None:
    original = machine(tmp_path / "original")
    before, number = looks(original), 0
    while True:
        half = copied(original, tmp_path / "half")
        if not killed_at(number, lambda step, half=half: install(site(half, step))):
            break
        again = 0
        while True:
            root = copied(half, tmp_path / "root")
            if not killed_at(again, lambda step, root=root: recover(site(root, step))):
                break
            undo(site(root))
            assert looks(root) == before, f"killed at steps {number} and {again}"
            again += 1
        number += 3


class Raises:
    """A listener to steps that raises an error at one of them, once."""

    def __init__(self, number: int, error: BaseException) -> None:
        self.left, self.error = number, error

    def __call__(self, _: str) -> None:
        self.left -= 1
        if self.left == -1:
            raise self.error


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), OSError(errno.EIO, "Input/output error")], ids=["Ctrl-C", "I/O"]
)
def test_whatever_ends_it_while_it_works_it_is_turned_back(tmp_path: Path, error: BaseException) -> None:
    original = machine(tmp_path / "original")
    before, number, done = looks(original), 0, False
    while not done:
        root, step = copied(original, tmp_path / "root"), Raises(number, error)
        try:
            install(site(root, step))
            done = step.left >= 0
        except (KeyboardInterrupt, ApplyError):
            assert looks(root) == before or (root / JOURNAL.lstrip("/")).exists(), f"at step {number}"
        undo(site(root))
        assert looks(root) == before, f"at step {number}"
        number += 1


def test_two_changes_are_undone_to_what_was_before_the_first(tmp_path: Path) -> None:
    before = looks(machine(tmp_path))
    install(site(tmp_path))
    install(site(tmp_path), {SYSCTL: sysctl_text(20)})
    assert not (tmp_path / UNIT.lstrip("/")).parent.exists()
    assert not (tmp_path / MODPROBE.lstrip("/")).exists()
    install(site(tmp_path), {MODPROBE: TEXTS[MODPROBE]})
    assert (tmp_path / SYSCTL.lstrip("/")).read_bytes() == b"vm.swappiness = 3\n\xff"
    undo(site(tmp_path))
    assert looks(tmp_path) == before


def test_killed_anywhere_in_a_second_change(tmp_path: Path) -> None:
    original = machine(tmp_path / "original")
    before, number = looks(original), 0
    install(site(copied(original, tmp_path / "first")))
    once = looks(tmp_path / "first")
    second = {SYSCTL: sysctl_text(20), MODPROBE: TEXTS[MODPROBE]}
    while True:
        root = copied(tmp_path / "first", tmp_path / "root")
        if not killed_at(number, lambda step, root=root: install(site(root, step), second)):
            break
        recover(site(root))
        changed = (root / SYSCTL.lstrip("/")).read_text() == second[SYSCTL]
        assert changed or looks(root) == once, f"killed at step {number}"
        undo(site(root))
        assert looks(root) == before, f"killed at step {number}"
        number += 1


def test_the_last_installed_file_taken_away_leaves_nothing(tmp_path: Path) -> None:
    before = looks(machine(tmp_path))
    install(site(tmp_path))
    install(site(tmp_path), {})
    assert looks(tmp_path) == before


@pytest.mark.parametrize("with_home", [False, True], ids=["made", "there before"])
def test_the_journal_s_folder_stays_if_it_was_there(tmp_path: Path, with_home: bool) -> None:
    home = tmp_path / HOME.lstrip("/")
    (home if with_home else home.parent).mkdir(parents=True)
    before = looks(machine(tmp_path))
    install(site(tmp_path))
    undo(site(tmp_path))
    assert looks(tmp_path) == before
    assert home.exists() is with_home


def test_a_run_that_was_cut_off_is_noticed(tmp_path: Path) -> None:
    machine(tmp_path)
    assert not is_cut_off(site(tmp_path))
    assert killed_at(12, lambda step: install(site(tmp_path, step)))
    assert is_cut_off(site(tmp_path))
    assert "was cut off" in recover(site(tmp_path))[0]
    assert not is_cut_off(site(tmp_path))
