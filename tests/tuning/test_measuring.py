"""The measured loop on a simulated clock: what is thrown away, how long windows are, and what a lack of time does."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from advisor.tuning.measuring import Edge, Figures, Loop, Plan, Window


class Machine:
    """A loader and a training step whose times are told, on a clock of their own."""

    def __init__(
        self, load: Callable[[int], float], step: float | None, update: Callable[[int], float] | None = None
    ) -> None:
        self.now = 0.0
        self.cpu = 0.0
        self.load = load
        self.step = step
        self.update = update
        self.taken = 0
        self.trained = 0
        self.updates = 0
        self.unfinished = 0.0
        self.last: int | None = None
        """The batch that is the last one."""

    def batches(self) -> Iterator[int]:
        while self.taken != self.last:
            seconds = self.load(self.taken)
            self.now += seconds
            self.cpu += seconds / 4
            self.taken += 1
            yield self.taken

    def train(self, batch: int) -> None:
        assert self.step is not None
        self.now += self.step
        self.trained += 1

    def end_step(self) -> None:
        """Queued, as for an accelerator."""
        assert self.update is not None
        self.unfinished += self.update(self.updates)
        self.updates += 1

    def finish(self) -> None:
        self.now += self.unfinished
        self.unfinished = 0.0

    def edge(self) -> Edge:
        self.finish()
        return Edge(self.cpu, 0.0, None)

    def measure(self, plan: Plan, size: int = 8) -> tuple[Figures, list[Window]]:
        told: list[Window] = []
        loop = Loop(
            batches=self.batches(),
            train=self.train if self.step is not None else None,
            samples_in=lambda batch: size,
            clock=lambda: self.now,
            cpu_clock=lambda: self.cpu,
            delay_clock=lambda: 0.0,
            edge=self.edge,
            told=lambda text: None,
            update=self.end_step if self.update is not None else None,
            finish=self.finish,
        )
        return loop.measure(plan, 0.0, told.append), told


def plan(**changes: Any) -> Plan:
    usual = {
        "num_workers": 0,
        "prefetch_factor": 0,
        "accumulation": 1,
        "windows": 3,
        "window_seconds": 1.0,
        "ends": 1e3,
    }
    return Plan(**{**usual, **changes})


def test_start_up_is_told_apart_from_the_rates() -> None:
    machine = Machine(lambda n: 5.0 if n == 0 else 0.01, step=0.03)
    figures, told = machine.measure(plan())
    assert figures.startup_seconds == pytest.approx(5.0)
    assert [w.rate() for w in figures.windows] == pytest.approx([200.0] * 3)
    assert list(figures.windows) == told
    assert figures.windows[0].wait_seconds / figures.windows[0].seconds == pytest.approx(0.25)
    assert figures.windows[0].median_step_seconds == pytest.approx(0.04)


@pytest.mark.parametrize(("workers", "prefetch", "discarded"), [(0, 0, 10), (2, 2, 18), (4, 8, 74)])
def test_twice_the_backlog_and_ten_more_are_thrown_away(workers: int, prefetch: int, discarded: int) -> None:
    figures, _ = Machine(lambda n: 0.05, 0.05).measure(plan(num_workers=workers, prefetch_factor=prefetch))
    assert figures.discarded_steps == discarded
    assert not figures.warm_up_cut_short


def test_a_backlog_does_not_reach_the_windows() -> None:
    """While it lasts, batches are there at once; then each takes 20 ms."""
    machine = Machine(lambda n: 0.0 if n < 16 else 0.02, step=0.005)
    figures, _ = machine.measure(plan(num_workers=2, prefetch_factor=8))
    assert [w.rate() for w in figures.windows] == pytest.approx([8 / 0.025] * 3)


def test_very_fast_steps_are_discarded_for_some_time_at_least() -> None:
    figures, _ = Machine(lambda n: 1e-4, None).measure(plan(window_seconds=0.1))
    assert figures.discarded_steps >= 2000


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"window_seconds": 1.0}, 20),
        ({"window_seconds": 3.95}, 40),
        ({"window_seconds": 1.0, "num_workers": 16, "prefetch_factor": 1}, 32),
        ({"window_seconds": 1.0, "accumulation": 16}, 32),
        ({"window_seconds": 1.0, "accumulation": 64}, 64),
    ],
    ids=["twenty steps", "the time", "two of each worker", "whole optimizer steps", "one long optimizer step"],
)
def test_a_window_is_long_enough(changes: dict[str, Any], steps: int) -> None:
    figures, _ = Machine(lambda n: 0.05, 0.05).measure(plan(**changes))
    assert {w.steps for w in figures.windows} == {steps}
    assert all(w.whole for w in figures.windows)


def test_the_loader_alone_is_all_waiting() -> None:
    figures, _ = Machine(lambda n: 0.05, None).measure(plan())
    window = figures.windows[0]
    assert window.wait_seconds == pytest.approx(window.seconds)
    assert window.rate() == pytest.approx(160.0)


def test_what_loading_costs_is_taken_from_the_discarded_steps() -> None:
    figures, _ = Machine(lambda n: 0.04, 0.1).measure(plan())
    assert figures.loading_wall_seconds / figures.loading_samples == pytest.approx(0.04 / 8)
    assert figures.loading_cpu_seconds / figures.loading_samples == pytest.approx(0.01 / 8)


@pytest.mark.parametrize(
    ("step", "ends", "windows", "whole", "cut_short"),
    [(0.1, 10.0, 3, True, False), (1.0, 40.0, 1, True, False), (1.0, 18.0, 1, False, True), (5.0, 18.0, 0, True, True)],
    ids=["enough time", "time for one window", "time for a part of one", "no time"],
)
@pytest.mark.parametrize("trains", [True, False], ids=["trained", "loader alone"])
def test_slow_steps_give_fewer_windows_and_never_overrun(
    step: float, ends: float, windows: int, whole: bool, cut_short: bool, trains: bool
) -> None:
    machine = Machine(lambda n: step / 2 if trains else step, step / 2 if trains else None)
    figures, _ = machine.measure(plan(ends=ends))
    assert len(figures.windows) == windows
    assert all(w.whole is whole for w in figures.windows)
    assert figures.warm_up_cut_short is cut_short
    assert windows == 0 or machine.now <= ends


def test_the_last_of_several_windows_is_dropped_when_it_was_cut_short() -> None:
    figures, _ = Machine(lambda n: 0.25, 0.25).measure(plan(ends=30.0))
    assert [w.steps for w in figures.windows] == [20, 20]


def test_whole_optimizer_steps_hold_their_update() -> None:
    figures, _ = Machine(lambda n: 0.05, 0.05, lambda n: 50.0 if n == 0 else 1.6).measure(plan(accumulation=16))
    assert [w.steps for w in figures.windows] == [32] * 3
    assert [w.excess_seconds for w in figures.windows] == [0.0] * 3
    assert figures.update_seconds is None


def test_of_a_long_optimizer_step_the_update_is_timed_by_itself() -> None:
    """1024 micro-batches of 0.1 s, and an update of 2 s. The first update is slower, and is no window's."""
    machine = Machine(lambda n: 0.05, 0.05, lambda n: 50.0 if n == 0 else 2.0)
    figures, _ = machine.measure(plan(accumulation=1024))
    assert [w.steps for w in figures.windows] == [20] * 3
    assert all(w.whole for w in figures.windows)
    assert figures.update_seconds == pytest.approx(2.0)
    assert [w.rate() for w in figures.windows] == pytest.approx([8 * 1024 / (1024 * 0.1 + 2.0)] * 3)
    assert machine.now < 70.0


def test_a_part_of_a_long_optimizer_step_counts_when_there_is_time_for_no_more() -> None:
    figures, _ = Machine(lambda n: 2.5, 2.5, lambda n: 1.0).measure(plan(accumulation=64, ends=60.0))
    assert [(w.steps >= 3, w.whole) for w in figures.windows] == [(True, False)]
    assert figures.windows[0].rate() == pytest.approx(1.6)


@pytest.mark.parametrize(("accumulation", "window"), [(20, 0.1), (64, 2.0)], ids=["few micro-batches", "fast enough"])
def test_an_optimizer_step_that_can_be_waited_for_is_whole(accumulation: int, window: float) -> None:
    machine = Machine(lambda n: 0.05, 0.05, lambda n: 0.5)
    figures, _ = machine.measure(plan(accumulation=accumulation, window_seconds=window))
    assert {w.steps for w in figures.windows} == {accumulation}
    assert figures.update_seconds is None


@pytest.mark.parametrize("accumulation", [1, 4])
@pytest.mark.parametrize("step", [0.02, None])
def test_windows_hold_whole_epochs_and_the_pauses_between_them(step: float | None, accumulation: int) -> None:
    def load(n: int) -> float:
        return 0.5 if n % 7 == 0 else 0.01

    machine = Machine(load, step)
    figures, _ = machine.measure(plan(epoch=7, accumulation=accumulation))
    an_epoch = 0.5 + 6 * 0.01 + 7 * (step or 0.0)
    assert figures.discarded_steps % 7 == 0
    assert figures.whole_epochs
    assert [w.steps % (7 * accumulation) for w in figures.windows] == [0, 0, 0]
    assert [w.rate() for w in figures.windows] == pytest.approx([7 * 8 / an_epoch] * 3)


def test_an_epoch_that_is_long_for_a_window_is_not_waited_for() -> None:
    machine = Machine(lambda n: 0.1, step=0.1)
    figures, _ = machine.measure(plan(epoch=40))
    assert not figures.whole_epochs
    assert [w.steps for w in figures.windows] == [20, 20, 20]


@pytest.mark.parametrize("step", [0.02, None])
@pytest.mark.parametrize(("last", "windows"), [(20, 0), (61, 1)])
def test_batches_that_end_are_measured_if_they_make_a_window(step: float | None, last: int, windows: int) -> None:
    """Ten of them are for warming up, or 30 where that is short."""
    machine = Machine(lambda n: 0.01, step)
    machine.last = last
    figures, _ = machine.measure(plan(window_seconds=30.0))
    assert figures.ended
    assert [w.rate() for w in figures.windows] == pytest.approx([8 / (0.01 + (step or 0.0))] * windows)


@pytest.mark.parametrize("step", [0.001, None])
def test_batches_that_end_while_warming_up_are_a_window_once_enough_were_discarded(step: float | None) -> None:
    machine = Machine(lambda n: 0.001, step)
    machine.last = 10 + 40
    figures, told = machine.measure(plan())
    assert figures.ended
    assert figures.discarded_steps == 10
    assert [w.steps for w in figures.windows] == [40]
    assert figures.windows[0].rate() == pytest.approx(8 / (0.001 + (step or 0.0)))
    assert list(figures.windows) == told
    machine.last = machine.taken + 10 + 19
    assert machine.measure(plan(ends=machine.now + 1e3))[0].windows == ()


def test_what_workers_had_ready_when_batches_end_is_no_large_part_of_a_window() -> None:
    machine = Machine(lambda n: 0.01, step=0.01)
    machine.last = 2 * 32 + 10 + 319
    figures, _ = machine.measure(plan(num_workers=8, prefetch_factor=4, window_seconds=30.0))
    assert figures.ended
    assert figures.windows == ()
    machine.taken, machine.last = 0, 2 * 32 + 10 + 330
    figures, _ = machine.measure(plan(num_workers=8, prefetch_factor=4, window_seconds=30.0, ends=machine.now + 1e3))
    assert len(figures.windows) == 1
