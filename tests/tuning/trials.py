"""Real trials of `awkward_workloads.py`, and the proof that nothing of a trial is left."""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from advisor.model.trial import Config, Measurement
from advisor.tuning.trial import TrialRequest, run_trial

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).resolve().parent / "awkward_workloads.py"
MIB = 1 << 20
ALONE = Config(batch_size=4)
ONE_WORKER = Config(num_workers=1, prefetch_factor=2, batch_size=4, persistent_workers=True)
WORKERS = Config(num_workers=2, prefetch_factor=2, batch_size=4, persistent_workers=True)
ACCUMULATED = Config(num_workers=1, prefetch_factor=2, batch_size=4, accumulation=4, persistent_workers=True)


def request_of(case: str, config: Config = ALONE, seconds: float = 60.0, **others: object) -> TrialRequest:
    """A short trial of ``case``."""
    settings: dict[str, object] = {"windows": 2, "window_seconds": 0.1, "memory_limit_bytes": 4096 * MIB, **others}
    return TrialRequest(config, f"{CASES}:{case}", seconds=seconds, **settings)  # type: ignore[arg-type]


def trial(case: str, config: Config = ALONE, seconds: float = 60.0, **others: object) -> Measurement:
    """What comes of it."""
    return run_trial(request_of(case, config, seconds, **others))


def paths() -> dict[str, str]:
    """The environment of a process that imports these tests and advisor from the checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@contextlib.contextmanager
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files; afterwards nothing of a trial may be left, neither there nor elsewhere."""
    shared = set(os.listdir("/dev/shm"))
    below = {process.pid for process in psutil.Process().children(recursive=True)}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # not tmp_path: paths of sockets must be short
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert {process.pid for process in psutil.Process().children(recursive=True)} <= below
        assert not os.listdir(folder)
    assert left_in_shm(shared) == set()


def left_in_shm(before: set[str], seconds: float = 60.0) -> set[str]:
    """Names beyond ``before`` that are in shared memory now, and ``seconds`` later still, and are no living process's.

    Those that other tests make beside this one go away by themselves; later ones are no matter of this one.
    """
    deadline = time.monotonic() + seconds
    left = _named() - before
    while (left := {name for name in left & _named() if not _made_elsewhere(name)}) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def _named() -> set[str]:
    """What torch and multiprocessing have in shared memory."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(("torch_", "sem.mp-", "psm_"))}


def _made_elsewhere(name: str) -> bool:
    """Whether a process that is alive, so none of a trial of these tests, holds or made it."""
    parts = name.split("_")
    return (parts[0] == "torch" and psutil.pid_exists(int(parts[1]))) or any(
        name in _text(f"/proc/{pid}/maps") for pid in psutil.pids()
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""
