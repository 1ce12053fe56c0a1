"""What others do to the files meanwhile, by hand or by accident: nothing of theirs is lost, and it is said."""

import json
import os
from pathlib import Path

import pytest

from advisor.errors import ApplyError
from advisor.planning.journal import parse_journal
from advisor.planning.transaction import JOURNAL, carry_out, install_change, recover
from tests.outs import LIMITS, SYSCTL
from tests.planning.sites import TARGETS, TEXTS, UNIT, generated, install, killed_at, looks, machine, site, undo


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


@pytest.mark.parametrize("path", [SYSCTL, LIMITS], ids=["changed", "new"])
def test_what_somebody_writes_while_the_user_is_asked_is_not_lost(tmp_path: Path, path: str) -> None:
    at, mine = site(machine(tmp_path)), tmp_path / path.lstrip("/")
    change = install_change(at, generated(), (), TARGETS)
    mine.write_text("mine\n")
    before = looks(tmp_path)
    with pytest.raises(ApplyError, match="changed by somebody else just now"):
        carry_out(at, change)
    assert looks(tmp_path) == before


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


def _journal(path: str = "/etc/x", live: str = "/proc/sys/vm/swappiness", **state: object) -> str:
    """A journal that is one but for what is given."""
    before = {"data": "eA==", "mode": 420, "uid": 0, "gid": 0, "mtime_ns": None, "xattrs": {}, **state}
    value = {"setting": "a:b", "path": live, "before": "1", "after": "2", "instead": None}
    lists = {"entries": [{"path": path, "before": before, "after": None}], "live": [value]}
    return json.dumps({"schema_version": 1, "id": "", "folders": [], "home": [], "gone": [], **lists})


@pytest.mark.parametrize(
    "text",
    [
        _journal(path="/etc/a\0b"),
        _journal(live="/proc/sys/a\0b"),
        _journal(uid=-5),
        _journal(gid=2**32 - 1),
        _journal(mtime_ns=2**63),
        _journal(xattrs={"user.a\0b": "eA=="}),
    ],
    ids=["NUL in a name", "NUL in a value's name", "no user", "no group", "no time", "NUL in an attribute"],
)
def test_a_journal_with_what_no_file_can_have_is_refused(text: str) -> None:
    assert parse_journal(_journal(), "here").entries[0].path == "/etc/x"
    with pytest.raises(ApplyError, match="is no journal"):
        parse_journal(text, "here")


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
