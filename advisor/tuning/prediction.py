"""What the pipeline model expects of a configuration, so that few trials are spent on many points.

One worker makes a batch in ``B (c + l) + h`` seconds (CPU time and waiting of a sample, and handing over); ``w`` of
them make ``w`` times as many until the CPUs are used up; the loop takes the slower of making and training, and waits
now and then although both are as fast, the less the more batches lie ready.  The level is only as good as the probes:
`Surrogate` learns by how much it is wrong and where.
"""

from collections.abc import Sequence

from advisor.model.trial import Config
from advisor.tuning.cost import Cost

NEAR_BEST = 0.97
"""What comes this near the fastest counts as near it."""
EVENNESS = 4.0
"""Batches are made far more evenly than the queue of the model has it, as if so many times more of them lay ready."""
FINE_UP_TO = 8
"""Workers above it are looked at in steps of an eighth: neighbours hardly differ."""


def predicted(config: Config, cost: Cost, cpus: float) -> float | None:
    """Samples per second of one rank, ``None`` while the cost of a sample is not known."""
    if cost.cpu_seconds is None or cost.blocked_seconds is None:
        return None
    batch = cost.batch_of(config)
    train = cost.step_seconds(batch)
    sample = cost.cpu_seconds + cost.blocked_seconds
    if config.num_workers == 0:
        return 1 / max(train / batch + (sample if cost.alone_seconds is None else cost.alone_seconds), 1e-9)
    make = max(batch * sample + cost.hand_over_seconds, 1e-9)
    take = max(train + cost.loop_seconds + batch * cost.loop_seconds_per_sample, 1e-9)
    by_cpus = (batch * cost.cpu_seconds + cost.hand_over_seconds) / max(cpus, 1.0)
    feed = max(make / config.num_workers, by_cpus)
    ready = EVENNESS * config.num_workers * (config.prefetch_factor or 1)
    return batch * (1 - _empty(take / feed, ready)) / take


def _empty(supply: float, ready: float) -> float:
    """How often nothing is ready, where ``supply`` batches are made while one is trained and ``ready`` may wait.

    The queue M/M/1/K: https://en.wikipedia.org/wiki/M/M/1_queue
    """
    if abs(supply - 1) < 1e-6:
        return 1 / (ready + 1)
    if supply > 1:
        lost: float = (1 / supply) ** (ready + 1)
        return (supply - 1) * lost / (1 - lost)
    kept: float = supply ** (ready + 1)
    return (1 - supply) / (1 - kept)


def worker_counts(choices: Sequence[int]) -> tuple[int, ...]:
    """Those of ``choices`` (0, 1, 2 ...) that are told apart by a measurement."""
    found, most = [0], max(choices)
    while found[-1] < most:
        found.append(min(found[-1] + max(1, found[-1] // FINE_UP_TO), most))
    return tuple(found)
