"""The course of a search: baseline, probes, predictions, proposals, and an interleaved comparison at the end.

It knows neither processes nor files: trials are run by the function it is given, time is told by the clock it is
given, and a `Study` keeps what was measured. So it is tested with a simulated machine, and it resumes by finding
its own earlier trials in the study instead of running them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from advisor.model.trial import Space, Trial
from advisor.tuning.choice import round_of
from advisor.tuning.comparison import compare
from advisor.tuning.cost import rate
from advisor.tuning.headroom import LEAST_WAIT
from advisor.tuning.prediction import batch_candidates, worker_candidates
from advisor.tuning.progress import Listen, ignore
from advisor.tuning.session import Job, Limits, Run, Session, broken
from advisor.tuning.space import PREFETCH_FACTORS, violations
from advisor.tuning.study import Study

WORTH = 0.02
"""A trial that is better by less than this does not renew the patience."""
MOST_REFUSED = 50
"""Proposals in a row that need no trial (infeasible, or measured often enough) before the space counts as searched."""
MOST_REPEATS = 2
PROPOSED = ("search", "repeat")
"""Origins of the trials that the sampler proposed."""


@dataclass(frozen=True)
class Outcome:
    """What a search brought."""

    trials: tuple[Trial, ...]
    space: Space
    stopped: str
    """Why it ended."""
    reused: int = 0
    """Trials taken over from an interrupted run."""


def run_search(
    job: Job, limits: Limits, study: Study, run: Run, clock: Callable[[], float], listen: Listen = ignore
) -> Outcome:
    """Searches, and returns all that was measured; what an interrupted run measured is not measured again."""
    session = Session(job, limits, study, run, clock, listen)
    reused = session.take_over()
    if not session.known(job.baseline):
        session.measure(job.baseline, "baseline")
    if limits.diagnose_only:
        return Outcome(tuple(session.trials), session.space(), "only a diagnosis was asked for", reused)
    in_comparison = any(round_of(t) is not None for t in session.trials)
    stopped = "the comparison was resumed" if in_comparison else _look(session)
    compare(session)
    return Outcome(tuple(session.trials), session.space(), stopped, reused)


def _look(session: Session) -> str:
    """Everything between the baseline and the comparison; returns why it ended."""
    workers_matter = _workers_matter(session)
    if not workers_matter and len(session.job.batching.choices) == 1:
        return f"the loop waits less than {LEAST_WAIT:.0%} of its time for data, so a better loader gains nothing"
    if workers_matter:
        _probe(session)
    if session.limits.exhaustive:
        return _exhaust(session)
    _predict(session, workers_matter)
    return _propose(session, workers_matter)


def _workers_matter(session: Session) -> bool:
    base = next((t for t in session.trials if t.config == session.job.baseline), None)
    if base is None or rate(base.measurement) is None or not base.measurement.step_seconds:
        return True
    share = base.measurement.wait_share
    return share is None or share >= LEAST_WAIT or (base.config.num_workers > 0 and share >= LEAST_WAIT / 2)


def _probe(session: Session) -> None:
    """None is the cheapest, one tells what a sample costs, a few tell whether it scales."""
    batch = session.job.batching.today
    for workers in (0, 1):
        session.once(session.point(workers, 2, batch), "probe")
    session.once(session.point(min(4, max(session.space().choices("num_workers"))), 2, batch), "probe")


def _predict(session: Session, workers_matter: bool) -> None:
    batch = session.job.batching.today
    if workers_matter:
        most, cpus = max(session.space().choices("num_workers")), session.job.resources.cpus or 1.0
        for workers in worker_candidates(session.cost(), cpus, most):
            session.once(session.point(workers, 2, batch), "model")
    config = session.incumbent()
    for size in batch_candidates(session.job.batching.choices, batch):
        session.once(session.point(config.num_workers, config.prefetch_factor, size), "model")
    if workers_matter:
        _around(session)


def _around(session: Session) -> None:
    """The neighbours of the incumbent: what is cheaper may do as well, what is larger may do better."""
    config = session.incumbent()
    if config.num_workers == 0:
        return
    workers, prefetch, batch = config.num_workers, config.prefetch_factor or 1, session.batch_of(config)
    most = max(session.space().choices("num_workers"))
    step = max(1, workers // 4)
    for near, ahead in ((workers, prefetch // 2), (workers - step, prefetch), (workers, prefetch * 2)):
        if near >= 1 and ahead in PREFETCH_FACTORS:
            session.once(session.point(min(near, most), ahead, batch), "neighbour")


def _propose(session: Session, workers_matter: bool) -> str:
    """Proposals of the sampler, until one of the limits is met."""
    refused = 0
    while (stop := session.full() or broken(session.trials, 1) or _out_of_patience(session)) is None:
        if refused >= MOST_REFUSED:
            return "every point that can work was tried"
        asked = session.study.suggest(session.space())
        workers = asked.num_workers if workers_matter else session.job.baseline.num_workers
        config = session.point(workers, asked.prefetch_factor, asked.batch_size)
        if session.impossible(config) or sum(t.config == config for t in session.trials) >= MOST_REPEATS:
            session.study.refuse(asked.number, violations(config, session.job.resources, session.cost()))
            refused += 1
            continue
        refused = 0
        session.measure(config, "repeat" if session.known(config) else "search", asked.number)
    return stop


def _out_of_patience(session: Session) -> str | None:
    """Whether the last proposals gained nothing; read off the trials, so that a resumed search counts on."""
    without_gain, best = 0, 0.0
    for trial in session.trials:
        value = rate(trial.measurement) or 0.0
        without_gain = 0 if value > best * (1 + WORTH) else without_gain + (trial.origin in PROPOSED)
        best = max(best, value)
    if without_gain < session.limits.patience:
        return None
    return f"{without_gain} proposals in a row gained less than {WORTH:.0%}"


def _exhaust(session: Session) -> str:
    sizes = session.space()
    for workers, prefetch, batch in _grid(sizes):
        session.once(session.point(workers, prefetch, batch), "grid")
    return session.full() or broken(session.trials, 1) or "every point that can work was tried"


def _grid(sizes: Space) -> Iterator[tuple[int, int | None, int]]:
    for batch in sizes.choices("batch_size"):
        for workers in sizes.choices("num_workers"):
            for prefetch in sizes.choices("prefetch_factor") if workers else (None,):
                yield workers, prefetch, batch
