"""Which point to measure next, after all that is known. Only the step alone is measured from here."""

import math
from collections.abc import Iterator, Sequence

from advisor.model.trial import Config
from advisor.tuning.prediction import worker_counts
from advisor.tuning.session import Session
from advisor.tuning.space import PREFETCH_FACTORS
from advisor.tuning.surrogate import improvement

AS_PROMISING = 0.8
"""Of the most that is promised: among points that promise as much, the cheapest is measured."""
AS_FAST = 0.02
"""A cheaper point that is expected to lose no more than this is worth a trial."""
SIZE_GAIN = 0.03
"""A micro-batch whose step is faster by less is not worth a change."""
UNSEEN = 0.01
"""Of what is left below a ceiling: nobody would see it."""
REACHED, REPEATS = 0.03, 1
"""What is left below a ceiling that counts as reached, and how often it is then measured again."""
MISSED = 0.35
"""A ceiling that lies further below the fastest is not measured again: no disturbance is as large."""
SURELY = 3.0
"""Standard deviations: what falls short of the fastest by so many is out of reach."""
GROWTH, MOST_WITHOUT_GAIN = 1.5, 2
"""From one micro-batch to the next whose step is measured, and after how many without a gain none is."""
ENOUGH = 0.9
"""Of the speed of the step alone: a loop below it is held up by its loader."""


def most_promising(session: Session, batches: Sequence[int]) -> tuple[Config | None, float]:
    """The point from which most is expected beyond the best so far, and how much, as a share."""
    surrogate = session.surrogate()
    if surrogate is None:
        return None, 0.0
    best = max((math.log(speed) for speed in session.speeds().values()), default=-math.inf)
    room = {batch: _room(session, batch, best) for batch in batches}
    gains = {}
    for config in _untried(session, batches):
        gain = improvement(surrogate.expected(config), best) if math.isfinite(best) else math.inf
        gains[config] = min(gain, room[session.batch_of(config)])
    most = max(gains.values(), default=0.0)
    if most <= 0.0:
        return None, 0.0
    return min((c for c, gain in gains.items() if gain >= AS_PROMISING * most), key=session.preference), most


def _room(session: Session, batch: int, best: float) -> float:
    """The most, as a logarithm, by which any loader can exceed ``best`` with this micro-batch.

    A ceiling that is reached is measured anew, as a disturbed one would end the search too early.
    """
    ceiling = session.ceiling(batch)
    if ceiling is not None and -MISSED < math.log(ceiling) - best < REACHED:
        ceiling = _speed(session, batch, 1 + REPEATS)
    return math.inf if ceiling is None else math.log(ceiling) - best - UNSEEN


def cheaper_one(session: Session, batches: Sequence[int]) -> Config | None:
    """A point that is preferable to what would be chosen now, and expected to be as fast."""
    surrogate, speeds = session.surrogate(), session.speeds()
    if surrogate is None or not speeds:
        return None
    least, chosen = math.log(max(speeds.values())) - AS_FAST, session.preference(session.incumbent())
    near = [c for c in _untried(session, batches) if surrogate.expected(c)[0] >= least]
    return min((c for c in near if session.preference(c) < chosen), key=session.preference, default=None)


def out_of_reach(session: Session, config: Config) -> bool:
    """Whether ``config`` is surely slower than what was measured already, after all that is known."""
    surrogate, best = session.surrogate(), max(session.speeds().values(), default=0.0)
    if surrogate is None or best <= 0 or not session.has_our_step(config):
        return False
    mean, deviation = surrogate.expected(config)
    return mean + SURELY * deviation < math.log(best)


def at_a_ceiling(session: Session) -> bool:
    """Whether the fastest loop is as fast as the fastest step alone: with the micro-batches tried nothing is better."""
    alone = max(
        (speed for batch in session.job.batching.choices if (speed := session.ceiling(batch))), default=math.inf
    )
    return max(session.speeds().values(), default=0.0) >= (1 - AS_FAST) * alone


def _untried(session: Session, batches: Sequence[int]) -> Iterator[Config]:
    tried = {trial.config for trial in session.trials}
    most = _most_that_may_run(session)
    for workers in worker_counts(session.space().choices("num_workers")):
        if workers > most:
            return
        for prefetch in PREFETCH_FACTORS if workers else (None,):
            for batch in batches:
                config = session.point(workers, prefetch, batch)
                if config not in tried and not session.impossible(config):
                    yield config


def _most_that_may_run(session: Session) -> float:
    """Half-way from the most workers that ran well to the least beyond them that failed, whatever they failed of."""
    well = max((t.config.num_workers for t in [*session.good(), *session.parts]), default=0)
    failed = [t.config.num_workers for t in session.trials if t.measurement.outcome != "ok" and session.counts(t)]
    least = min((workers for workers in failed if workers > well), default=None)
    return math.inf if least is None else (well + least) // 2


def batches_worth_a_trial(session: Session) -> tuple[int, ...]:
    """Micro-batches with which the loop may gain; the step alone is measured with them, on a batch that is kept.

    Upwards from today's, half as large again at least each time, until the step alone gains nothing.  A loop that its
    loader holds up may gain by larger ones all the same, as the loop takes fewer of them.
    """
    today, speeds = session.job.batching.today, _steps_alone(session)
    if today not in speeds:
        return ()
    loop = max(session.speeds().values(), default=0.0)
    wanted = [size for size, speed in speeds.items() if speed >= loop * (1 + SIZE_GAIN)]
    if loop < ENOUGH * speeds[today]:
        wanted += _smaller(session, loop)
    return tuple(size for size in wanted if size != today)


def _smaller(session: Session, loop: float) -> list[int]:
    """The next smaller micro-batch, if its step alone is faster than the loop: in smaller ones samples wait less."""
    size = max((b for b in session.job.batching.choices if b * GROWTH <= session.job.batching.today), default=None)
    speed = _speed(session, size) if size is not None else None
    return [size] if size is not None and speed is not None and speed > loop else []


def _steps_alone(session: Session) -> dict[int, float]:
    """The speed of the step alone by micro-batch."""
    today = session.job.batching.today
    alone = session.part("cached", session.point(0, None, today))
    if alone is None:
        return {}
    speeds, last, without_gain = {today: alone}, today, 0
    to_exceed = alone * (1 + SIZE_GAIN)
    for size in session.job.batching.choices:
        if size < GROWTH * last:
            continue
        speed = _speed(session, size)
        if speed is not None and speed < to_exceed:
            speed = _speed(session, size, 1 + REPEATS)
        if speed is None:
            break
        speeds[size], last = speed, size
        without_gain = without_gain + 1 if speed < to_exceed else 0
        # Small gains add up: what is to be exceeded moves on only when it was.
        to_exceed = to_exceed if speed < to_exceed else speed * (1 + SIZE_GAIN)
        if without_gain == MOST_WITHOUT_GAIN:
            break
    return speeds


def _speed(session: Session, batch: int, times: int = 1) -> float | None:
    return session.part("cached", session.point(0, None, batch), times)
