"""What the pipeline model expects of a configuration, so that few trials are spent on many points.

One worker makes a batch in ``B (c + l)`` seconds (CPU time and waiting of a sample); ``w`` of them make ``w`` times as
many until the CPUs are used up; the loop takes the slower of making and training.  The level is only as good as the
probes; the search trusts the order and measures the rest.
"""

from collections.abc import Iterable, Sequence

from advisor.model.trial import Config
from advisor.tuning.cost import Cost

NEAR_BEST = 0.97
"""The least workers that are predicted to come this near the best are tried first."""
RULE_OF_THUMB_WORKERS = 4


def predicted(config: Config, cost: Cost, cpus: float) -> float | None:
    """Samples per second of one rank, ``None`` while the cost of a sample is not known."""
    if cost.cpu_seconds is None or cost.blocked_seconds is None:
        return None
    train = cost.step_seconds_per_sample or 0.0
    make = max(cost.cpu_seconds + cost.blocked_seconds, 1e-9)
    if config.num_workers == 0:
        return 1 / (train + make)
    by_workers = make / config.num_workers
    by_cpus = cost.cpu_seconds / max(cpus, 1.0)
    return 1 / max(train, by_workers, by_cpus)


def worker_candidates(cost: Cost, cpus: float, most: int) -> tuple[int, ...]:
    """Numbers of workers worth a trial, the most promising first.

    The least that is predicted to come near the best, its half and its double, the rule of thumb, and the most.
    """
    rule = min(RULE_OF_THUMB_WORKERS, most)
    rates = {w: predicted(Config(w, 2 if w else None), cost, cpus) for w in range(most + 1)}
    known = {w: r for w, r in rates.items() if r is not None}
    if not known:
        return _within((rule, *_doubling(most)), most)
    best = max(known.values())
    enough = min(w for w, r in known.items() if r >= NEAR_BEST * best)
    return _within((enough, enough // 2, enough * 2, rule, most), most)


def batch_candidates(choices: Sequence[int], today: int) -> tuple[int, ...]:
    """Micro-batches worth a trial at the best workers: the next smaller and larger, and the largest."""
    place = choices.index(today)
    near = (*choices[place + 1 : place + 3], *choices[max(place - 1, 0) : place], choices[-1])
    return tuple(b for b in dict.fromkeys(near) if b != today)


def _doubling(most: int) -> Iterable[int]:
    workers = 1
    while workers <= most:
        yield workers
        workers *= 2


def _within(workers: Iterable[int], most: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(w for w in workers if 0 < w <= most))
