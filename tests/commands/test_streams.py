"""Standard streams that are closed, full or read only in part, and the exit status that tells it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ADVISOR = f"{sys.executable} -m advisor"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of ``line``, in which ``ADVISOR`` stands for the program."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    command = ["bash", "-c", line.replace("ADVISOR", ADVISOR)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("ADVISOR rules list >&-", 0),
        ("ADVISOR rules list 2>&-", 0),
        ("ADVISOR rules list <&- >&- 2>&-", 0),
        ("ADVISOR explain no-such-key >&- 2>&-", 2),
        ("ADVISOR explain no-such-key 2>/dev/full", 2),
        ("ADVISOR no-such-verb 2>/dev/full", 2),
    ],
    ids=["no stdout", "no stderr", "none", "error to none", "error to a full disk", "usage to a full disk"],
)
def test_a_stream_that_is_gone_leaves_the_exit_status(line: str, status: int) -> None:
    ended = shell(line)
    assert ended.returncode == status
    assert ended.stderr == ""


def test_a_full_disk_is_told_as_such() -> None:
    ended = shell("ADVISOR rules list >/dev/full")
    assert ended.returncode == 2
    assert ended.stderr == "advisor: cannot write to standard output: No space left on device\n"


def test_a_closed_stream_is_not_taken_by_the_next_file(tmp_path: Path) -> None:
    ended = shell(f"ADVISOR probe --root / --format json --out {tmp_path}/closed 2>&1 >&-")
    assert (ended.returncode, ended.stdout) == (0, "")
    written = (tmp_path / "closed" / "facts.json").read_text("utf-8")
    assert written.startswith("{")
    assert written.endswith("}\n")


def test_a_reader_that_is_gone_is_told_apart_from_findings() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "advisor", "rules", "list"]
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, "")
