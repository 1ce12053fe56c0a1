"""The state of a search: what was measured, what it cost, what is left of the budget."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median

from advisor.figures import count_text
from advisor.model.trial import AutocastType, Config, Measurement, Part, Space, Trial
from advisor.tuning import launching, sharing
from advisor.tuning.autocast import Autocast, autocast
from advisor.tuning.batching import Batching, candidate
from advisor.tuning.choice import Preference, preference
from advisor.tuning.cost import Cost, learn, rate
from advisor.tuning.epochs import Epoch
from advisor.tuning.prediction import NEAR_BEST, predicted
from advisor.tuning.progress import Ended, Listen, Started, ignore
from advisor.tuning.space import Bound, Resources, hopeless, space, violations
from advisor.tuning.starting import FAILURES, Starting, starting
from advisor.tuning.study import Study
from advisor.tuning.surrogate import Surrogate
from advisor.tuning.vram import with_room

COMPARISON_SHARE, MOST_COMPARISON_SHARE = 0.3, 0.55
"""Of the budget: what the interleaved comparison is to get, and what it may get where trials are slow."""
FINALISTS, NEAR = 3, 0.93
"""Beside the baseline, if time allows; of the fastest: what slower ones cannot win by noise."""
MOST_FAILURES = 3
"""A workload that failed in this many trials, and never ran, is not tried further."""
LEAST_ROUNDS = 3
"""Of the comparison."""
LEAST_LOOPS, LEAST_SHARE = 4, 0.15
"""Trials of the loop that are run for as long as the baseline and one other can be measured once more; the first beside
the baseline for as long as so much of the budget is left."""

Run = Callable[[Config, Part, int], Measurement]
"""Measures a part of the job with a configuration, in so many windows."""
WINDOWS, FINAL_WINDOWS = 3, 1
BUDGET_USED = "the search's share of the budget is used up"


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    budget_seconds: float = 300.0
    patience: int = 6
    """Trials in a row without a gain worth having."""
    max_trials: int = 40
    exhaustive: bool = False
    """Measure every point that can work, in order, whatever the budget."""
    diagnose_only: bool = False


@dataclass(frozen=True)
class Job:
    """What is to be tuned, and with what."""

    baseline: Config
    batching: Batching
    resources: Resources
    pin_memory: bool = False
    """Of the configurations tried: whether there is an accelerator to copy to."""
    accelerated: bool = False
    """Whether the step runs on an accelerator, to which batches are copied."""
    has_unread: bool = False
    """Whether the data set is large enough for samples that no trial has read."""
    trained: bool = False
    """Whether a step follows each batch, so that there is a speed that no loader can exceed."""
    start_method: str | None = None
    """How the platform starts workers; ``None``: not known, so they are never started otherwise."""
    amp: AutocastType | None = None
    """What the step is to be measured in too, by ``torch.autocast``; ``None``: that was not asked for."""
    epoch: Epoch | None = None
    """How much there is to load in one; ``None``: not known, or much."""
    repeats: bool = False
    """Whether the data set is a stream of which each worker gives every sample."""

    def bounds(self, batch: int) -> tuple[Bound, ...]:
        """The most workers that are of use with a micro-batch, whatever the resources."""
        repeating = ((sharing.MOST_WORKERS, sharing.REASON),) if self.repeats else ()
        return repeating if self.epoch is None else (*repeating, self.epoch.bound(batch))


@dataclass
class Session:
    """One search while it runs; `advisor.tuning.search.run_search` is the way to use it."""

    job: Job
    limits: Limits
    study: Study
    run: Run
    clock: Callable[[], float]
    listen: Listen = ignore
    trials: list[Trial] = field(default_factory=list)
    """Of the whole loop."""
    parts: list[Trial] = field(default_factory=list)
    """Of a part of it."""
    durations: list[float] = field(default_factory=list)
    """Seconds that the trials that ran well would take with the windows of the comparison..."""
    whole_durations: list[float] = field(default_factory=list)
    """...and that they took."""
    spent: float = 0.0
    """Seconds of earlier runs of this search."""
    started: float = 0.0
    _cost: Cost | None = None
    _surrogate: Surrogate | None = None
    _starting: Starting | None = None
    _autocast: Autocast | None = None

    def take_over(self) -> int:
        """Takes over the trials of an interrupted run."""
        for kept in self.study.kept():
            self._keep(kept.trial)
            self.spent += kept.seconds
            self._note(kept.trial, kept.seconds)
            self.listen(Ended(kept.trial, reused=True))
        self.started = self.clock()
        return len(self.trials) + len(self.parts)

    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.limits.budget_seconds - self.spent - (self.clock() - self.started)

    def cost(self) -> Cost:
        """What the trials so far say of a sample."""
        if self._cost is None:
            self._cost = learn([*self.trials, *self.parts], self.autocast().amp)
        return self._cost

    def starting(self) -> Starting:
        """How workers are to be started, after what the trials so far say."""
        if self._starting is None:
            self._starting = starting([*self.trials, *self.parts], self.job.start_method)
        return self._starting

    def autocast(self) -> Autocast:
        """Whether points are to be measured with their step in autocast, after what the step alone says."""
        if self._autocast is None:
            self._autocast = autocast(self.parts, self.job.amp, self.job.baseline.batch_size)
        return self._autocast

    def space(self) -> Space:
        """Where to look, after what the trials so far say."""
        choices = self.job.batching.choices
        return space(self.job.resources, self.cost(), choices, self.job.bounds(min(choices)))

    def point(self, workers: int, prefetch: int | None, batch: int) -> Config:
        """A point of the search."""
        made = candidate(workers, prefetch, batch, self.job.batching, self.job.pin_memory)
        context = self.starting().context if workers else None
        return replace(made, multiprocessing_context=context, amp=self.autocast().amp)

    def batch_of(self, config: Config) -> int:
        """The micro-batch of ``config``."""
        return config.batch_size or self.job.batching.today

    def incumbent(self) -> Config:
        """What would be chosen now: the preferred one that comes near the fastest."""
        speeds = self.speeds()
        best = max(speeds.values(), default=0.0)
        near = [config for config, speed in speeds.items() if speed >= NEAR_BEST * best]
        return min(near, key=self.preference, default=self.job.baseline)

    def preference(self, config: Config) -> Preference:
        """Sorts first what is to be preferred at the same speed."""
        return preference(config, self.cost(), self.job.baseline)

    def surrogate(self) -> Surrogate | None:
        """What to expect of any point, ``None`` while the cost of a sample is not known."""
        if self._surrogate is None and self.predicted(self.job.baseline) is not None:
            measured = [(t.config, rate(t.measurement) or 0.0) for t in self.good() if self.has_our_step(t.config)]
            self._surrogate = Surrogate(self._prior, measured)
        return self._surrogate

    def predicted(self, config: Config) -> float | None:
        """What the pipeline model alone expects, samples per second; ``None`` while a sample's cost is not known."""
        return predicted(config, self.cost(), self.job.resources.cpus or 1.0)

    def _prior(self, config: Config) -> float:
        """The logarithm of the speed that the model predicts, less what late launches may cost."""
        cost, cpus = self.cost(), self.job.resources.cpus
        speed = self.predicted(config) or 1e-9
        return math.log(speed) - (launching.penalty(config, cost, speed, cpus) if self.job.accelerated else 0.0)

    def has_our_step(self, config: Config) -> bool:
        """Whether the step of ``config`` is the one that is searched with, and that the model speaks of."""
        return config.amp == self.autocast().amp

    def speeds(self) -> dict[Config, float]:
        """What the configurations that ran give, each seen in the light of its neighbours if that can be."""
        found = {t.config: rate(t.measurement) or 0.0 for t in self.good()}
        surrogate = self.surrogate()
        if surrogate is not None:
            ours = [config for config in found if self.has_our_step(config)]
            found.update({config: self._attainable(config, math.exp(surrogate.expected(config)[0])) for config in ours})
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0].key())))

    def _attainable(self, config: Config, speed: float) -> float:
        """``speed``, but no more than the step alone gives: what is above that is noise."""
        ceiling = self.ceiling(self.batch_of(config))
        return speed if ceiling is None else min(speed, ceiling)

    def good(self) -> list[Trial]:
        """The trials that ran well."""
        return [t for t in self.trials if rate(t.measurement) is not None]

    def known(self, config: Config) -> bool:
        """Whether ``config`` was tried."""
        return any(t.config == config for t in self.trials)

    def full(self) -> str | None:
        """Why no further trial of the search may begin, if so."""
        if len(self.trials) >= self.limits.max_trials:
            return f"no more than {count_text(self.limits.max_trials, 'trial')} may be run (--max-trials)"
        if not self.limits.exhaustive and self.left() < self._kept():
            return BUDGET_USED
        return None

    def _kept(self) -> float:
        """Seconds that no further trial may begin with: few as long as there is hardly anything to compare."""
        if len(self.trials) < 2:
            return LEAST_SHARE * self.limits.budget_seconds
        if len(self.trials) < LEAST_LOOPS:
            return min(self.reserve(), 2 * self.typical())
        return self.reserve() + min(self.whole_durations, default=0.0)

    def reserve(self) -> float:
        """Seconds that the comparison needs."""
        budget = self.limits.budget_seconds
        least = LEAST_ROUNDS * (1 + self._finalists()) * self.typical()
        return min(max(COMPARISON_SHARE * budget, least), MOST_COMPARISON_SHARE * budget)

    def _finalists(self) -> int:
        """How many there would be now, beside the baseline, and one that may yet be found."""
        speeds = self.speeds()
        best = max(speeds.values(), default=0.0)
        near = sum(speed >= NEAR * best for config, speed in speeds.items() if config != self.job.baseline)
        return min(near + 1, FINALISTS)

    def typical(self) -> float:
        """Seconds that a trial of the comparison takes, which has fewer windows than others."""
        return median(self.durations) if self.durations else 0.0

    def needs(self, config: Config) -> Mapping[str, float]:
        """What ``config`` needs of each resource less what it may use.

        With today's micro-batch and smaller ones the job runs: how full the accelerator is there is the user's choice.
        """
        needs = dict(violations(config, self.job.resources, self.cost()))
        if self.is_todays(config) and "accelerator memory" in needs:
            needs["accelerator memory"] = min(needs["accelerator memory"], 0.0)
        return needs

    def is_todays(self, config: Config) -> bool:
        """Whether its micro-batch is no larger than today's."""
        return self.batch_of(config) <= self.job.batching.today

    def impossible(self, config: Config) -> str | None:
        """Why ``config`` cannot work, if that is known."""
        if config.num_workers and self.starting().in_vain:
            return self.starting().evidence
        for most, why in self.job.bounds(self.batch_of(config)):
            if config.num_workers > most:
                return why
        if self.job.epoch is not None and not self.job.epoch.batches(self.batch_of(config)):
            return "an epoch has no batch of that size"
        short = [name for name, excess in self.needs(config).items() if excess > 0]
        if short:
            return f"not enough {' and '.join(short)}"
        # Kept batches take memory that a loop does not: with today's micro-batch they say nothing about loops.
        larger = [t for t in self.parts if self.batch_of(t.config) > self.job.batching.today]
        return hopeless(config, [*self.trials, *larger])

    def measure(
        self, config: Config, origin: str, number: int | None = None, part: Part = "loop", windows: int = WINDOWS
    ) -> Trial:
        """Runs one trial and tells the study, whatever comes of it."""
        number = self.study.begin(config, origin) if number is None else number
        self.listen(Started(number, config, origin))
        began = self.clock()
        measured = self.run(config, part, windows)
        if not self.is_todays(config):
            measured = with_room(measured, self.job.resources.vram_bytes)
        trial = Trial(number, config, measured, origin, part)
        seconds = self.clock() - began
        self.study.finish(trial, seconds, self.needs(config))
        self._keep(trial)
        self._note(trial, seconds)
        self.listen(Ended(trial))
        return trial

    def part(self, part: Part, config: Config, times: int = 1) -> float | None:
        """The speed of a part of the job, the best of so many trials; ``None`` when it cannot be told.

        Disturbances only ever slow a part down, so the best is nearest the truth.
        """
        if part in ("loader", "cold"):
            config = replace(config, amp=None)  # there is no step
        while len(self._tried(part, config)) < times and not (self.full() or self.impossible(config)):
            self.measure(config, part, part=part)
        return max((speed for t in self._tried(part, config) if (speed := rate(t.measurement))), default=None)

    def _tried(self, part: Part, config: Config) -> list[Trial]:
        return [t for t in self.parts if t.part == part and t.config == config]

    def ceiling(self, batch: int) -> float | None:
        """What the step alone gives with a micro-batch, as far as it was measured: no loader makes a loop faster."""
        config = self.point(0, None, batch)
        return max((speed for t in self._tried("cached", config) if (speed := rate(t.measurement))), default=None)

    def _keep(self, trial: Trial) -> None:
        (self.trials if trial.part == "loop" else self.parts).append(trial)
        self._cost = self._surrogate = self._starting = self._autocast = None

    def _note(self, trial: Trial, seconds: float) -> None:
        if trial.part == "loop" and rate(trial.measurement) is not None:
            self.durations.append(seconds - _not_in_a_round(trial.measurement))
            self.whole_durations.append(seconds)

    def once(self, config: Config, origin: str) -> None:
        """Measures ``config`` unless it was, cannot work, or nothing more may begin."""
        if self.known(config) or self.full() or self.broken(config.num_workers) or self.impossible(config):
            return
        self.measure(config, origin)

    def broken(self, workers: int) -> str | None:
        """Why a trial with ``workers`` would fail like those before: the workload never ran, or never with any."""
        trials = [t for t in self.trials if self.counts(t)]
        with_workers = [t for t in trials if t.config.num_workers]
        for what, tried in (("", trials), (" with workers", with_workers if workers else [])):
            outcomes = {t.measurement.outcome for t in tried}
            if len(tried) >= MOST_FAILURES and outcomes <= FAILURES:
                return f"the workload failed in each of {len(tried)} trials{what} ({', '.join(sorted(outcomes))})"
        return None

    def counts(self, trial: Trial) -> bool:
        """Whether a failure of ``trial`` speaks of points to come: its workers were started as theirs will be."""
        return not trial.config.num_workers or trial.config.multiprocessing_context == self.starting().context


def _not_in_a_round(measured: Measurement) -> float:
    """Seconds of the windows that a trial of the comparison would not have measured; 0 when that cannot be told."""
    samples, speed, windows = measured.notes.get("samples"), rate(measured), len(measured.samples_per_second)
    if not isinstance(samples, int | float) or speed is None or windows <= FINAL_WINDOWS:
        return 0.0
    return samples / speed * (1 - FINAL_WINDOWS / windows)
