"""How workers are to be started: otherwise than the platform does it only where trials show that its own way fails.

A forked worker is a copy of a process that has threads, locks and CUDA; what it inherits of them it cannot use. So a
data set may fail or hang in forked workers and run well in others. Nothing else is changed for: workers that are not
forked import everything anew, and what they get must be picklable. Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from advisor.figures import count_text
from advisor.model.trial import StartMethod, Trial
from advisor.tuning.cost import rate

OTHERS: tuple[StartMethod, ...] = ("forkserver", "spawn")
"""What is tried where forked workers fail, in this order."""
NO_CUDA = "Cannot re-initialize CUDA in forked subprocess"
"""What PyTorch says in a forked worker (torch/cuda/__init__.py); it has no other cause."""
UNPICKLABLE = "must be picklable"
"""In the message of a trial whose workers could not be sent what they need; no other way but forking would do."""
CAME = "the first batch came after"
"""In the message of a trial in which batches came, but too slowly to be measured."""
HANGS = 4.0
"""Times as long as the first batch could take if all workers shared one CPU: what still gave none, gives none."""
FAILURES = frozenset({"user-error", "killed", "timed-out"})
"""Outcomes that may be due to how workers are started, and not to what the host has too little of."""


@dataclass(frozen=True)
class Starting:
    """How further points with workers are built."""

    context: StartMethod | None = None
    """``multiprocessing_context``; ``None``: as the platform does it."""
    evidence: str = ""
    """Why not as the platform does it."""
    in_vain: bool = False
    """Whether every way of starting workers has failed."""


def starting(trials: Sequence[Trial], default: str | None) -> Starting:
    """What ``trials`` of the loop and its parts say, where ``default`` is the platform's way."""
    failed = _failed_when_forked(trials) if default == "fork" else None
    if failed is None:
        return Starting()
    evidence = [failed]
    for way in OTHERS:
        tried = [t for t in trials if t.config.multiprocessing_context == way]
        failures = [t for t in tried if t.measurement.outcome in FAILURES]
        if not failures or any(map(_ran, tried)):
            return Starting(way, "; ".join(evidence))
        first = min(failures, key=lambda t: t.number)
        evidence.append(f"with {way} {first.config.key()} ended as {first.measurement.outcome}: {_said(first)}")
        if UNPICKLABLE in first.measurement.message:
            break
    if any(map(_ran, _forked(trials))):
        return Starting()  # some run all the same, and nothing else does
    return Starting(None, "; ".join(evidence), in_vain=True)


def told(trials: Sequence[Trial], default: str | None) -> str | None:
    """The evidence, what came of it and what starting costs, in one sentence; ``None``: workers start as ever."""
    found = starting(trials, default)
    if found.in_vain:
        return f"workers cannot be used here, so none are: {found.evidence}"
    if found.context is None:
        return None
    first = [(workers, f"{seconds:.3g} s with ") for workers, seconds in _first_batches(trials, found.context)]
    if not first:
        return f"{found.evidence}; whether they run when started by {found.context} was not measured"
    *fewer, (most, most_told) = first
    listed = [*(f"{text}{workers}" for workers, text in fewer), most_told + count_text(most, "worker")]
    return (
        f"{found.evidence}; started by {found.context} they run, but import everything anew and must be sent the data "
        f"set: the first batch comes after {', '.join(listed)}"
    )


def _failed_when_forked(trials: Sequence[Trial]) -> str | None:
    """What shows that this job's workers cannot be forked."""
    forked = _forked(trials)
    for trial in forked:
        if NO_CUDA in trial.measurement.message:
            return f"forked workers, the default here, cannot use CUDA: {trial.config.key()} ended with {NO_CUDA!r}"
    if any(map(_ran, forked)):
        return None
    alone = [t for t in trials if not t.config.num_workers and t.part == "loop" and _ran(t)]
    for trial in forked:
        lasted = trial.measurement.notes.get("trial_seconds")
        if not alone or not _gave_nothing(trial) or not isinstance(lasted, int | float):
            continue
        if lasted >= HANGS * max(_first_batch_at_most(trial, other) for other in alone):
            needed = max(_seconds_of_a_batch(trial, other) for other in alone)
            return (
                f"forked workers, the default here, hang: {trial.config.key()} was not done in {lasted:.0f} s, where "
                f"the job without workers takes {needed:.2g} s for a batch"
            )
    return None


def _forked(trials: Sequence[Trial]) -> list[Trial]:
    """Those with workers that were started as the platform does it, in the order in which they ran."""
    found = [t for t in trials if t.config.num_workers and t.config.multiprocessing_context is None]
    return sorted(found, key=lambda t: t.number)


def _gave_nothing(trial: Trial) -> bool:
    measured = trial.measurement
    return measured.outcome == "timed-out" and not measured.samples_per_second and CAME not in measured.message


def _first_batch_at_most(trial: Trial, alone: Trial) -> float:
    """Seconds until the first batch of ``trial`` by what a trial without workers took, all workers on one CPU."""
    begun = alone.measurement.startup_seconds or 0.0
    return begun + trial.config.num_workers * _seconds_of_a_batch(trial, alone)


def _seconds_of_a_batch(trial: Trial, alone: Trial) -> float:
    return (trial.config.batch_size or alone.config.batch_size or 1) / (rate(alone.measurement) or 1.0)


def _ran(trial: Trial) -> bool:
    return rate(trial.measurement) is not None


def _said(trial: Trial) -> str:
    return trial.measurement.message or "it told nothing"


def _first_batches(trials: Sequence[Trial], context: StartMethod) -> Iterator[tuple[int, float]]:
    """Numbers of workers that ran when started so, the fewest and the most, and the time to their first batch."""
    seconds: dict[int, list[float]] = {}
    for trial in trials:
        took = trial.measurement.startup_seconds
        if took is not None and trial.config.multiprocessing_context == context and _ran(trial):
            seconds.setdefault(trial.config.num_workers, []).append(took)
    for workers in sorted({min(seconds), max(seconds)} if seconds else ()):
        yield workers, median(seconds[workers])
