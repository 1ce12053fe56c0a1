"""Trials as real processes: each way to end is told as what it is, and nothing is left behind or hit by mistake."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from advisor.commands._workload import described
from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.tuning.trial import TrialRequest, describe_workload
from tests.tuning.trials import (
    ACCUMULATED,
    ALONE,
    CASES,
    MIB,
    ONE_WORKER,
    WORKERS,
    nothing_left,
    request_of,
    trial,
)


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with nothing_left(monkeypatch) as folder:
        yield folder


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_a_loader_alone_is_measured(config: Config) -> None:
    measured = trial("Samples", config)
    assert (measured.outcome, measured.message) == ("ok", "")
    assert len(measured.samples_per_second) == 2
    assert min(measured.samples_per_second) > 0
    assert measured.startup_seconds is not None
    assert measured.startup_seconds > 0
    assert measured.batch_bytes == 4 * 16 * 4
    assert measured.notes["tensors_per_batch"] == 1
    assert measured.wait_share is None
    assert measured.step_seconds == ()
    assert measured.peak_rss_bytes is not None
    assert measured.peak_rss_bytes > 50 * MIB


def test_training_is_measured_in_whole_optimizer_steps() -> None:
    measured = trial("training", ACCUMULATED)
    assert (measured.outcome, measured.message) == ("ok", "")
    steps = measured.notes["steps"]
    assert isinstance(steps, int)
    assert steps % 4 == 0
    assert measured.notes["samples"] == steps * 4
    assert len(measured.step_seconds) == 2
    assert min(measured.step_seconds) >= 0.001
    assert measured.wait_share is not None
    assert 0 <= measured.wait_share < 1


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_a_long_optimizer_step_is_not_waited_for(config: Config) -> None:
    measured = trial("long_optimizer_steps", replace(config, accumulation=512))
    assert (measured.outcome, measured.message) == ("ok", "")
    steps, update = measured.notes["steps"], measured.notes["update_seconds"]
    assert isinstance(steps, int)
    assert isinstance(update, float)
    assert steps % 20 == 0
    assert update >= 0.05
    assert max(measured.samples_per_second) <= 4 * 512 / (512 * 0.005 + 0.05)


def test_of_a_loader_alone_no_optimizer_step_is_waited_for() -> None:
    measured = trial("long_optimizer_steps", replace(WORKERS, accumulation=1 << 20), part="loader")
    assert (measured.outcome, measured.message) == ("ok", "")


def test_a_step_time_stands_in_for_training_unless_the_loader_alone_is_asked_for() -> None:
    emulated = trial("Samples", step_time=0.01)
    assert min(emulated.step_seconds) >= 0.01
    assert emulated.wait_share is not None
    assert trial("training", part="loader").step_seconds == ()


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_a_trial_stays_on_the_cpus_it_is_bound_to(config: Config) -> None:
    one = max(os.sched_getaffinity(0))
    measured = trial("OnOneCpu", config, cpus=(one,))
    assert (measured.outcome, measured.message) == ("ok", "")
    assert measured.notes["cpus"] == 1


def test_the_step_alone_runs_on_batches_that_are_kept() -> None:
    """Sixteen samples are loaded one by one at 20 ms, and then no more."""
    alone = trial("slowly_loaded", part="cached")
    assert (alone.outcome, alone.message) == ("ok", "")
    assert min(alone.samples_per_second) > 4 / 0.08
    assert len(alone.step_seconds) == 2
    assert "cpu_seconds_per_sample" not in alone.notes
    assert "batches" not in alone.notes


@pytest.mark.parametrize("case", ["in_place", "in_place_nested"])
def test_a_step_that_changes_its_batch_gets_copies_of_those_that_are_kept(case: str) -> None:
    alone = trial(case, part="cached")
    assert (alone.outcome, alone.message) == ("ok", "")
    assert "time of copying is in the figure" in str(alone.notes["batches"])


def test_a_data_set_that_gives_batches_by_itself_is_told_as_such() -> None:
    found = described(describe_workload(request_of("batched"))).declared
    assert (found.batched, found.batch_size, found.accumulation) == (True, None, 2)
    assert not described(describe_workload(request_of("Batched"))).declared.batched  # nobody said so


def test_batches_of_the_data_set_itself_are_counted_by_their_samples() -> None:
    measured = trial("Batched", Config(batch_size=None))
    assert measured.outcome == "ok"
    steps = measured.notes["steps"]
    assert isinstance(steps, int)
    assert measured.notes["samples"] == 5 * steps
    assert measured.notes["tensors_per_batch"] == 3
    assert measured.batch_bytes == (5 * 3 + 5 + 5) * 4


def test_a_stream_is_begun_again_when_it_ends() -> None:
    measured = trial("Stream", WORKERS)
    assert measured.outcome == "ok"
    epochs = measured.notes["epochs"]
    assert isinstance(epochs, int)
    assert epochs > 0
    assert measured.warnings == ()


def test_a_stream_shorter_than_a_batch_is_an_error() -> None:
    measured = trial("Stream", Config(batch_size=32))
    assert measured.outcome == "user-error"
    assert "before it gave one batch of 32 samples" in measured.message


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_an_exception_of_the_data_set_is_told_with_its_place(config: Config) -> None:
    line = next(n for n, text in enumerate(CASES.read_text().splitlines(), 1) if "messages must name" in text)
    measured = trial("Raises", config)
    assert measured.outcome == "user-error"
    assert measured.message.startswith("KeyError: 'label ")
    assert measured.message.endswith(f"({CASES}:{line})")
    assert measured.samples_per_second == ()


def test_a_worker_that_ends_its_process_has_exited() -> None:
    for _ in range(3):  # the loop may notice in several ways
        measured = trial("Exits", WORKERS)
        assert measured.outcome in ("user-error", "killed")
        assert "exited" in measured.message


@pytest.mark.parametrize("config", [ALONE, ONE_WORKER], ids=["no workers", "one worker"])
def test_a_failure_in_a_library_names_no_file_of_advisor(config: Config) -> None:
    measured = trial("Ragged", config)
    assert measured.outcome == "user-error"
    assert "collate.py:" in measured.message


def test_an_accelerator_without_memory_is_out_of_memory() -> None:
    measured = trial("out_of_memory")
    assert measured.outcome == "out-of-memory"
    assert "CUDA out of memory" in measured.message


@pytest.mark.parametrize("config", [ALONE, WORKERS], ids=["no workers", "two workers"])
def test_daemons_of_a_trial_are_ended_and_no_others(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAEMONS", str(tmp_path))
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    try:
        assert trial("StartsDaemons", config).outcome == "ok"
        daemons = [int(file.read_text()) for file in tmp_path.glob("*.daemon")]
        assert daemons
        assert not [pid for pid in daemons if psutil.pid_exists(pid)]
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


@pytest.mark.parametrize("case", ["file_system_sharing", "spawned"])
def test_named_shared_memory_is_removed(case: str) -> None:
    """Both leave names in /dev/shm when they are killed; the fixture looks."""
    measured = trial(case, ONE_WORKER)
    assert (measured.outcome, measured.message) == ("ok", "")


def test_what_cannot_be_pickled_for_spawned_workers_is_explained() -> None:
    measured = trial("unpicklable_with_spawn", WORKERS)
    assert measured.outcome == "user-error"
    assert "picklable" in measured.message


def test_a_workload_is_described_without_loading_a_sample() -> None:
    told = describe_workload(request_of("training"))
    assert (told.batch_size, told.num_workers, told.has_step, told.sample_count) == (4, 1, True, 64)
    assert told.iterable is False
    assert told.torch_version
    assert describe_workload(request_of("Raises")).sample_count == 64
    assert describe_workload(request_of("Stream")).sample_count is None


def _interpreter(folder: Path, missing: list[str]) -> str:
    """An interpreter without the packages ``missing`` that starts from another folder."""
    packages = folder / "packages"
    packages.mkdir()
    for name in missing:
        (packages / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_the_interpreter_that_trains_needs_nothing_but_torch(tmp_path: Path) -> None:
    others = ["pydantic", "psutil", "click", "optuna", "rich", "yaml", "jinja2_", "scipy", "PIL", "zstandard"]
    python = _interpreter(tmp_path, others)
    measured = trial("training", ACCUMULATED, python=python)
    assert (measured.outcome, measured.message) == ("ok", "")


def test_another_package_named_advisor_does_not_get_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "advisor.py").write_text("raise ImportError('the wrong one')\n")
    monkeypatch.chdir(tmp_path)
    assert trial("training", ACCUMULATED).outcome == "ok"


@pytest.mark.parametrize(
    ("missing", "workload", "said"),
    [("torch", f"{CASES}:Samples", "cannot import torch"), ("PIL", "image-files", "image-files needs Pillow")],
)
def test_a_package_that_the_interpreter_lacks_is_named(missing: str, workload: str, said: str, tmp_path: Path) -> None:
    request = TrialRequest(ALONE, workload, data=str(tmp_path), python=_interpreter(tmp_path, [missing]))
    with pytest.raises(WorkloadError, match=said):
        describe_workload(request)


def test_an_interpreter_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="nothing-here cannot be run: No such file"):
        describe_workload(request_of("Samples", python=str(tmp_path / "nothing-here")))
