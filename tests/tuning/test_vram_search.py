"""A search beside an accelerator of little memory, on simulated machines: what cannot fit is never started."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.batching import Declared
from advisor.tuning.space import Resources
from tests.tuning.test_search_policy import Machine, search

MIB = 1 << 20
DECLARED = Declared(batch_size=8, global_batch=512, has_step=True)
CUDA = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


@dataclass
class Accelerated(Machine):
    """A step that takes 5 ms and 10 us a sample: larger micro-batches gain. Memory in MiB."""

    flat: float = 0.0
    start: float = 100.0
    per_sample: float = 10.0
    has: float = 80_000.0
    """At which it runs out..."""
    retries_from: float = 80_000.0
    """...and from where blocks are given back."""

    def peak(self, batch: int) -> float:
        return max(self.flat, self.start + self.per_sample * batch)

    def seconds(self, config: Config, part: Part = "loop") -> float:
        step = 5e-3 / (config.batch_size or 1) + 1e-5
        return replace(self, step=step, cpu=self.cpu).plain(config, part)

    def plain(self, config: Config, part: Part) -> float:
        return Machine.seconds(Machine(self.cpu, step=self.step, cpus=self.cpus), config, part)

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        measured, peak = super().__call__(config, part, windows), self.peak(config.batch_size or 1)
        if part in ("loader", "cold"):
            return measured
        if peak > self.has:
            return Measurement("out-of-memory", message=CUDA)
        notes = {**measured.notes, "vram_allocated_bytes": int(peak * MIB)}
        notes["vram_alloc_retries"] = 3 if peak > self.retries_from else 0
        return replace(measured, peak_vram_bytes=int(peak * 1.1 * MIB), notes=notes)

    def sizes(self) -> set[int]:
        """Micro-batches that were started with a step."""
        return {c.batch_size or 0 for c, part in zip(self.runs, self.parts, strict=True) if part != "loader"}


def accelerated(**others: float) -> Accelerated:
    return Accelerated(cpu=1e-5, step=1e-3, cpus=8.0, noise=0.002, **others)


def room(mib: float | None) -> Resources:
    return Resources(cpus=8.0, vram_bytes=None if mib is None else int(mib * MIB))


def test_with_room_enough_the_micro_batch_grows(tmp_path: Path) -> None:
    machine = accelerated()
    _, choice, _ = search(machine, tmp_path, DECLARED, room(70_000))
    assert choice.config is not None
    assert (choice.config.batch_size or 0) >= 128


def test_what_is_predicted_not_to_fit_is_never_started(tmp_path: Path) -> None:
    machine = accelerated()
    _, choice, _ = search(machine, tmp_path, DECLARED, room(1000))
    assert max(machine.peak(size) for size in machine.sizes()) * 1.1 <= 1000
    assert 32 in machine.sizes()
    assert choice.config is not None
    assert choice.config.batch_size in (32, 64)


def test_exhaustive_leaves_out_what_cannot_fit_once_that_is_known(tmp_path: Path) -> None:
    machine = accelerated()
    search(machine, tmp_path, DECLARED, room(1000), exhaustive=True, max_trials=1_000)
    assert max(machine.sizes()) == 64


def test_a_point_that_turns_out_too_large_is_not_chosen_and_nothing_larger_is_tried(tmp_path: Path) -> None:
    """The first larger micro-batch is not known to fit, nor not to: it may be tried once."""
    machine = accelerated(start=800.0)
    result, choice, _ = search(machine, tmp_path, DECLARED, room(1000))
    assert max(machine.sizes()) == 16
    assert choice.config is not None
    assert choice.config.batch_size == 8
    assert {t.measurement.outcome for t in [*result.trials, *result.parts] if t.config.batch_size == 16} == {
        "out-of-memory"
    }


@pytest.mark.parametrize("limits", [{"has": 300.0}, {"retries_from": 300.0}], ids=["out of memory", "retries"])
def test_growth_ends_where_the_accelerator_is_full(tmp_path: Path, limits: dict[str, float]) -> None:
    """Nothing was told of its memory, so only trials show it."""
    machine = accelerated(**limits)
    _, choice, _ = search(machine, tmp_path, DECLARED, room(None))
    full = [c.batch_size for c in machine.runs if machine.peak(c.batch_size or 1) > 300]
    assert len(full) == 1
    assert choice.config is not None
    assert machine.peak(choice.config.batch_size or 1) <= 300


@pytest.mark.parametrize("limits", [{}, {"retries_from": 0.0}], ids=["fuller than planned with", "with retries"])
def test_todays_micro_batch_is_the_users_choice(tmp_path: Path, limits: dict[str, float]) -> None:
    machine = accelerated(**limits)
    machine.cpu = 4e-3
    result, choice, base = search(machine, tmp_path, replace(DECLARED, batch_size=32, global_batch=64), room(10))
    assert result.trials[0].measurement.outcome == "ok"
    assert choice.config is not None
    assert choice.config.num_workers > 0
    assert choice.config.batch_size == base.batch_size


def test_below_the_knee_a_line_promises_too_little_and_the_next_trial_corrects_it(tmp_path: Path) -> None:
    machine = accelerated(flat=500.0, start=0.0, per_sample=20.0)
    _, choice, _ = search(machine, tmp_path, DECLARED, room(1500))
    started = sorted(machine.sizes())
    assert sum(machine.peak(size) * 1.1 > 1500 for size in started) <= 1
    assert choice.config is not None
    assert machine.peak(choice.config.batch_size or 1) * 1.1 <= 1500
