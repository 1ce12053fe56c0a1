"""The measured loop: start-up, discarded steps, windows. Pure: batches, training, clocks and edges are handed in.

A short window right after a pause measures the backlog that the workers have built up, not the loader, so twice the
backlog and ten steps more are thrown away first; a rate counts the time of data and of training, as a real loop does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import lcm
from statistics import median
from typing import Any

from advisor.tuning.reading import Read, between
from advisor.tuning.updates import Updates

SETTLING_STEPS = 10
"""Discarded beyond twice the backlog: optimizer state, autotuned kernels."""
LEAST_SETTLING_STEPS = 3
"""Discarded beyond once the backlog, when time is short."""
LEAST_WARM_UP_SECONDS = 0.3
WARM_UP_SHARE = 0.3
"""Of the time there is: past it the shorter warm-up must do."""
LONGEST_WARM_UP_SHARE = 0.5
LEAST_WINDOW_STEPS = 20
LEAST_FOR_TAIL = 100
"""Steps of a window before its slowest hundredth is told."""
LEAST_CUT_STEPS = 3
"""A window that time cut short still counts with so many steps, if it is the only one."""
WARMING_UP, MEASURING = "warming up", "measuring window"
"""What is told once batches come."""
LONG_STEP_WINDOWS = 4.0
"""An optimizer step, or an epoch, that takes so many windows is not waited for."""
MOST_DRAINED = 0.1
"""Of a window that the end of the data cut short: what workers may have had ready at its beginning."""
END = object()
"""In place of a batch: there are no more."""


@dataclass(frozen=True)
class Plan:
    """How to measure."""

    num_workers: int
    prefetch_factor: int
    accumulation: int
    windows: int
    window_seconds: float
    ends: float
    """Reading of the clock at which measuring must be over."""
    epoch: int = 1
    """Batches of an epoch, where windows are to hold whole ones, with what comes between them."""

    def backlog(self) -> int:
        """Batches that can be ready at most."""
        return self.num_workers * self.prefetch_factor


@dataclass(frozen=True)
class Edge:
    """Cumulative readings at the edge of a window."""

    workers_cpu_seconds: float | None
    workers_delay_seconds: float | None
    """Time in which workers could have run but had no CPU."""
    device_busy_seconds: float | None
    """Time in which the accelerator had a step to work on; ``None``: the step runs on the CPU."""
    reads: Mapping[int, Read] | None = None
    """What the loading processes have read, by process."""


@dataclass(frozen=True)
class Window:
    """One measured window."""

    steps: int
    samples: int
    seconds: float
    wait_seconds: float
    median_step_seconds: float
    workers_cpu_seconds: float | None
    workers_delay_seconds: float | None
    device_busy_seconds: float | None
    whole: bool
    p99_step_seconds: float | None = None
    """The step that 99 of 100 are faster than; ``None``: too few of them, or no training."""
    read: Read | None = None
    """What the loading processes read; ``None``: not told."""
    excess_seconds: float = 0.0
    """Of updates that the job would not have made in so few micro-batches."""

    def rate(self) -> float:
        """Samples per second, data time included."""
        return self.samples / (self.seconds - self.excess_seconds)


@dataclass
class Figures:
    """What was measured."""

    startup_seconds: float = 0.0
    discarded_steps: int = 0
    warm_up_cut_short: bool = False
    loading_wall_seconds: float = 0.0
    """In the discarded steps, but for the first two: time inside the loader's ``next``..."""
    loading_cpu_seconds: float = 0.0
    """...CPU time of the loop's thread there..."""
    loading_delay_seconds: float = 0.0
    """...and time in which it could have run but had no CPU."""
    loading_samples: int = 0
    update_seconds: float | None = None
    """The optimizer's update; ``None``: it was not timed by itself, as windows hold whole optimizer steps."""
    ended: bool = False
    """Whether there were no more batches."""
    whole_epochs: bool = True
    """Whether windows hold whole epochs, if they are to."""
    windows: tuple[Window, ...] = ()


class Loop:
    """A training loop under a clock."""

    def __init__(
        self,
        batches: Iterator[Any],
        train: Callable[[Any], None] | None,
        samples_in: Callable[[Any], int],
        clock: Callable[[], float],
        cpu_clock: Callable[[], float],
        delay_clock: Callable[[], float],
        edge: Callable[[], Edge],
        told: Callable[[str], None],
        update: Callable[[], None] | None = None,
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """``update`` ends an optimizer step; ``finish`` waits until the accelerator has done all that is queued."""
        self.batches, self.train, self.samples_in = batches, train, samples_in
        self.clock, self.cpu_clock, self.delay_clock = clock, cpu_clock, delay_clock
        self.edge, self.told = edge, told
        self.updates = Updates(1, update, finish, clock)
        self.longest = 0.0
        self.typical = 0.0
        """Seconds of a step while warming up."""
        self.unit = 1
        """Micro-batches that a window holds a multiple of: whole optimizer steps, and epochs."""
        self.ended = False

    def measure(self, plan: Plan, built: float, on_window: Callable[[Window], None]) -> Figures:
        """Everything; ``built`` is when building the loader began."""
        figures = Figures()
        self.updates = replace(self.updates, accumulation=plan.accumulation)
        first = next(self.batches)
        figures.startup_seconds = self.clock() - built
        windows = self._warm_up(plan, first, figures)
        long = LONG_STEP_WINDOWS * plan.window_seconds
        self.updates.settle(_least(plan), lambda steps: steps * self.longest > long)
        self.unit = lcm(self.updates.every, plan.epoch)
        if figures.discarded_steps % plan.epoch or (plan.epoch > 1 and self.unit * self.typical > long):
            self.unit, figures.whole_epochs = self.updates.every, False
        for window in windows:
            on_window(window)
        while not self.ended and len(windows) < plan.windows and self.clock() + self.longest < plan.ends:
            self.told(f"{MEASURING} {len(windows) + 1} of {plan.windows}")
            window = self._window(plan, self._window_seconds(plan, plan.windows - len(windows)))
            least = 1 if self.updates.apart else plan.accumulation
            if window.whole or (not windows and window.steps >= max(self._least_cut(plan), least)):
                windows.append(window)
                on_window(window)
            if not window.whole:
                break
        figures.windows, figures.ended = tuple(windows), self.ended
        figures.update_seconds = median(self.updates.timed) if self.updates.timed else None
        return figures

    def _least_cut(self, plan: Plan) -> float:
        """Micro-batches of a window that was cut short, and yet counts."""
        return max(_least(plan), plan.backlog() / MOST_DRAINED) if self.ended else LEAST_CUT_STEPS

    def _window_seconds(self, plan: Plan, left: int) -> float:
        """As planned, or an even share of what time is left."""
        return min(plan.window_seconds, max(plan.ends - self.clock(), 0.0) / left)

    def _warm_up(self, plan: Plan, first: Any, figures: Figures) -> list[Window]:
        """Discards steps; where all there is was too fast for that, what came after enough of them is a window."""
        self.told(WARMING_UP)
        settled: tuple[float, Edge, Figures] | None = None
        wanted = 2 * plan.backlog() + SETTLING_STEPS
        least = plan.backlog() + LEAST_SETTLING_STEPS
        began = now = self.clock()
        short, shortest = (began + share * (plan.ends - began) for share in (WARM_UP_SHARE, LONGEST_WARM_UP_SHARE))
        batch = first
        while True:
            if self.train is not None:
                self.train(batch)
                self.updates.trained()
            figures.discarded_steps += 1
            before, now = now, self.clock()
            if figures.discarded_steps > 1:  # the first one builds what later ones reuse
                self.longest = max(self.longest, now - before)
            done = figures.discarded_steps
            self.typical = (now - began) / done
            at_the_end = done % plan.epoch == 0 or now > short
            if done >= wanted and now - began >= LEAST_WARM_UP_SECONDS and at_the_end:
                return []
            if done == wanted:
                settled = now, self.edge(), replace(figures)
            if (done >= least and now > short) or now > shortest:
                figures.warm_up_cut_short = done < wanted
                return []
            batch = self._timed_next(figures)
            if batch is END:
                self.ended = True
                enough = settled is not None and done - wanted >= self._least_cut(plan)
                return [self._settled(*settled, figures)] if settled is not None and enough else []

    def _settled(self, began: float, before: Edge, then: Figures, figures: Figures) -> Window:
        """What was measured since ``then`` as a window."""
        after, took = self.edge(), self.clock() - began
        steps = figures.discarded_steps - then.discarded_steps
        figures.discarded_steps = then.discarded_steps
        return Window(
            steps=steps,
            samples=figures.loading_samples - then.loading_samples,
            seconds=took,
            wait_seconds=figures.loading_wall_seconds - then.loading_wall_seconds,
            median_step_seconds=took / steps,
            workers_cpu_seconds=_difference(after.workers_cpu_seconds, before.workers_cpu_seconds),
            workers_delay_seconds=_difference(after.workers_delay_seconds, before.workers_delay_seconds),
            device_busy_seconds=_difference(after.device_busy_seconds, before.device_busy_seconds),
            whole=False,
            read=between(before.reads, after.reads),
        )

    def _timed_next(self, figures: Figures) -> Any:
        """The next batch, its time and CPU time noted once the loop has got going."""
        delay, cpu, began = self.delay_clock(), self.cpu_clock(), self.clock()
        batch = next(self.batches, END)
        if figures.discarded_steps >= 2 and batch is not END:
            figures.loading_wall_seconds += self.clock() - began
            figures.loading_cpu_seconds += self.cpu_clock() - cpu
            figures.loading_delay_seconds += self.delay_clock() - delay
            figures.loading_samples += self.samples_in(batch)
        return batch

    def _window(self, plan: Plan, seconds: float) -> Window:
        least, updated = _multiple(_least(plan), self.unit), len(self.updates.timed)
        before = self.edge()
        run = self._loaded if self.train is None else self._trained
        started = self.clock()
        steps, samples, wait, durations = run(plan, started, least, seconds)
        after = self.edge()
        took = self.clock() - started
        whole = not self.ended and steps >= least and steps % self.unit == 0
        return Window(
            steps=steps,
            samples=samples,
            seconds=took,
            wait_seconds=wait,
            median_step_seconds=median(durations) if durations else took / max(steps, 1),
            workers_cpu_seconds=_difference(after.workers_cpu_seconds, before.workers_cpu_seconds),
            workers_delay_seconds=_difference(after.workers_delay_seconds, before.workers_delay_seconds),
            device_busy_seconds=_difference(after.device_busy_seconds, before.device_busy_seconds),
            whole=whole,
            p99_step_seconds=_slowest(durations),
            read=between(before.reads, after.reads),
            excess_seconds=self.updates.excess_seconds(self.updates.timed[updated:], steps),
        )

    def _trained(self, plan: Plan, started: float, least: int, seconds: float) -> tuple[int, int, float, list[float]]:
        batches, clock, samples_in, train, updates = self.batches, self.clock, self.samples_in, self.train, self.updates
        assert train is not None
        steps = samples = 0
        wait = 0.0
        durations: list[float] = []
        before = started
        while True:
            batch = next(batches, END)
            if batch is END:
                self.ended = True
                return steps, samples, wait, durations
            got = clock()
            train(batch)
            updates.trained()
            now = clock()
            steps += 1
            samples += samples_in(batch)
            wait += got - before
            durations.append(now - before)
            self.longest = max(self.longest, now - before)
            before = now
            if steps >= least and now - started >= seconds and steps % self.unit == 0:
                return steps, samples, wait, durations
            if now + self.longest > plan.ends:
                return steps, samples, wait, durations

    def _loaded(self, plan: Plan, started: float, least: int, seconds: float) -> tuple[int, int, float, list[float]]:
        """The loader alone: one look at the clock a step, as tensors in memory are ready in microseconds."""
        batches, clock, samples_in = self.batches, self.clock, self.samples_in
        steps = samples = 0
        longest = self.longest
        before = started
        while True:
            batch = next(batches, END)
            if batch is END:
                self.ended, self.longest = True, longest
                return steps, samples, clock() - started, []
            samples += samples_in(batch)
            now = clock()
            steps += 1
            if now - before > longest:
                longest = now - before
            before = now
            if (steps >= least and now - started >= seconds and steps % self.unit == 0) or (now + longest > plan.ends):
                self.longest = longest
                return steps, samples, now - started, []


def _slowest(durations: list[float]) -> float | None:
    """The 99th percentile of enough ``durations``."""
    return sorted(durations)[-max(len(durations) // 100, 1)] if len(durations) >= LEAST_FOR_TAIL else None


def _least(plan: Plan) -> int:
    """Micro-batches of a window at least."""
    return max(LEAST_WINDOW_STEPS, 2 * plan.num_workers)


def _multiple(steps: int, accumulation: int) -> int:
    """The least multiple of ``accumulation`` from ``steps`` on: a window holds whole optimizer steps."""
    return -(-steps // accumulation) * accumulation


def _difference(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None else after - before
