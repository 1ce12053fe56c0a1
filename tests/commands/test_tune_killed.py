"""``advisor tune`` killed without warning, whole or in parts: nothing of it stays, and what was measured is kept."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from advisor.cli import run
from tests.tuning.trials import left_in_shm, paths

STEPPING = """
import time
import torch
from advisor.model.workload import Workload


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        return torch.full((16,), float(index))


def factory():
    return Workload(Numbers(), batch_size=1, step=lambda batch: time.sleep(0.02))
"""
"""Its step sets the pace, so a search is: the baseline, the step alone, and the step alone once more."""
PATIENCE_SECONDS = 60.0
SECONDS = 20.0
"""Within which a killed command must have left nothing."""


@dataclass
class Place:
    """Where a command runs and writes."""

    folder: Path
    temporary: Path

    def arguments(self) -> list[str]:
        workload = f"{self.folder}/stepping.py:factory"
        out = str(self.folder / "OUT")
        return ["tune", "--workload", workload, "--out", out, "--budget", "60s", "--allow-busy", "--ranks", "1"]

    def kept(self) -> list[Any]:
        """The trials that the journal keeps, as they are written there."""
        (journal,) = (self.folder / "cache/advisor/studies").glob("*.journal")
        lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
        records = [line["user_attr"]["record"] for line in lines if "record" in line.get("user_attr", {})]
        return [_exactly(record)["trial"] for record in records]

    def recorded(self) -> list[Any]:
        """The trials of tuning.json by their numbers, as they are written there."""
        record = _exactly((self.folder / "OUT/tuning.json").read_text("utf-8"))
        return sorted([*record["trials"], *record["parts"]], key=lambda trial: int(trial["number"]))


def _exactly(text: str) -> Any:
    """JSON whose numbers stay the characters that they are."""
    return json.loads(text, parse_float=str, parse_int=str)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    (tmp_path / "stepping.py").write_text(STEPPING)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:  # not tmp_path: paths of sockets must be short
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        yield Place(tmp_path, Path(temporary))


@contextlib.contextmanager
def started(place: Place) -> Iterator["subprocess.Popen[str]"]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "advisor", *place.arguments()]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=paths())
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def until(process: "subprocess.Popen[str]", said: str) -> str:
    """The line that begins so, once the command has said it."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(said):
            return line
    raise AssertionError(f"never said {said!r}: {''.join(lines)}")


def measured_now(place: Place, before: set[Path]) -> Path:
    """The folder of the trial that has begun to measure, other than those ``before``."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        for folder in set(place.temporary.glob("trial-*")) - before:
            with contextlib.suppress(OSError):
                if "measuring window" in (folder / "events").read_text("utf-8"):
                    return folder
        time.sleep(0.02)
    raise AssertionError("no trial has begun to measure")


def part_of(folder: Path, script: str) -> psutil.Process:
    """The process of a trial that runs ``script``."""
    wanted = str(folder / script)
    return next(p for p in psutil.process_iter(["cmdline"]) if wanted in (p.info["cmdline"] or ()))


def test_a_killed_command_leaves_nothing_and_the_same_command_goes_on(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = set(os.listdir("/dev/shm"))
    with started(place) as process:
        until(process, "trial 2: ")
        measured_now(place, set())
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) >= 2
        process.kill()
        assert process.wait() == -signal.SIGKILL
        _, alive = psutil.wait_procs(below, SECONDS)
        assert not alive
    assert not list(place.temporary.iterdir())
    assert not left_in_shm(shared)

    kept = place.kept()
    assert [trial["part"] for trial in kept] == ["loop", "cached"]
    assert run(place.arguments()) == 0
    said = capsys.readouterr().err
    assert "trials used again from an earlier run: 2\n" in said
    assert "trial 2: w0 p- b1 a1 (cached, kept from an earlier run): " in said
    recorded = place.recorded()
    assert recorded[:2] == kept
    assert len(recorded) >= 3
    assert {trial["measurement"]["outcome"] for trial in recorded} == {"ok"}


def test_a_search_goes_on_when_a_trial_or_its_watcher_is_killed(place: Place) -> None:
    shared = set(os.listdir("/dev/shm"))
    with started(place) as process:
        until(process, "trial 1: ")
        second = measured_now(place, set())
        part_of(second, "trial_child.py").kill()
        assert "killed: the trial's process was killed from outside by SIGKILL" in until(process, "trial 2: ")
        third = measured_now(place, {second})
        part_of(third, "trial_supervisor.py").kill()
        assert "killed: the process that watched over the trial was killed" in until(process, "trial 3: ")
        assert process.stderr is not None
        process.stderr.read()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert not list(place.temporary.iterdir())
    assert not left_in_shm(shared)
    assert [trial["measurement"]["outcome"] for trial in place.recorded()[:3]] == ["ok", "killed", "killed"]
