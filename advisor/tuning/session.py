"""The state of a search: what was measured, what it cost, what is left of the budget."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from advisor.model.trial import Config, Measurement, Space, Trial
from advisor.tuning.batching import Batching, candidate
from advisor.tuning.choice import preference
from advisor.tuning.cost import Cost, learn, rate
from advisor.tuning.prediction import NEAR_BEST
from advisor.tuning.progress import Ended, Listen, Started, ignore
from advisor.tuning.space import Resources, hopeless, space, violations
from advisor.tuning.study import Study

COMPARISON_SHARE, MOST_COMPARISON_SHARE = 0.35, 0.55
"""Of the budget: what the interleaved comparison is to get, and what it may get where trials are slow."""
FINALISTS = 3
"""Beside the baseline, if time allows."""
MOST_FAILURES = 3
"""A workload that failed in this many trials, and never ran, is not tried further."""
BROKEN = frozenset({"user-error", "killed", "timed-out"})
"""Outcomes that say nothing about what the host has too little of."""
LEAST_ROUNDS = 3
"""Of the comparison."""

Run = Callable[[Config], Measurement]


@dataclass(frozen=True)
class Limits:
    """When to stop."""

    budget_seconds: float = 300.0
    patience: int = 4
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
    durations: list[float] = field(default_factory=list)
    spent: float = 0.0
    """Seconds of earlier runs of this search."""
    started: float = 0.0

    def take_over(self) -> int:
        """Takes over the trials of an interrupted run."""
        for kept in self.study.kept():
            self.trials.append(kept.trial)
            self.spent += kept.seconds
            self._note(kept.trial, kept.seconds)
            self.listen(Ended(kept.trial, reused=True))
        self.started = self.clock()
        return len(self.trials)

    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.limits.budget_seconds - self.spent - (self.clock() - self.started)

    def cost(self) -> Cost:
        """What the trials so far say of a sample."""
        return learn(self.trials)

    def space(self) -> Space:
        """Where to look, after what the trials so far say."""
        return space(self.job.resources, self.cost(), self.job.batching.choices)

    def point(self, workers: int, prefetch: int | None, batch: int) -> Config:
        """A point of the search."""
        return candidate(workers, prefetch, batch, self.job.batching, self.job.pin_memory)

    def batch_of(self, config: Config) -> int:
        """The micro-batch of ``config``."""
        return config.batch_size or self.job.batching.today

    def incumbent(self) -> Config:
        """What would be chosen now: the preferred one that comes near the fastest."""
        good = self.good()
        best = max((rate(t.measurement) or 0.0 for t in good), default=0.0)
        near = [t.config for t in good if (rate(t.measurement) or 0.0) >= NEAR_BEST * best]
        return min(near, key=lambda c: preference(c, self.cost(), self.job.baseline), default=self.job.baseline)

    def good(self) -> list[Trial]:
        """The trials that ran well."""
        return [t for t in self.trials if rate(t.measurement) is not None]

    def known(self, config: Config) -> bool:
        """Whether ``config`` was tried."""
        return any(t.config == config for t in self.trials)

    def full(self) -> str | None:
        """Why no further trial of the search may begin, if so."""
        if len(self.trials) >= self.limits.max_trials:
            return f"{self.limits.max_trials} trials were run (--max-trials)"
        if not self.limits.exhaustive and self.left() < self.reserve():
            return "the search's share of the budget is used up"
        return None

    def reserve(self) -> float:
        """Seconds that the comparison needs."""
        budget = self.limits.budget_seconds
        least = LEAST_ROUNDS * (1 + FINALISTS) * self.typical()
        return min(max(COMPARISON_SHARE * budget, least), MOST_COMPARISON_SHARE * budget)

    def typical(self) -> float:
        """Seconds that a trial takes that runs well."""
        return median(self.durations) if self.durations else 0.0

    def impossible(self, config: Config) -> str | None:
        """Why ``config`` cannot work, if that is known."""
        short = [name for name, excess in violations(config, self.job.resources, self.cost()).items() if excess > 0]
        return f"not enough {' and '.join(short)}" if short else hopeless(config, self.trials)

    def measure(self, config: Config, origin: str, number: int | None = None) -> Trial:
        """Runs one trial and tells the study, whatever comes of it."""
        number = self.study.begin(config, origin) if number is None else number
        self.listen(Started(number, config, origin))
        began = self.clock()
        trial = Trial(number, config, self.run(config), origin)
        seconds = self.clock() - began
        needs = violations(config, self.job.resources, self.cost())
        self.study.finish(trial, seconds, needs)
        self.trials.append(trial)
        self._note(trial, seconds)
        self.listen(Ended(trial))
        return trial

    def _note(self, trial: Trial, seconds: float) -> None:
        if rate(trial.measurement) is not None:
            self.durations.append(seconds)

    def once(self, config: Config, origin: str) -> None:
        """Measures ``config`` unless it was, cannot work, or nothing more may begin."""
        if self.known(config) or self.full() or broken(self.trials, config.num_workers) or self.impossible(config):
            return
        self.measure(config, origin)


def broken(trials: list[Trial], workers: int) -> str | None:
    """Why a trial with ``workers`` would fail like those before: the workload never ran, or never with any."""
    with_workers = [t for t in trials if t.config.num_workers]
    for what, tried in (("", trials), (" with workers", with_workers if workers else [])):
        outcomes = {t.measurement.outcome for t in tried}
        if len(tried) >= MOST_FAILURES and outcomes <= BROKEN:
            return f"the workload failed in each of {len(tried)} trials{what} ({', '.join(sorted(outcomes))})"
    return None
