"""Commands end in time, with all they started, and never meet a shell."""

import os
import sys
import time
from pathlib import Path

import pytest

from advisor.host.base import Output
from advisor.host.commands import OUTPUT_LIMIT_BYTES, find_program, run_command


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_output_error_and_status_are_told() -> None:
    argv = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert run_command(argv) == (Output(tuple(argv), 3, "out\n", "err\n"), None)


def test_arguments_reach_the_program_as_they_are() -> None:
    words = ["a b", "$(id)", ";", "*", "'", "é", "\uf0ff"]
    output, _ = run_command(
        [sys.executable, "-c", "import os,sys; print(list(map(os.fsencode, sys.argv[1:])))", *words]
    )
    assert output is not None
    assert output.stdout.strip() == str([*(w.encode() for w in words[:-1]), b"\xff"])


def test_it_speaks_english_and_reads_nothing() -> None:
    output, _ = run_command(python("import os,sys; print(os.environ['LC_ALL'], os.environ['LANG'], sys.stdin.read())"))
    assert output is not None
    assert output.stdout == "C C \n"


def test_output_that_is_no_text_is_replaced() -> None:
    output, _ = run_command(python("import sys; sys.stdout.buffer.write(b'a\\xffb')"))
    assert output is not None
    assert output.stdout == "a\ufffdb"


def test_a_program_that_is_not_there_is_absent() -> None:
    assert run_command(["no-such-program"]) == (None, "absent")
    assert run_command(["/no/such/program"]) == (None, "absent")


def test_a_relative_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "lsblk"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:")
    assert run_command(["./lsblk"]) == (None, "absent")
    assert find_program("lsblk") != "./lsblk"


def test_the_fixed_folders_come_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sh", "only-here"):
        (tmp_path / name).write_text("#!/bin/sh\necho mine\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("sh") in ("/usr/bin/sh", "/bin/sh")
    assert find_program("only-here") == str(tmp_path / "only-here")


def test_a_program_that_may_not_be_run_is_denied(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\n")
    assert run_command([str(tmp_path / "program")]) == (None, "denied")


@pytest.mark.parametrize(
    "argv", [[sys.executable, "\0"], [sys.executable, "-c", "x" * 3_000_000]], ids=["NUL", "too long"]
)
def test_arguments_that_cannot_be_given_are_an_error(argv: list[str]) -> None:
    assert run_command(argv) == (None, "error")


def test_time_is_limited() -> None:
    assert run_command(["sleep", "600"], 0.2) == (None, "timed out")


def test_a_program_that_closes_its_output_is_still_waited_for() -> None:
    code = "import os,time; os.close(1); os.close(2); time.sleep(600)"
    assert run_command(python(code), 0.5) == (None, "timed out")


@pytest.mark.parametrize("limit", [2.0, 60.0], ids=["killed", "ended by itself"])
def test_nothing_it_started_stays(tmp_path: Path, limit: float) -> None:
    pid_file = tmp_path / "pid"
    script = 'sleep 600 & echo $! > "$1"' + ("; wait" if limit == 2.0 else "")
    output, gap = run_command(["sh", "-c", script, "sh", str(pid_file)], limit)
    assert (gap is None) == (output is not None) == (limit == 60.0)
    deadline = time.monotonic() + 20
    while _runs(int(pid_file.read_text())) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _runs(int(pid_file.read_text()))


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_output_is_capped_and_the_program_may_end() -> None:
    output, gap = run_command(python(f"import sys; sys.stdout.write('x' * {OUTPUT_LIMIT_BYTES + 1_000_000})"), 60)
    assert gap is None
    assert output is not None
    assert len(output.stdout) == OUTPUT_LIMIT_BYTES
    assert output.returncode == 0


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        run_command(["true"])
        run_command(["sleep", "600"], 0.01)
    assert len(os.listdir("/proc/self/fd")) == before
