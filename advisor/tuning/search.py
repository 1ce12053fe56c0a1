"""The course of a search: baseline, probes, predictions, proposals, and an interleaved comparison at the end.

It knows neither processes nor files: trials are run by the function it is given, time is told by the clock it is
given, and a `Study` keeps what was measured. So it is tested with a simulated machine, and it resumes by finding
its own earlier trials in the study instead of running them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from advisor.model.trial import Config, Measurement, Space, Trial
from advisor.tuning.batching import Batching, candidate
from advisor.tuning.choice import FINAL, choose, preference, round_of
from advisor.tuning.cost import Cost, learn, rate
from advisor.tuning.headroom import LEAST_WAIT
from advisor.tuning.prediction import NEAR_BEST, batch_candidates, worker_candidates
from advisor.tuning.progress import Ended, Listen, Said, Started, ignore
from advisor.tuning.space import PREFETCH_FACTORS, Resources, hopeless, space, violations
from advisor.tuning.study import Study

SEARCH_SHARE = 0.65
"""Of the budget; the rest is for the interleaved comparison."""
ROUNDS = 5
LEAST_ROUNDS = 3
"""Rounds of the comparison: at most, and what the budget is overdrawn for by at most its own tenth."""
FINALISTS = 3
NEAR = 0.93
"""Runners-up slower than this share of the fastest cannot win a comparison that differs by noise."""
WORTH = 0.02
"""A trial that is better by less than this does not renew the patience."""
MOST_REFUSED = 50
"""Proposals in a row that need no trial (infeasible, or measured often enough) before the space counts as searched."""
MOST_REPEATS = 2
MOST_FAILURES = 3
"""A workload that failed in this many trials, and never ran, is not tried further."""
BROKEN = frozenset({"user-error", "killed", "timed-out"})
"""Outcomes that say nothing about what the host has too little of."""
PROPOSED = ("search", "repeat")
"""Origins of the trials that the sampler proposed."""

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


@dataclass(frozen=True)
class Outcome:
    """What a search brought."""

    trials: tuple[Trial, ...]
    space: Space
    stopped: str
    """Why it ended."""
    reused: int = 0
    """Trials taken over from an interrupted run."""


@dataclass
class Search:
    """One search; `run_search` is the way to use it."""

    job: Job
    limits: Limits
    study: Study
    run: Run
    clock: Callable[[], float]
    listen: Listen = ignore
    trials: list[Trial] = field(default_factory=list)
    spent: float = 0.0
    """Seconds of earlier runs of this search."""
    started: float = 0.0

    def take_over(self) -> int:
        """Takes over the trials of an interrupted run."""
        for kept in self.study.kept():
            self.trials.append(kept.trial)
            self.spent += kept.seconds
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
        if not self.limits.exhaustive and self.left() < self.limits.budget_seconds * (1 - SEARCH_SHARE):
            return "the search's share of the budget is used up"
        return None

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
        needs = violations(config, self.job.resources, self.cost())
        self.study.finish(trial, self.clock() - began, needs)
        self.trials.append(trial)
        self.listen(Ended(trial))
        return trial

    def once(self, config: Config, origin: str) -> None:
        """Measures ``config`` unless it was, cannot work, or nothing more may begin."""
        if self.known(config) or self.full() or _broken(self.trials, config.num_workers) or self.impossible(config):
            return
        self.measure(config, origin)


def run_search(
    job: Job, limits: Limits, study: Study, run: Run, clock: Callable[[], float], listen: Listen = ignore
) -> Outcome:
    """Searches, and returns all that was measured; what an interrupted run measured is not measured again."""
    search = Search(job, limits, study, run, clock, listen)
    reused = search.take_over()
    if not search.known(job.baseline):
        search.measure(job.baseline, "baseline")
    if limits.diagnose_only:
        return Outcome(tuple(search.trials), search.space(), "only a diagnosis was asked for", reused)
    in_comparison = any(round_of(t) is not None for t in search.trials)
    stopped = "the comparison was resumed" if in_comparison else _look(search)
    _compare(search)
    return Outcome(tuple(search.trials), search.space(), stopped, reused)


def _look(search: Search) -> str:
    """Everything between the baseline and the comparison; returns why it ended."""
    workers_matter = _workers_matter(search)
    if not workers_matter and len(search.job.batching.choices) == 1:
        return f"the loop waits less than {LEAST_WAIT:.0%} of its time for data, so a better loader gains nothing"
    if workers_matter:
        _probe(search)
    if search.limits.exhaustive:
        return _exhaust(search)
    _predict(search, workers_matter)
    return _propose(search, workers_matter)


def _workers_matter(search: Search) -> bool:
    base = next((t for t in search.trials if t.config == search.job.baseline), None)
    if base is None or rate(base.measurement) is None or not base.measurement.step_seconds:
        return True
    share = base.measurement.wait_share
    return share is None or share >= LEAST_WAIT or (base.config.num_workers > 0 and share >= LEAST_WAIT / 2)


def _probe(search: Search) -> None:
    """None is the cheapest, one tells what a sample costs, a few tell whether it scales."""
    batch = search.job.batching.today
    for workers in (0, 1):
        search.once(search.point(workers, 2, batch), "probe")
    search.once(search.point(min(4, max(search.space().choices("num_workers"))), 2, batch), "probe")


def _predict(search: Search, workers_matter: bool) -> None:
    batch = search.job.batching.today
    if workers_matter:
        most, cpus = max(search.space().choices("num_workers")), search.job.resources.cpus or 1.0
        for workers in worker_candidates(search.cost(), cpus, most):
            search.once(search.point(workers, 2, batch), "model")
    config = search.incumbent()
    for size in batch_candidates(search.job.batching.choices, batch):
        search.once(search.point(config.num_workers, config.prefetch_factor, size), "model")
    if workers_matter:
        _around(search)


def _around(search: Search) -> None:
    """The neighbours of the incumbent: what is cheaper may do as well, what is larger may do better."""
    config = search.incumbent()
    if config.num_workers == 0:
        return
    workers, prefetch, batch = config.num_workers, config.prefetch_factor or 1, search.batch_of(config)
    most = max(search.space().choices("num_workers"))
    step = max(1, workers // 4)
    for near, ahead in ((workers, prefetch // 2), (workers - step, prefetch), (workers, prefetch * 2)):
        if near >= 1 and ahead in PREFETCH_FACTORS:
            search.once(search.point(min(near, most), ahead, batch), "neighbour")


def _propose(search: Search, workers_matter: bool) -> str:
    """Proposals of the sampler, until one of the limits is met."""
    refused = 0
    while (stop := search.full() or _broken(search.trials, 1) or _out_of_patience(search)) is None:
        if refused >= MOST_REFUSED:
            return "every point that can work was tried"
        asked = search.study.suggest(search.space())
        workers = asked.num_workers if workers_matter else search.job.baseline.num_workers
        config = search.point(workers, asked.prefetch_factor, asked.batch_size)
        if search.impossible(config) or sum(t.config == config for t in search.trials) >= MOST_REPEATS:
            search.study.refuse(asked.number, violations(config, search.job.resources, search.cost()))
            refused += 1
            continue
        refused = 0
        search.measure(config, "repeat" if search.known(config) else "search", asked.number)
    return stop


def _out_of_patience(search: Search) -> str | None:
    """Whether the last proposals gained nothing; read off the trials, so that a resumed search counts on."""
    without_gain, best = 0, 0.0
    for trial in search.trials:
        value = rate(trial.measurement) or 0.0
        without_gain = 0 if value > best * (1 + WORTH) else without_gain + (trial.origin in PROPOSED)
        best = max(best, value)
    if without_gain < search.limits.patience:
        return None
    return f"{without_gain} proposals in a row gained less than {WORTH:.0%}"


def _broken(trials: list[Trial], workers: int) -> str | None:
    """Why a trial with ``workers`` would fail like those before: the workload never ran, or never with any."""
    with_workers = [t for t in trials if t.config.num_workers]
    for what, tried in (("", trials), (" with workers", with_workers if workers else [])):
        outcomes = {t.measurement.outcome for t in tried}
        if len(tried) >= MOST_FAILURES and outcomes <= BROKEN:
            return f"the workload failed in each of {len(tried)} trials{what} ({', '.join(sorted(outcomes))})"
    return None


def _exhaust(search: Search) -> str:
    sizes = search.space()
    for workers, prefetch, batch in _grid(sizes):
        search.once(search.point(workers, prefetch, batch), "grid")
    return search.full() or _broken(search.trials, 1) or "every point that can work was tried"


def _grid(sizes: Space) -> Iterator[tuple[int, int | None, int]]:
    for batch in sizes.choices("batch_size"):
        for workers in sizes.choices("num_workers"):
            for prefetch in sizes.choices("prefetch_factor") if workers else (None,):
                yield workers, prefetch, batch


def _compare(search: Search) -> None:
    """Measures the finalists and the baseline in turn, A B C A B C, as far as the budget goes."""
    finalists = _finalists(search)
    if len(finalists) < 2:
        return
    done = max((number for t in search.trials if (number := round_of(t)) is not None), default=1)
    longest = 0.0
    for number in range(done, ROUNDS + 1):
        overdrawn = search.left() < longest and number > LEAST_ROUNDS
        if overdrawn or search.left() < -search.limits.budget_seconds / 10:
            search.listen(Said(f"the budget ended the comparison after {number - 1} of {ROUNDS} rounds"))
            return
        began = search.clock()
        for config in finalists:
            if not any(round_of(t) == number and t.config == config for t in search.trials):
                search.measure(config, f"{FINAL} {number}")
        longest = max(longest, search.clock() - began)
        if number >= LEAST_ROUNDS and _settled(search):
            return


def _finalists(search: Search) -> list[Config]:
    """The baseline, the fastest, the cheapest that comes near it, and the runner-up; those of a resumed comparison."""
    resumed = [t.config for t in search.trials if round_of(t) is not None]
    if resumed:
        return list(dict.fromkeys(resumed))
    ranked = choose(search.trials, search.job.baseline).candidates
    if not ranked:
        return []
    near = [c for c in ranked if c.samples_per_second >= NEAR * ranked[0].samples_per_second]
    cheap = min(near, key=lambda c: preference(c.config, search.cost(), search.job.baseline))
    wanted = list(dict.fromkeys([ranked[0].config, cheap.config, *(c.config for c in near[1:])]))[:FINALISTS]
    base = [search.job.baseline] if any(c.config == search.job.baseline for c in ranked) else []
    return list(dict.fromkeys([*base, *wanted]))


def _settled(search: Search) -> bool:
    """Whether further rounds would not change what is said."""
    gain = choose(search.trials, search.job.baseline).gain
    return gain is not None and gain.excludes_one() and gain.low is not None and gain.low > 1.1
