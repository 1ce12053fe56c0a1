"""Micro-batches in a search on simulated machines: which are looked at, in which order, at the same global batch."""

import math
from pathlib import Path

from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.batching import Declared
from tests.tuning.simulated_machine import Machine, search


class KeepsNothing(Machine):
    """Memory for the loop, but not for batches that are kept."""

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        measured = super().__call__(config, part, windows)
        return Measurement("out-of-memory") if part == "cached" else measured


def test_kept_batches_that_take_too_much_memory_end_nothing(tmp_path: Path) -> None:
    machine = KeepsNothing(cpu=5e-3, step=1e-3, cpus=4.0)
    result, choice, _ = search(machine, tmp_path, Declared(batch_size=16, global_batch=64, has_step=True))
    assert machine.parts.count("cached") == 1
    assert choice.config is not None
    assert choice.config.num_workers == 4
    assert result.diagnosis is not None
    assert "at most" in result.diagnosis.says


class LargerSteps(Machine):
    """A machine whose step gains 2 % with each doubling of the micro-batch."""

    def seconds(self, config: Config, part: Part = "loop") -> float:
        """Seconds per sample."""
        saved: float = 1.02 ** math.log2((config.batch_size or 1) / 8)
        return super().seconds(config, part) / saved


def test_a_far_faster_micro_batch_is_looked_at_in_a_short_budget_too(tmp_path: Path) -> None:
    """Fourteen trials' time: the last per cent of today's micro-batch must not use it up, nor the comparison fail."""
    machine = FixedSteps(cpu=1e-5, blocked=1e-3, step=2e-3, cpus=8.0, noise=0.02, seconds_per_trial=5.0)
    declared = Declared(batch_size=8, global_batch=128, has_step=True)
    _, choice, _ = search(machine, tmp_path, declared, budget_seconds=70.0)
    assert choice.config is not None
    assert (choice.config.batch_size or 0) >= 32


class FixedSteps(Machine):
    """A machine whose step takes as long whatever its micro-batch."""

    def step_of(self, config: Config) -> float:
        """Seconds of the step for a sample."""
        return 8 * self.step / (config.batch_size or 8)


def test_what_is_best_today_is_tried_with_the_fastest_micro_batch_too(tmp_path: Path) -> None:
    """Samples in memory that are dear to hand over: no workers are best, whatever the model says of larger batches."""
    machine = LargerSteps(cpu=4e-6, step=2e-5, transfer=1e-4, cpus=8.0, noise=0.0)
    search(machine, tmp_path, Declared(batch_size=8, global_batch=64, has_step=True), budget_seconds=3000)
    other = [c for c in machine.loops() if c.batch_size != 8]
    assert (other[0].num_workers, other[0].batch_size) == (0, 64)


class LargestSlightlySlower(Machine):
    """A machine whose step gains by larger micro-batches up to 32 samples, and takes 1.5 % more with 64."""

    def step_of(self, config: Config) -> float:
        """Seconds of the step for a sample."""
        batch = config.batch_size or 8
        return 8 * self.step / min(batch, 32) * (1.015 if batch > 32 else 1.0)


def test_of_micro_batches_that_noise_cannot_tell_apart_the_largest_is_tried_first(tmp_path: Path) -> None:
    machine = LargestSlightlySlower(cpu=1e-5, step=2e-3, cpus=4.0, noise=0.002)
    search(machine, tmp_path, Declared(batch_size=8, global_batch=64, has_step=True), budget_seconds=3000)
    other = [c for c in machine.loops() if c.batch_size != 8]
    assert other[0].batch_size == 64


def test_small_gains_of_larger_micro_batches_add_up(tmp_path: Path) -> None:
    machine = LargerSteps(cpu=1e-5, step=2e-3, cpus=8.0, noise=0.0)
    search(machine, tmp_path, Declared(batch_size=8, global_batch=128, has_step=True), budget_seconds=3000)
    alone = [c.batch_size for c, part in zip(machine.runs, machine.parts, strict=True) if part == "cached"]
    assert max(filter(None, alone)) == 128
    assert max(c.batch_size or 0 for c in machine.loops()) >= 32


def test_the_global_batch_is_kept_by_every_trial(tmp_path: Path) -> None:
    machine = Machine(cpu=5e-3, step=1e-3, cpus=4.0)
    search(machine, tmp_path, Declared(batch_size=16, global_batch=96, has_step=True))
    assert {(c.batch_size or 0) * c.accumulation for c in machine.runs} == {96}
    assert len({c.batch_size for c in machine.runs}) > 1
