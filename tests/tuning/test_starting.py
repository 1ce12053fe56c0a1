"""How workers are started: otherwise than the platform does it only on evidence."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.model.trial import Config, Measurement, Outcome, Part, StartMethod, Trial
from advisor.tuning.batching import Declared
from advisor.tuning.starting import CAME, NO_CUDA, Starting, starting, told
from tests.tuning.simulated_machine import Machine, search

ALONE, WORKERS = Config(0, None, 8), Config(2, 2, 8)
CUDA = f"RuntimeError: {NO_CUDA}. To use CUDA with multiprocessing, you must use the 'spawn' start method (data.py:7)"
PICKLE = (
    "AttributeError: no <lambda>; workers are started by spawn or forkserver here, so what they get must be picklable"
)


def ran(config: Config, rate: float = 100.0, startup: float = 0.1) -> Trial:
    return Trial(0, config, Measurement("ok", samples_per_second=(rate,), startup_seconds=startup))


def failed(
    config: Config,
    outcome: Outcome,
    message: str = "",
    seconds: float | None = 60.0,
    context: StartMethod | None = None,
) -> Trial:
    notes = {} if seconds is None else {"trial_seconds": seconds}
    how = replace(config, multiprocessing_context=context)
    return Trial(1, how, Measurement(outcome, message=message, notes=notes))


HUNG = failed(WORKERS, "timed-out", "DataLoader timed out after 54 seconds: a worker gave no batch")
CANNOT = failed(WORKERS, "user-error", CUDA)


def by(context: StartMethod, config: Config = WORKERS) -> Config:
    return replace(config, multiprocessing_context=context)


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        pytest.param([CANNOT], f"w2 p2 b8 a1 ended with {NO_CUDA!r}", id="cuda"),
        pytest.param([ran(ALONE), HUNG], "w2 p2 b8 a1 was not done in 60 s, where the job without workers", id="hang"),
        pytest.param([ran(ALONE), ran(WORKERS), CANNOT], "cannot use CUDA", id="cuda-though-one-trial-ran"),
        # 8 samples at 2 a second take 4 s, two workers on one CPU 8 s, four times that 32.4 s.
        pytest.param([ran(ALONE, 2.0), replace(HUNG)], "takes 4 s for a batch", id="long-enough"),
    ],
)
def test_forked_workers_that_fail_are_started_by_a_server(trials: list[Trial], said: str) -> None:
    found = starting(trials, "fork")
    assert found.context == "forkserver"
    assert said in found.evidence


@pytest.mark.parametrize(
    ("trials", "default"),
    [
        pytest.param([CANNOT], "forkserver", id="forked-by-nobody"),
        pytest.param([CANNOT], "spawn", id="spawned"),
        pytest.param([CANNOT], None, id="not-known-how"),
        pytest.param([HUNG], "fork", id="the-job-without-workers-was-not-measured"),
        pytest.param([failed(ALONE, "timed-out"), HUNG], "fork", id="the-job-without-workers-hangs-too"),
        pytest.param([ran(ALONE), ran(Config(1, 2, 8)), HUNG], "fork", id="some-forked-worker-ran"),
        pytest.param([ran(ALONE, 0.5), HUNG], "fork", id="a-batch-takes-long"),
        pytest.param([ran(ALONE, startup=20.0), HUNG], "fork", id="the-first-batch-takes-long"),
        pytest.param([ran(ALONE), failed(Config(600, 2, 8), "timed-out")], "fork", id="many-workers-on-few-cpus"),
        pytest.param(
            [ran(ALONE), failed(WORKERS, "timed-out", f"not one window was measured: {CAME} 31.0 s, and 3 steps")],
            "fork", id="batches-came"
        ),
        pytest.param([ran(ALONE), failed(WORKERS, "timed-out", seconds=None)], "fork", id="no-telling-how-long"),
        pytest.param([ran(ALONE), failed(WORKERS, "killed", "by SIGKILL")], "fork", id="killed"),
        pytest.param([ran(ALONE), failed(WORKERS, "user-error", "KeyError: 3")], "fork", id="another-error"),
        pytest.param([ran(ALONE), ran(WORKERS)], "fork", id="all-is-well"),
        pytest.param([], "fork", id="nothing-was-measured"),
    ],
)  # fmt: skip
def test_without_evidence_nothing_is_changed(trials: list[Trial], default: str | None) -> None:
    assert starting(trials, default) == Starting()
    assert told(trials, default) is None


@pytest.mark.parametrize(
    ("others", "context"),
    [
        pytest.param([ran(by("forkserver"))], "forkserver", id="it-runs"),
        pytest.param([failed(WORKERS, "no-space-in-shm", context="forkserver")], "forkserver", id="only-too-large"),
        pytest.param(
            [ran(by("forkserver")), failed(WORKERS, "timed-out", context="forkserver")], "forkserver", id="ran-once"
        ),
        pytest.param([failed(WORKERS, "timed-out", context="forkserver")], "spawn", id="it-hangs-too"),
        pytest.param([failed(WORKERS, "user-error", PICKLE, context="forkserver")], None, id="it-cannot-be-sent"),
        pytest.param(
            [failed(WORKERS, "timed-out", context="forkserver"), failed(WORKERS, "killed", context="spawn")],
            None, id="spawned-they-fail-too"
        ),
    ],
)  # fmt: skip
def test_what_fails_too_is_followed_by_what_may_not(others: list[Trial], context: str | None) -> None:
    found = starting([CANNOT, *others], "fork")
    assert found.context == context
    assert found.in_vain is (context is None)


def test_forked_workers_that_run_now_and_then_are_kept_where_nothing_else_runs() -> None:
    assert (
        starting([ran(WORKERS), CANNOT, failed(WORKERS, "user-error", PICKLE, context="forkserver")], "fork")
        == Starting()
    )


def test_the_sentence_tells_evidence_and_what_starting_costs() -> None:
    four = Config(4, 2, 8, multiprocessing_context="forkserver")
    text = told([CANNOT, ran(by("forkserver"), startup=3.21), ran(four, startup=7.0)], "fork") or ""
    assert text.startswith("forked workers, the default here, cannot use CUDA: w2 p2 b8 a1 ended with")
    assert text.endswith("the first batch comes after 3.21 s with 2, 7 s with 4 workers")


def test_one_worker_is_not_told_as_several() -> None:
    text = told([CANNOT, ran(by("forkserver", Config(1, 2, 8)), startup=3.21)], "fork") or ""
    assert text.endswith("the first batch comes after 3.21 s with 1 worker")


def test_ways_that_failed_are_told_with_their_reasons() -> None:
    text = told([CANNOT, failed(WORKERS, "user-error", PICKLE, context="forkserver")], "fork") or ""
    assert text.startswith("workers cannot be used here, so none are: forked workers")
    assert "with forkserver w2 p2 b8 a1 forkserver ended as user-error: AttributeError: no <lambda>" in text
    assert "was not measured" in (told([CANNOT], "fork") or "")


def outcomes(bad: tuple[str | None, ...], outcome: Outcome) -> Machine:
    """A machine on which workers fail that are started in one of the ``bad`` ways."""
    return Machine(
        cpu=1e-4, blocked=1e-2,
        outcome=lambda c: outcome if c.num_workers and c.multiprocessing_context in bad else "ok",
    )  # fmt: skip


def test_a_search_whose_forked_workers_hang_goes_on_with_others(tmp_path: Path) -> None:
    machine = outcomes((None,), "timed-out")
    result, choice, base = search(machine, tmp_path, start_method="fork", budget_seconds=600)
    assert choice.config is not None
    assert choice.config.num_workers >= 8
    assert choice.config.multiprocessing_context == "forkserver"
    assert choice.changes
    assert base.multiprocessing_context is None
    assert [t.config.key() for t in result.parts if t.measurement.outcome != "ok"] == ["w1 p2 b32 a1"]


def test_a_job_whose_own_workers_hang_is_searched_with_others(tmp_path: Path) -> None:
    machine = outcomes((None,), "timed-out")
    declared = Declared(batch_size=32, num_workers=4)
    _, choice, _ = search(machine, tmp_path, declared, start_method="fork", budget_seconds=600)
    assert choice.config is not None
    assert choice.config.multiprocessing_context == "forkserver"
    assert machine.runs[1] == replace(
        machine.runs[1], num_workers=0
    )  # whether the job runs without workers comes first


def test_where_a_server_does_not_help_workers_are_spawned(tmp_path: Path) -> None:
    machine = outcomes((None, "forkserver"), "timed-out")
    _, choice, _ = search(machine, tmp_path, start_method="fork", budget_seconds=600)
    assert choice.config is not None
    assert choice.config.multiprocessing_context == "spawn"


def test_where_nothing_helps_each_way_was_tried_once_and_no_workers_are_kept(tmp_path: Path) -> None:
    machine = outcomes((None, "forkserver", "spawn"), "timed-out")
    result, choice, base = search(machine, tmp_path, start_method="fork", budget_seconds=600)
    assert choice.config == base
    with_workers = [c.multiprocessing_context for c in machine.runs if c.num_workers]
    assert with_workers == [None, "forkserver", "spawn"]
    assert (told([*result.trials, *result.parts], "fork") or "").startswith("workers cannot be used here, so none are")


def test_a_step_that_gains_by_larger_micro_batches_does_so_though_no_workers_can_be_used(tmp_path: Path) -> None:
    machine = FasterBatches(cpu=1e-6, step=1e-3, outcome=lambda c: "timed-out" if c.num_workers else "ok")
    declared = Declared(batch_size=8, global_batch=64, has_step=True)
    _, choice, _ = search(machine, tmp_path, declared, start_method="fork", budget_seconds=900)
    assert choice.config is not None
    assert (choice.config.num_workers, choice.config.batch_size) == (0, 64)


class FasterBatches(Machine):
    """A machine whose step takes as long whatever its batch."""

    def seconds(self, config: Config, part: Part = "loop") -> float:
        """Seconds per sample."""
        return super().seconds(config, part) * 8 / (config.batch_size or 8)


@pytest.mark.parametrize(
    ("message", "default"),
    [(f"not one window was measured within 60 s: {CAME} 31.0 s", "fork"), ("", "forkserver")],
    ids=["slow", "not-forked"],
)
def test_a_search_whose_workers_are_slow_or_not_forked_changes_nothing(
    tmp_path: Path, message: str, default: str
) -> None:
    machine = outcomes((None,), "timed-out")
    machine.message = message
    _, choice, base = search(machine, tmp_path, start_method=default)
    assert choice.config == base
    assert {c.multiprocessing_context for c in machine.runs} == {None}


def test_an_exhaustive_search_measures_its_grid_with_workers_that_run(tmp_path: Path) -> None:
    machine = outcomes((None,), "timed-out")
    machine.blocked = 0.0
    search(machine, tmp_path, start_method="fork", exhaustive=True, max_trials=1_000)
    grid = {(c.num_workers, c.prefetch_factor) for c in machine.loops() if c.multiprocessing_context == "forkserver"}
    assert grid == {(w, p) for w in (1, 2, 3) for p in (1, 2, 4, 8)}
