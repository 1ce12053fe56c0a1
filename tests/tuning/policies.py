"""Ways to choose DataLoader settings, advisor's and others', as functions of a measured host; for comparisons."""

from collections.abc import Callable
from random import Random
from typing import Protocol

from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.choice import choose
from advisor.tuning.cost import rate
from advisor.tuning.search import run_search
from advisor.tuning.session import Job, Limits
from advisor.tuning.space import PREFETCH_FACTORS
from advisor.tuning.study import passing_study

DOUBLING_GAIN = 1.05
"""A doubling that brings less ends a doubling search."""


class Machine(Protocol):
    """What can be measured, under a clock."""

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement: ...

    def clock(self) -> float:
        """Seconds of trials so far."""
        ...


Policy = Callable[[Job, list[Config], Machine, float, int], Config]
"""Of a job, the points of its grid, a machine, the seconds that may be measured, and a seed."""


def advisor(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """The search of `advisor tune`; it may overdraw its budget by a tenth."""
    study = passing_study(job.batching.choices, seed)
    found = run_search(job, Limits(budget_seconds=seconds / 1.1), study, machine, machine.clock)
    return choose(found.trials, job.baseline).config or job.baseline


def unchanged(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """PyTorch's default: no workers."""
    return _with(job, 0)


def lightning(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """What Lightning suggests: the CPUs of a rank less one."""
    return _nearest(grid, _with(job, max(int(job.resources.cpus or 1) - 1, 1)))


def half_the_cores(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """Half of the CPUs of a rank."""
    return _nearest(grid, _with(job, max(int(job.resources.cpus or 1) // 2, 1)))


def doubling(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """1, 2, 4 ... workers until a doubling gains less than 5 %, then the same with prefetch_factor."""
    best = (0.0, _with(job, 0))
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        point = _nearest(grid, _with(job, workers))
        speed = rate(machine(point)) or 0.0
        if speed < best[0] * DOUBLING_GAIN:
            break
        best = speed, point
    for prefetch in (4, 8):
        point = _nearest(grid, _with(job, best[1].num_workers, prefetch))
        speed = rate(machine(point)) or 0.0
        if speed < best[0] * DOUBLING_GAIN:
            break
        best = speed, point
    return best[1]


def random(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """Points at random, for as long as advisor may measure."""
    dice, best = Random(seed), (0.0, job.baseline)
    for point in dice.sample(grid, len(grid)):
        if machine.clock() >= seconds:
            break
        best = max(best, (rate(machine(point)) or 0.0, point), key=lambda found: found[0])
    return best[1]


def tpe(job: Job, grid: list[Config], machine: Machine, seconds: float, seed: int) -> Config:
    """Optuna's TPE with its own settings over all dimensions, for as long as advisor may measure."""
    import optuna

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    workers = sorted({c.num_workers for c in grid})
    best = (0.0, job.baseline)
    while machine.clock() < seconds:
        trial = study.ask()
        asked = Config(
            workers[trial.suggest_int("workers", 0, len(workers) - 1)],
            PREFETCH_FACTORS[trial.suggest_int("prefetch", 0, len(PREFETCH_FACTORS) - 1)],
            job.batching.choices[trial.suggest_int("batch", 0, len(job.batching.choices) - 1)],
        )
        point = _nearest(grid, asked)
        speed = rate(machine(point)) or 0.0
        study.tell(trial, speed)
        best = max(best, (speed, point), key=lambda found: found[0])
    return best[1]


POLICIES: dict[str, Policy] = {
    "advisor": advisor,
    "PyTorch's default": unchanged,
    "Lightning": lightning,
    "half the cores": half_the_cores,
    "doubling": doubling,
    "random": random,
    "TPE": tpe,
}


def _with(job: Job, workers: int, prefetch: int = 2) -> Config:
    today = job.batching.today
    return Config(workers, prefetch if workers else None, today, job.batching.accumulation(today))


def _nearest(grid: list[Config], wanted: Config) -> Config:
    """The point of the grid that is most like ``wanted``."""
    return min(
        grid,
        key=lambda c: (
            c.batch_size != wanted.batch_size,
            abs(c.num_workers - wanted.num_workers),
            abs((c.prefetch_factor or 0) - (wanted.prefetch_factor or 0)),
        ),
    )
