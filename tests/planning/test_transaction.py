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


@pytest.mark.parametrize("change", ["content", "mode", "link", "folder"])
def test_what_was_changed_by_hand_is_left_and_told(tmp_path: Path, change: str) -> None:
    machine(tmp_path)
    install(site(tmp_path))
    place = tmp_path / SYSCTL.lstrip("/")
    if change == "content":
        place.write_text("vm.swappiness = 99\n")
    elif change == "mode":
        place.chmod(0o600)
    else:
        place.unlink()
        place.symlink_to("/etc/passwd") if change == "link" else place.mkdir()
    mine = looks(tmp_path)["etc/sysctl.d/90-advisor.conf"]
    if change in ("link", "folder"):
        with pytest.raises(ApplyError, match="in the way"):
            undo(site(tmp_path))
    else:
        assert "was changed by hand" in undo(site(tmp_path)).by_hand[0]
        assert not (tmp_path / LIMITS.lstrip("/")).exists()
    assert looks(tmp_path)["etc/sysctl.d/90-advisor.conf"] == mine


def test_what_was_changed_by_hand_comes_back_once_it_is_removed(tmp_path: Path) -> None:
    before = looks(machine(tmp_path))
    install(site(tmp_path))
    (tmp_path / SYSCTL.lstrip("/")).write_text("vm.swappiness = 99\n")
    undo(site(tmp_path))
    (tmp_path / SYSCTL.lstrip("/")).unlink()
    assert undo(site(tmp_path)).by_hand == ()
    assert looks(tmp_path) == before


def test_the_journal_goes_when_all_was_removed_by_hand(tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / SYSCTL.lstrip("/")).unlink()
    install(site(root))
    for path in TEXTS:
        (root / path.lstrip("/")).unlink()
    undo(site(root))
    assert not (root / "var").exists()
    assert undo(site(root)).is_empty


def test_a_folder_that_somebody_uses_meanwhile_stays(tmp_path: Path) -> None:
    machine(tmp_path)
    install(site(tmp_path))
    mine = tmp_path / "etc/modprobe.d/mine.conf"
    mine.write_text("x\n")
    undo(site(tmp_path))
    assert [path.name for path in mine.parent.iterdir()] == ["mine.conf"]
    assert not (tmp_path / "var").exists()


def test_a_file_that_was_written_after_the_kill_is_not_lost(tmp_path: Path) -> None:
    machine(tmp_path)
    number = 0
    while killed_at(number, lambda step: install(site(tmp_path, step))):
        if (tmp_path / SYSCTL.lstrip("/")).read_text("utf-8", "replace") == TEXTS[SYSCTL]:
            break
        recover(site(tmp_path))
        number += 1
    (tmp_path / SYSCTL.lstrip("/")).write_text("mine\n")
    told = recover(site(tmp_path))
    assert any("changed by somebody else" in text for text in told)
    assert (tmp_path / SYSCTL.lstrip("/")).read_text() == "mine\n"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *[(path, kind) for path in (SYSCTL, UNIT) for kind in ("folder", "link", "fifo")],
        *[(path, kind) for path in ("/etc/modprobe.d", UNIT.rpartition("/")[0], "/var") for kind in ("link", "fifo")],
    ],
)
def test_what_is_in_the_way_stops_everything(tmp_path: Path, path: str, kind: str) -> None:
    place = machine(tmp_path / "root") / path.lstrip("/")
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    (tmp_path / "elsewhere").mkdir()
    make = {"folder": os.mkdir, "link": lambda p: os.symlink(tmp_path / "elsewhere", p), "fifo": os.mkfifo}[kind]
    make(place)
    before = looks(tmp_path)
    with pytest.raises(ApplyError, match="is in the way"):
        install(site(tmp_path / "root"))
    assert looks(tmp_path) == before


def test_two_at_a_time_are_refused(tmp_path: Path) -> None:
    first, second = site(tmp_path).tree, site(tmp_path).tree
    with first.alone(), pytest.raises(ApplyError, match="another advisor"), second.alone():
        pass
    with second.alone():
        pass


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 1}', "\x00", '{"entries": [{"path": 1}]}'])
def test_a_journal_that_is_none_is_told_and_nothing_done(tmp_path: Path, text: str) -> None:
    machine(tmp_path)
    place = tmp_path / JOURNAL.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(text)
    before = looks(tmp_path)
    for act in (install, undo):
        with pytest.raises(ApplyError, match="is no journal"):
            act(site(tmp_path))
    assert looks(tmp_path) == before


def test_a_run_that_was_cut_off_is_noticed(tmp_path: Path) -> None:
    machine(tmp_path)
    assert not is_cut_off(site(tmp_path))
    assert killed_at(12, lambda step: install(site(tmp_path, step)))
    assert is_cut_off(site(tmp_path))
    assert "was cut off" in recover(site(tmp_path))[0]
    assert not is_cut_off(site(tmp_path))
