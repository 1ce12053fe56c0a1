"""CPUs that a job on an accelerator needs beside its workers: kernels are launched late where workers take them all.

Meta's SPDL advises to keep the whole loader below some 40 % of the CPUs ("noisy neighbour" in its optimization guide);
planned with here are 60 % of a rank's, its training process counted. A preference, not a bound: trials decide. Pure.
"""

from advisor.model.trial import Config
from advisor.tuning.cost import Cost

LAUNCHING_CPUS = 1.5
"""For the training process and what it starts: launches, pinning, collectives."""
SHARE = 0.6
"""Of a rank's CPUs: what workers and launching may take together."""
LEAST_CPUS = 4
"""A rank with fewer has none to spare: it is asked for nothing."""
WEIGHT = 0.15
"""Of the share that is taken beyond: how much slower, as a logarithm, a point is expected to be.  Where all of 16 CPUs
are taken that is 7 %: less than what counts as a miss of the model."""


def workers_cpus(config: Config, cost: Cost, speed: float) -> float:
    """CPUs that the workers keep busy at ``speed``, in samples per second of a rank."""
    return min(float(config.num_workers), speed * (cost.cpu_seconds or 0.0))


def beyond(config: Config, cost: Cost, speed: float, cpus: float | None) -> float:
    """How many CPUs workers and launching take beyond their share of a rank's ``cpus``."""
    if cpus is None or cpus < LEAST_CPUS or config.num_workers == 0:
        return 0.0
    return max(workers_cpus(config, cost, speed) + LAUNCHING_CPUS - SHARE * cpus, 0.0)


def penalty(config: Config, cost: Cost, speed: float, cpus: float | None) -> float:
    """What is taken off the logarithm of the speed that is expected."""
    return WEIGHT * beyond(config, cost, speed, cpus) / cpus if cpus else 0.0


def told(config: Config, cost: Cost, speed: float, cpus: float | None) -> str | None:
    """What the reader should know of a point that leaves launching less than its share."""
    if not beyond(config, cost, speed, cpus):
        return None
    taken = workers_cpus(config, cost, speed)
    about = f"{taken:.0f}" if taken >= 10 else f"{taken:.2g}"
    return (
        f"the workers take about {about} of the {cpus:g} CPUs of a rank: with "
        f"{LAUNCHING_CPUS:g} more for launching kernels that is beyond {SHARE:.0%} of them, so whatever else runs "
        "there delays the accelerator"
    )
