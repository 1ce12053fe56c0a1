"""`advisor apply` and `advisor rollback`, whole, on the root of another system."""

import json
import os
import pty
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli import run
from tests.outs import FILES, LIMITS, MODPROBE, SYSCTL, sysctl_text, write_generated
from tests.planning.sites import install, killed_at, looks, machine, site


class Place:
    """An OUT and the root of a system, and the commands on them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.out = machine(folder / "root"), write_generated(folder / "out", further={"job/env.sh": "A=1\n"})

    def apply(self, *more: str) -> int:
        return run(["apply", str(self.out), "--target-root", str(self.root), *more])

    def rollback(self, *more: str) -> int:
        return run(["rollback", "--target-root", str(self.root), *more])

    def verify(self) -> int:
        return run(["verify", str(self.out), "--root", str(self.root)])

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_apply_verify_rollback(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = looks(place.root)
    assert place.apply("--yes") == 0
    assert {path: place.text(path) for path in FILES} == FILES
    assert not (place.root / "job").exists()
    capsys.readouterr()
    assert place.verify() == 3  # a tree without /proc tells no value in force
    assert "limits:*/soft/memlock=unlimited: it counts at the next login" in capsys.readouterr().out
    assert place.rollback("--yes") == 0
    assert looks(place.root) == before
    assert place.rollback("--yes") == 0
    assert capsys.readouterr().out.endswith("nothing to change\n")


def test_a_dry_run_shows_all_and_changes_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = looks(place.root.parent)
    assert place.apply("--dry-run") == 0
    out = capsys.readouterr().out
    assert "--- /etc/sysctl.d/90-advisor.conf\n+++ /etc/sysctl.d/90-advisor.conf\n" in out
    assert "-vm.swappiness = 3\n" in out
    assert "+vm.swappiness = 10\n" in out
    assert "sysctl:vm.swappiness=10 (risk: low): counts at the next boot" in out
    assert "modprobe:nvme_core.multipath=N: counts when the module is loaded anew: after a reboot" in out
    assert looks(place.root.parent) == before
    assert place.rollback("--dry-run") == 0
    assert looks(place.root.parent) == before


def test_nobody_to_ask_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = looks(place.root)
    assert (place.apply(), place.rollback()) == (2, 2)
    assert capsys.readouterr().err.count("give --yes") == 2
    assert looks(place.root) == before


def test_json_says_what_was_done(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.apply("--yes", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["done"], told["live"], told["notes"]) == (1, True, [], [])
    assert told["files"] == [
        {"action": "add", "path": MODPROBE},
        {"action": "add", "path": LIMITS},
        {"action": "replace", "path": SYSCTL},
    ]
    assert place.rollback("--yes", "--format", "json", "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_what_is_generated_no_more_is_taken_away(place: Place) -> None:
    before = looks(place.root)
    assert place.apply("--yes") == 0
    write_generated(place.out, {LIMITS: FILES[LIMITS]})
    assert place.apply("--yes") == 0
    assert (place.root / SYSCTL.lstrip("/")).read_bytes() == b"vm.swappiness = 3\n\xff"
    assert not (place.root / MODPROBE.lstrip("/")).exists()
    assert place.rollback("--yes") == 0
    assert looks(place.root) == before


def test_what_was_changed_by_hand_stops_apply_and_stays(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.apply("--yes") == 0
    (place.root / SYSCTL.lstrip("/")).write_text("vm.swappiness = 99\n")
    mine = looks(place.root)
    write_generated(place.out, {SYSCTL: sysctl_text(20)})
    assert place.apply("--yes") == 3
    assert "was changed by hand since advisor installed it" in capsys.readouterr().err
    assert looks(place.root) == mine
    assert place.rollback("--yes") == 3
    assert "is left as it is" in capsys.readouterr().err
    assert place.text(SYSCTL) == "vm.swappiness = 99\n"
    assert not (place.root / LIMITS.lstrip("/")).exists()


@pytest.mark.parametrize("name", ["10-site.conf", "99-site.conf"])
def test_what_the_operator_set_meanwhile_stands(place: Place, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (place.root / "etc/sysctl.d" / name).write_text("vm.swappiness = 1\n")
    before = looks(place.root)
    assert place.apply("--yes") == 3
    assert f"set to 1 by /etc/sysctl.d/{name}:1, which stands" in capsys.readouterr().err
    assert looks(place.root) == before
    (place.root / "etc/sysctl.d" / name).write_text("vm/swappiness=10\n")
    assert place.apply("--yes") == 0


def test_a_run_that_was_cut_off_is_put_in_order(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = looks(place.root)
    assert killed_at(20, lambda step: install(site(place.root, step)))
    assert place.apply("--dry-run") == 3
    assert "advisor rollback puts that in order" in capsys.readouterr().err
    assert place.rollback("--yes") == 0
    assert "an earlier run was cut off; what it had done was turned back" in capsys.readouterr().err
    assert looks(place.root) == before


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("", "must be the folder"),
        ("{}/nothing", "must be the folder"),
        ("{}/root/etc/sysctl.d/99-site.conf", "must be"),
    ],
    ids=["empty", "missing", "file"],
)
def test_a_root_that_is_none_is_one_sentence(
    place: Place, root: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = root.format(place.root.parent)
    for command in (["apply", str(place.out)], ["rollback"]):
        assert run([*command, "--yes", "--target-root", given]) == 2
        err = capsys.readouterr().err
        assert why in err
        assert len(err.splitlines()) == 1


def test_an_out_that_was_tampered_with_is_refused(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = looks(place.root)
    (place.out / f"host{SYSCTL}").write_text("kernel.panic = 1\n")
    assert place.apply("--yes") == 2
    assert "is not the file that advisor.lock lists" in capsys.readouterr().err
    assert looks(place.root) == before


def test_the_root_of_a_running_system_is_not_a_containers(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    if not os.path.exists("/.dockerenv"):
        pytest.skip("this is no container, whose own root nobody may allow a test to change")
    assert run(["apply", str(place.out), "--yes"]) == 3
    assert "this is a container: run advisor apply on the host" in capsys.readouterr().err
    (place.root / "proc").symlink_to("/proc")
    before = looks(place.root)
    assert (place.apply("--yes"), place.rollback("--yes")) == (3, 3)
    assert "is the root of a running system" in capsys.readouterr().err
    assert looks(place.root) == before


def test_owners_and_odd_modes_come_back(place: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    old = place.root / SYSCTL.lstrip("/")
    os.chown(old, 1234, 4321)
    old.chmod(0o2751)
    before = looks(place.root)
    assert place.apply("--yes") == 0
    assert (old.stat().st_uid, old.stat().st_gid, old.stat().st_mode & 0o7777) == (0, 0, 0o644)
    assert place.rollback("--yes") == 0
    assert looks(place.root) == before


def answered(place: Place, answer: bytes) -> tuple[int, str]:
    """Exit status and screen of `advisor apply` on a terminal of its own, on which somebody types."""
    child, terminal = pty.fork()
    if child == 0:
        status = 99
        try:
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - the terminal
            status = place.apply()
            sys.stdout.flush()
        finally:
            os._exit(status)
    os.write(terminal, answer)
    screen = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the child is gone
            break
        if not piece:
            break
        screen += piece
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), screen.decode("utf-8", "replace")


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 3), (b"\n", 3)], ids=["yes", "no", "enter"])
def test_a_terminal_is_asked(place: Place, answer: bytes, status: int) -> None:
    before = looks(place.root)
    got, screen = answered(place, answer)
    assert got == status
    assert "+vm.swappiness = 10" in screen
    assert "Change this? [y/N]" in screen
    assert (looks(place.root) == before) == (status != 0)


def test_a_file_beside_the_generated_ones_is_not_installed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.out / "host/etc/sysctl.d/10-mine.conf").write_text("kernel.panic = 1\n")
    (place.out / "host/etc/passwd").symlink_to("/etc/passwd")
    assert place.apply("--yes") == 0
    err = capsys.readouterr().err
    assert f"{place.out}/host/etc/sysctl.d/10-mine.conf is not in advisor.lock and is not installed" in err
    assert "host/etc/passwd is not in advisor.lock" in err
    assert not (place.root / "etc/sysctl.d/10-mine.conf").exists()
    assert not (place.root / "etc/passwd").exists()


def as_nobody(act: Callable[[Path], None]) -> None:
    """Runs ``act`` in a child of another user, in a folder where everybody may write."""
    if os.geteuid() != 0:
        pytest.skip("root becomes somebody else in this test")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        os.chmod(folder, 0o777)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                act(Path(folder))
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def become_nobody() -> None:
    os.setgid(65534)
    os.setuid(65534)


def test_whoever_owns_the_root_needs_no_other_rights() -> None:
    def act(folder: Path) -> None:
        become_nobody()
        own = Place(folder / "own")
        before = looks(own.root)
        assert own.apply("--yes", "--quiet") == 0
        assert own.text(SYSCTL) == FILES[SYSCTL]
        assert own.rollback("--yes", "--quiet") == 0
        assert looks(own.root) == before
        assert run(["apply", str(own.out), "--yes"]) == 2

    as_nobody(act)


@pytest.mark.parametrize(
    ("closed", "mode", "status"),
    [
        ("root", 0o755, 3),
        ("root", 0o700, 2),
        ("root/etc", 0o700, 3),
        ("root/var/lib/advisor", 0o700, 3),
        ("out", 0o700, 2),
    ],
)
def test_what_is_not_allowed_is_one_sentence(
    closed: str, mode: int, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    def act(folder: Path) -> None:
        other = Place(folder)
        (other.root / "var/lib/advisor").mkdir(parents=True)
        (folder / closed).chmod(mode)
        before = looks(folder)
        child = os.fork()
        if child == 0:
            become_nobody()
            os._exit(other.apply("--yes", "--quiet"))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status
        assert looks(folder) == before

    as_nobody(act)
    err = capfd.readouterr().err
    assert len(err.splitlines()) == 1
    assert "Permission denied" in err or "cannot be read" in err or "holds no" in err


def test_what_makes_the_kernel_run_a_program_is_not_installed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    write_generated(place.out, {SYSCTL: "kernel.core_pattern = |/tmp/x\n"})
    before = looks(place.root)
    assert place.apply("--yes") == 3
    assert "the kernel runs what it names, so advisor does not install it" in capsys.readouterr().err
    assert looks(place.root) == before
