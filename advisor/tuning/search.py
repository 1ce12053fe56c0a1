"""The course of a search: baseline, probes, predictions, proposals, and an interleaved comparison at the end.

It knows neither processes nor files: trials are run by the function it is given, time is told by the clock it is
given, and a `Study` keeps what was measured. So it is tested with a simulated machine, and it resumes by finding
its own earlier trials in the study instead of running them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from advisor.model.trial import Config, Space, Trial
from advisor.tuning.choice import round_of
from advisor.tuning.comparison import compare
from advisor.tuning.cost import rate
from advisor.tuning.exploring import (
    at_a_ceiling,
    batches_worth_a_trial,
    cheaper_one,
    most_promising,
    out_of_reach,
)
from advisor.tuning.headroom import LEAST_WAIT, Diagnosis, diagnose, enough
from advisor.tuning.prediction import NEAR_BEST
from advisor.tuning.progress import Listen, Said, ignore
from advisor.tuning.session import Job, Limits, Run, Session
from advisor.tuning.starting import OTHERS
from advisor.tuning.study import Study

WORTH = 0.005
"""A point that promises less than this is not measured."""
GAIN = 0.02
"""A trial that is better by less than this does not renew the patience."""
TODAYS_SHARE, HURRIED = 0.25, 2
"""Of the budget: past it so many trials without a gain are enough of today's micro-batch, if there are others."""
WITHOUT_WORKERS = 0.6
"""Of the fastest loop so far: a loop without workers that is expected to be slower is not looked at for that alone."""
MOST_CHEAPER = 3
"""Cheaper points that are tried once nothing faster is in sight."""
MOST_REFUSED = 50
"""Proposals in a row that need no trial (infeasible, far too slow, or measured often enough) before the space counts as
searched."""
MOST_REPEATS = 2
RESUMED = "the comparison was resumed"
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
    """Trials taken over from an earlier run that was interrupted, or only diagnosed."""
    parts: tuple[Trial, ...] = ()
    """Trials of parts of the job: the step alone, the loader alone."""
    diagnosis: Diagnosis | None = None


def run_search(
    job: Job, limits: Limits, study: Study, run: Run, clock: Callable[[], float], listen: Listen = ignore
) -> Outcome:
    """Searches, and returns all that was measured; what an interrupted run measured is not measured again."""
    session = Session(job, limits, study, run, clock, listen)
    reused = session.take_over()
    if reused:
        listen(Said(f"trials used again from an earlier run: {reused}"))
    if not session.known(job.baseline):
        session.measure(job.baseline, "baseline")
    diagnosis = _diagnose(session)
    if job.amp is not None:
        _look_at_autocast(session)
    if limits.diagnose_only:
        return Outcome(
            tuple(session.trials),
            session.space(),
            "only a diagnosis was asked for",
            reused,
            tuple(session.parts),
            diagnosis,
        )
    in_comparison = any(round_of(t) is not None for t in session.trials)
    stopped = RESUMED if in_comparison else _look(session, diagnosis)
    compare(session)
    return Outcome(tuple(session.trials), session.space(), stopped, reused, tuple(session.parts), diagnosis)


def _diagnose(session: Session) -> Diagnosis:
    """Measures the parts of the job as it is today and says what holds it up, before anything else is tried."""
    base = next((t for t in session.trials if t.config == session.job.baseline), None)
    trained, step = session.job.trained, _step_as_it_is(session)
    if base is not None and rate(base.measurement) is not None and trained:
        session.part("cached", step)
        if enough(diagnose(base, session.parts, trained), base):
            session.part("cached", step, 2)  # nothing may end here for one disturbed trial
        elif base.config.num_workers:
            session.part("loader", base.config)
        if session.job.accelerated:
            session.part("copied", step)
        if session.job.has_unread:
            session.part("cold", base.config)
    diagnosis = diagnose(base, session.parts, trained)
    session.listen(Said(f"headroom: {diagnosis.says}"))
    return diagnosis


def _step_as_it_is(session: Session) -> Config:
    """The step alone on today's micro-batch, in no autocast."""
    return replace(session.point(0, None, session.job.batching.today), amp=None)


def _look_at_autocast(session: Session) -> None:
    """Measures the step alone in autocast too; where that is faster, points are measured with it from here on."""
    step = _step_as_it_is(session)
    if session.part("cached", step) is not None:
        session.part("cached", replace(step, amp=session.job.amp))
    session.listen(Said(session.autocast().says))
    base, amp = session.job.baseline, session.autocast().amp
    if amp is not None and not session.limits.diagnose_only and any(t.config == base for t in session.good()):
        session.once(replace(base, amp=amp), "autocast")


def _look(session: Session, diagnosis: Diagnosis) -> str:
    """Everything between the diagnosis and the comparison; returns why it ended."""
    today, choices = session.job.batching.today, session.job.batching.choices
    base = next((t for t in session.trials if t.config == session.job.baseline), None)
    # What is enough for the step as it is may not be for a faster one.
    workers_matter = not enough(diagnosis, base) or session.autocast().amp is not None
    if not workers_matter and len(choices) == 1:
        return f"there is less than {LEAST_WAIT:.0%} to be gained from a better loader"
    if workers_matter or session.job.trained:
        _look_at_one_worker(session, base)
    if session.limits.exhaustive:
        return _exhaust(session)
    if session.surrogate() is None:
        return _search_blindly(session)
    stopped = f"there is less than {LEAST_WAIT:.0%} to be gained from a better loader"
    if workers_matter:
        _look_without_workers(session)
        # Another micro-batch may bring far more than the last few per cent of today's.
        stopped = _explore(session, (today,), hurried=len(choices) > 1 and session.job.trained)
    if session.job.trained and (sizes := batches_worth_a_trial(session)):
        _carry_over(session, sizes)
        stopped = _explore(session, (today, *sizes))
    if (len(choices) > 1 or not at_a_ceiling(session)) and session.full() is None:
        stopped = _propose(session, workers_matter)
    return stopped


def _carry_over(session: Session, sizes: Sequence[int]) -> None:
    """Measures what is best with today's micro-batch with the one whose step alone is fastest, too.

    Of those that noise may put in another order the largest: the loop takes the fewest batches then.
    """
    best, alone = session.incumbent(), {size: session.ceiling(size) or 0.0 for size in sizes}
    fastest = max(size for size, speed in alone.items() if speed >= NEAR_BEST * max(alone.values()))
    session.once(session.point(best.num_workers, best.prefetch_factor, fastest), "model")


def _look_at_one_worker(session: Session, base: Trial | None) -> None:
    """Measures the loader with one worker; started in other ways too, where the trials call for that."""
    today = session.job.batching.today
    if session.job.start_method == "fork" and base is not None and rate(base.measurement) is None:
        session.once(session.point(0, None, today), "probe")  # tells a job that fails from workers that fail
    for _ in (session.job.start_method, *OTHERS):
        session.part("loader", session.point(1, 2, today))


def _look_without_workers(session: Session) -> None:
    """Measures today's micro-batch without workers, unless that is hopeless.

    What workers cost a loop, handing batches over and in its way, is seen in no trial that has them.
    """
    alone = session.point(0, None, session.job.batching.today)
    if (session.predicted(alone) or 0.0) >= WITHOUT_WORKERS * max(session.speeds().values(), default=0.0):
        session.once(alone, "model")


def _search_blindly(session: Session) -> str:
    """Without the cost of a sample nothing can be predicted: doublings, then what the sampler proposes."""
    batch, workers = session.job.batching.today, 1
    session.once(session.point(0, None, batch), "probe")
    while workers <= max(session.space().choices("num_workers")):
        session.once(session.point(workers, 2, batch), "probe")
        workers *= 2
    return _propose(session, True)


def _explore(session: Session, batches: Sequence[int], hurried: bool = False) -> str:
    """Measures what promises most after all that is known, until nothing promises enough; then what is cheaper.

    ``hurried``: with less patience once its share of the budget is used up.
    """
    cheaper, without_gain = 0, 0
    while (stop := session.full() or session.broken(1)) is None:
        if hurried and without_gain >= HURRIED and session.left() < (1 - TODAYS_SHARE) * session.limits.budget_seconds:
            return _satisfied(without_gain, HURRIED)
        config, promised = most_promising(session, batches)
        if cheaper or promised < WORTH or without_gain >= session.limits.patience:
            config = cheaper_one(session, batches) if cheaper < MOST_CHEAPER else None
            cheaper += 1
        if config is None:
            return _satisfied(without_gain, session.limits.patience)
        best = max(session.speeds().values(), default=0.0)
        trial = session.measure(config, "cheaper" if cheaper else "model")
        without_gain = 0 if (rate(trial.measurement) or 0.0) > best * (1 + GAIN) else without_gain + 1
    return stop


def _satisfied(without_gain: int, patience: int) -> str:
    if without_gain >= patience:
        return f"{without_gain} trials in a row gained less than {GAIN:.0%}"
    return f"no point left promised more than {WORTH:.1%}"


def _propose(session: Session, workers_matter: bool) -> str:
    """Proposals of the sampler, until one of the limits is met."""
    refused = 0
    while (stop := session.full() or session.broken(1) or _out_of_patience(session)) is None:
        if refused >= MOST_REFUSED:
            return "every point that can work and may be the fastest was tried"
        asked = session.study.suggest(session.space())
        workers = asked.num_workers if workers_matter else session.job.baseline.num_workers
        config = session.point(workers, asked.prefetch_factor, asked.batch_size)
        often_enough = sum(t.config == config for t in session.trials) >= MOST_REPEATS
        if often_enough or session.impossible(config) or out_of_reach(session, config):
            session.study.refuse(asked.number, session.needs(config))
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
        without_gain = 0 if value > best * (1 + GAIN) else without_gain + (trial.origin in PROPOSED)
        best = max(best, value)
    if without_gain < session.limits.patience:
        return None
    return f"{without_gain} proposals in a row gained less than {GAIN:.0%}"


def _exhaust(session: Session) -> str:
    sizes = session.space()
    for workers, prefetch, batch in _grid(sizes):
        session.once(session.point(workers, prefetch, batch), "grid")
    return session.full() or session.broken(1) or "every point that can work was tried"


def _grid(sizes: Space) -> Iterator[tuple[int, int | None, int]]:
    for batch in sizes.choices("batch_size"):
        for workers in sizes.choices("num_workers"):
            for prefetch in sizes.choices("prefetch_factor") if workers else (None,):
                yield workers, prefetch, batch
