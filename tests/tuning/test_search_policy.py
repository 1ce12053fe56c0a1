"""The course of a search on simulated machines: real policy and journal, an analytic model for the trials."""

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from advisor.model.trial import Config, Measurement, Outcome, Part
from advisor.tuning.batching import Declared
from advisor.tuning.progress import Ended, Event
from advisor.tuning.session import FINAL_WINDOWS
from advisor.tuning.space import Resources
from tests.tuning.simulated_machine import Machine, search


def test_a_sleeping_dataset_gets_more_workers_than_cpus(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=2e-3, transfer=20e-6)
    _, choice, _ = search(machine, tmp_path)
    assert choice.changes
    assert choice.config is not None
    assert choice.config.num_workers >= 8
    assert choice.gain is not None
    assert choice.gain.low is not None
    assert choice.gain.low > 5


def test_a_dataset_in_memory_keeps_no_workers(tmp_path: Path) -> None:
    _, choice, base = search(Machine(cpu=4e-6, transfer=35e-6), tmp_path)
    assert choice.config == base
    assert base.num_workers == 0
    assert not choice.changes
    assert "nothing to gain" in choice.why


def test_a_dataset_in_memory_loses_the_workers_it_was_declared_with(tmp_path: Path) -> None:
    declared = Declared(batch_size=32, num_workers=4, prefetch_factor=2)
    _, choice, _ = search(Machine(cpu=4e-6, transfer=35e-6), tmp_path, declared)
    assert choice.changes
    assert choice.config is not None
    assert choice.config.num_workers == 0
    assert choice.gain is not None
    assert choice.gain.value > 5


def test_cpu_bound_samples_are_given_no_more_workers_than_cpus(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, cpus=4.0)
    result, choice, _ = search(machine, tmp_path)
    assert max(config.num_workers for config in machine.runs) <= 5
    assert choice.config is not None
    assert choice.config.num_workers == 4
    assert max(result.space.choices("num_workers")) == 5


def test_a_slow_training_step_needs_only_as_many_workers_as_feed_it(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-3, step=1e-3, cpus=16.0)
    _, choice, _ = search(machine, tmp_path)
    assert choice.config is not None
    assert choice.changes
    assert choice.config.num_workers <= 2
    assert choice.config.prefetch_factor == 1 or choice.config.num_workers == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_flat_and_noisy_landscape_has_nothing_to_gain(tmp_path: Path, seed: int) -> None:
    machine = Machine(cpu=1e-6, step=2e-3, transfer=0.0, noise=0.05, dice=Random(seed))
    machine.step = 2e-3
    declared = Declared(batch_size=32, has_step=True, global_batch=128)
    _, choice, base = search(machine, tmp_path, declared)
    assert choice.config == base
    assert not choice.changes


def test_a_loop_that_never_waits_is_measured_once(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-6, step=1e-3)
    result, choice, base = search(machine, tmp_path)
    assert machine.loops() == [base]
    assert machine.parts == ["loop", "cached", "cached"]  # the second confirms the first
    assert "less than 3% to be gained from a better loader" in result.stopped
    assert choice.config == base


def test_a_diagnosis_measures_the_baseline_alone(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3)
    search(machine, tmp_path, diagnose_only=True)
    assert len(machine.runs) == 1


def test_a_disturbed_run_of_the_comparison_is_repeated_in_its_round(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, cpus=4.0, noise=0.005)
    result, choice, _ = search(Disturbed(machine), tmp_path)  # type: ignore[arg-type]
    rounds = [t.origin for t in result.trials if t.origin.startswith("final") and t.config == choice.config]
    assert rounds.count("final 2") == 2
    assert choice.gain is not None
    assert choice.gain.low is not None
    assert choice.gain.low > 3


class Disturbed:
    """A machine on which the first run with workers in the second round is slowed down to a half."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.finals, self.done = machine, 0, False
        self.step, self.cpus, self.clock = machine.step, machine.cpus, machine.clock

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        measured = self.machine(config, part, windows)
        self.finals += windows == FINAL_WINDOWS and config.num_workers == 0
        if self.finals == 2 and config.num_workers and not self.done:
            self.done = True
            return replace(measured, samples_per_second=tuple(rate / 2 for rate in measured.samples_per_second))
        return measured


@pytest.mark.parametrize(("noise", "goes_on"), [(0.002, False), (0.08, True)])
def test_a_comparison_that_noise_leaves_open_goes_on(tmp_path: Path, noise: float, goes_on: bool) -> None:
    """Two workers gain 7 %: plain after five rounds on a quiet node, not so on a noisy one."""
    machine = Machine(cpu=0.0, blocked=5e-3, step=95e-3, cpus=4.0, noise=noise, dice=Random(2))
    result, _, base = search(machine, tmp_path, Declared(batch_size=4, has_step=True), budget_seconds=3000)
    finals = {t.origin for t in result.trials if t.origin.startswith("final") and t.config == base}
    assert (len(finals) > 5) == goes_on


def test_slow_trials_leave_time_for_a_look_at_workers(tmp_path: Path) -> None:
    """Baseline, step, copies, cold reads and loader take half of the budget."""
    machine = Machine(cpu=5e-3, step=1e-3, cpus=4.0, seconds_per_trial=12.0)
    declared = Declared(batch_size=16, has_step=True)
    _, choice, _ = search(machine, tmp_path, declared, all_parts=True, budget_seconds=120.0)
    assert choice.config is not None
    assert choice.config.num_workers > 0
    assert choice.changes
    assert machine.now <= 1.1 * 120.0


class SlowBaseline(Machine):
    """A machine whose trials last as long as 20 steps of their windows do, and on which workers are far faster."""

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        """One trial."""
        self.seconds_per_trial = 2.0 + windows * 20 * 16 * self.seconds(config, part)
        return super().__call__(config, part, windows)


def test_a_baseline_that_takes_a_third_of_the_budget_leaves_time_for_another_point(tmp_path: Path) -> None:
    machine = SlowBaseline(cpu=1e-5, blocked=2e-2, step=1e-3, cpus=4.0)
    _, choice, base = search(machine, tmp_path, Declared(batch_size=16, has_step=True), budget_seconds=60.0)
    assert choice.config is not None
    assert choice.config != base
    assert choice.changes


@dataclass
class InTheWay(Machine):
    """A machine whose loader is so fast, ``alone`` seconds per sample, as long as no step runs beside it."""

    alone: float = 5e-6

    def seconds(self, config: Config, part: Part = "loop") -> float:
        """Seconds per sample."""
        return self.alone if part == "loader" else super().seconds(config, part)


@pytest.mark.parametrize(
    ("alone", "verdict"),
    [
        pytest.param(5e-6, "interference", id="the loader alone is ten times as fast as the step"),
        pytest.param(5e-5, "CPU preprocessing", id="it is as fast as the step"),
    ],
)
def test_where_workers_are_in_the_way_the_loop_is_tried_without_them_first(
    tmp_path: Path, alone: float, verdict: str
) -> None:
    machine = InTheWay(cpu=1e-6, step=5e-5, transfer=2e-4, cpus=8.0, alone=alone)
    declared = Declared(num_workers=2, batch_size=16, has_step=True)
    result, choice, _ = search(machine, tmp_path, declared)
    assert result.diagnosis is not None
    assert result.diagnosis.verdict == verdict
    assert machine.loops()[1].num_workers == 0
    assert choice.config is not None
    assert choice.config.num_workers == 0


def test_a_loop_without_workers_that_is_hopeless_is_never_tried(tmp_path: Path) -> None:
    machine = Machine(cpu=1e-3, step=5e-5, cpus=8.0)
    _, _, base = search(machine, tmp_path, Declared(num_workers=2, batch_size=16, has_step=True))
    assert base.num_workers == 2
    assert all(config.num_workers for config in machine.loops())


@dataclass
class TooFastOnce(Machine):
    """A machine whose first loop with three workers or more is measured a sixth too fast."""

    told: bool = False

    def seconds(self, config: Config, part: Part = "loop") -> float:
        """Seconds per sample."""
        taken = super().seconds(config, part)
        if part != "loop" or config.num_workers < 3 or self.told:
            return taken
        self.told = True
        return taken / 1.16


def test_a_loop_that_was_faster_than_its_step_alone_does_not_shut_out_cheaper_ones(tmp_path: Path) -> None:
    machine = TooFastOnce(cpu=1e-3, blocked=1.5e-3, step=1e-3, cpus=16.0)
    result, choice, _ = search(machine, tmp_path, Declared(batch_size=16, has_step=True))
    finals = {t.config.num_workers for t in result.trials if t.origin.startswith("final")}
    assert machine.told
    assert len(finals) > 2
    assert choice.config is not None
    assert choice.config.num_workers <= 3


class TellsSamples(Machine):
    """A machine whose trials last as long as their windows, 4 s each, and tell how many samples these held."""

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        """One trial."""
        self.seconds_per_trial = 4.0 * windows
        measured = super().__call__(config, part, windows)
        samples = 4.0 * sum(measured.samples_per_second)
        return replace(measured, notes={**measured.notes, "samples": samples})


def test_no_more_time_is_kept_for_the_comparison_than_its_short_trials_take(tmp_path: Path) -> None:
    """Four configurations in three rounds of one window take 48 s; of three windows they would take all there is."""
    result, _, _ = search(TellsSamples(cpu=5e-3, blocked=5e-3, cpus=16.0), tmp_path, budget_seconds=150.0, patience=99)
    searched = [t for t in result.trials if not t.origin.startswith("final")]
    assert 12 * len(searched) > 150 * (1 - 0.35) - 24
    assert any(t.origin == "final 3" for t in result.trials)


@pytest.mark.parametrize(
    "outcome", ["out-of-memory", "no-space-in-shm", "too-many-files", "timed-out", "user-error", "killed"]
)
def test_a_failing_region_is_a_result_and_the_search_goes_on(tmp_path: Path, outcome: Outcome) -> None:
    machine = Machine(cpu=30e-6, blocked=2e-3, outcome=lambda c: outcome if c.num_workers > 12 else "ok")
    result, choice, _ = search(machine, tmp_path)
    assert outcome in {t.measurement.outcome for t in result.trials}
    assert choice.config is not None
    assert 4 <= choice.config.num_workers <= 12


def test_what_ran_out_is_not_asked_for_again_with_more(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=2e-3, outcome=lambda c: "no-space-in-shm" if c.num_workers > 8 else "ok")
    search(machine, tmp_path)
    failed = [c.num_workers * (c.prefetch_factor or 0) for c in machine.runs if c.num_workers > 8]
    assert failed
    assert failed == sorted(failed, reverse=True)
    assert len(set(failed)) == len(failed)


def test_a_failing_baseline_does_not_end_the_search(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, outcome=lambda c: "timed-out" if c.num_workers == 0 else "ok")
    result, choice, base = search(machine, tmp_path)
    assert result.trials[0].config == base
    assert result.trials[0].measurement.outcome == "timed-out"
    assert choice.config is not None
    assert choice.config != base
    assert choice.gain is None
    assert "baseline could not be measured" in choice.why


def test_a_broken_workload_ends_the_search_without_a_choice(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, outcome=lambda c: "user-error")
    result, choice, _ = search(machine, tmp_path)
    assert choice.config is None
    assert len(result.trials) == 3
    assert "the workload failed in each of 3 trials" in result.stopped


@pytest.mark.parametrize("outcome", ["timed-out", "user-error", "killed"])
def test_a_workload_that_cannot_have_workers_is_soon_left_alone(tmp_path: Path, outcome: Outcome) -> None:
    machine = Machine(cpu=5e-3, blocked=1e-2, outcome=lambda c: outcome if c.num_workers else "ok")
    result, choice, base = search(machine, tmp_path)
    assert choice.config == base
    assert [t.measurement.outcome for t in result.trials] == ["ok", outcome, outcome, outcome]
    assert f"failed in each of 3 trials with workers ({outcome})" in result.stopped


def test_a_job_whose_workers_hang_is_shown_that_it_runs_without(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, outcome=lambda c: "timed-out" if c.num_workers else "ok")
    _, choice, _ = search(machine, tmp_path, Declared(batch_size=32, num_workers=4))
    assert choice.config is not None
    assert choice.config.num_workers == 0


def test_points_that_do_not_fit_are_never_run(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=2e-3)
    room = 100 * 64 * 32  # about a hundred batches of 32 samples at 64 bytes
    search(machine, tmp_path, resources=Resources(cpus=2.0, shm_bytes=room))
    used = [(c.num_workers * (c.prefetch_factor or 0) + 2) * 64 * 32 for c in machine.runs if c.num_workers]
    assert max(used) <= 0.8 * room


def test_the_budget_ends_the_search(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=2e-3)
    search(machine, tmp_path, budget_seconds=120.0, patience=1_000, max_trials=1_000)
    assert machine.now <= 120.0 * 1.1


def test_slow_trials_leave_time_for_a_comparison(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, cpus=4.0, seconds_per_trial=25.0)
    result, choice, base = search(machine, tmp_path, budget_seconds=300.0)
    rounds = [t.origin for t in result.trials if t.config == base]
    assert "final 3" in rounds
    assert machine.now <= 330.0
    assert choice.changes


def test_exhaustive_measures_every_point_that_fits(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3)
    result, _, _ = search(machine, tmp_path, exhaustive=True, budget_seconds=1.0, max_trials=1_000)
    grid = {(c.num_workers, c.prefetch_factor) for c in machine.runs}
    assert grid == {(0, None), *((w, p) for w in (1, 2, 3) for p in (1, 2, 4, 8))}
    assert "final 5" in [t.origin for t in result.trials]


@pytest.mark.parametrize("after", [0, 1, 3, 7, 13, 14, 17], ids=lambda n: f"after-{n}-trials")
def test_an_interrupted_search_resumes_where_it_was(tmp_path: Path, after: int) -> None:
    stopped = Machine(cpu=30e-6, blocked=2e-3, transfer=20e-6, interrupt_at=after)
    with pytest.raises(KeyboardInterrupt):
        search(stopped, tmp_path)
    resumed = Machine(cpu=30e-6, blocked=2e-3, transfer=20e-6)
    events: list[Event] = []
    result, choice, base = search(resumed, tmp_path, events=events)
    assert result.reused == after
    run = sorted([*result.trials, *result.parts], key=lambda trial: trial.number)
    assert [t.config for t in run[:after]] == stopped.runs
    assert sum(isinstance(e, Ended) and e.reused for e in events) == after
    # The baseline runs again only in the comparison.
    assert [t.origin for t in result.trials if t.config == base].count("baseline") == 1
    assert choice.config is not None
    assert choice.config.num_workers >= 8
