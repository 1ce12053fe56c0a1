"""Where the search may look: what each parameter may be, what bounds it, and which points cannot work.

Shared memory and descriptors are counted as PyTorch uses them: ``num_workers x prefetch_factor`` batches in flight,
all of them in /dev/shm, one descriptor for each tensor of a batch (torch/utils/data/dataloader.py, _utils/fetch.py).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.model.trial import Config, Parameter, Space, Trial
from advisor.tuning.cost import STARTED_WORKER_BYTES, Cost
from advisor.tuning.vram import is_full

PREFETCH_FACTORS = (1, 2, 4, 8)
HELD_BATCHES = 2
"""Batches alive in the loop beside those in flight: the one at work and the one just taken."""
SHM_SHARE = 0.8
MEMORY_SHARE = 0.7
FILES_SHARE = 0.5
"""The shares of what is there that a configuration may plan with; the rest is for evaluation loaders and growth."""
TASKS_SHARE, TASKS_PER_WORKER = 0.8, 4
"""A worker is a process with a thread that feeds its queue, one that shares descriptors, and one of the data set's."""
FILES_PER_WORKER = 4
FILES_OF_THE_PROCESS = 64
"""Pipes and semaphores of a worker as counted in the main process, and what an interpreter with torch holds open."""
SPARE = 1.25
"""Workers for each CPU where they compute: one that waits for its turn to hand over leaves its CPU to others."""
WAITING_WORKERS_PER_CPU = 8
WAITING_WORKERS = 32
"""Cap where workers wait: the larger of 8 for each CPU and 32. Past it, start-up costs more than waiting does."""


@dataclass(frozen=True)
class Resources:
    """What one rank may use; ``None``: not known, so nothing is held against it."""

    cpus: float | None = None
    memory_bytes: int | None = None
    shm_bytes: int | None = None
    files: int | None = None
    tasks: int | None = None
    """Processes and threads that may still be started."""
    vram_bytes: int | None = None
    """Of its accelerator, what a step may take; the margin is left already."""


Bound = tuple[int, str]
"""The most workers that are of use, and why."""


def space(resources: Resources, cost: Cost, batch_sizes: Sequence[int], bounds: Sequence[Bound] = ()) -> Space:
    """The dimensions for a rank with these ``resources``, as far as ``cost`` is known, within further ``bounds``."""
    found = worker_bound(resources, cost, min(batch_sizes, default=1))
    workers, why = min((found, *bounds), key=lambda bound: bound[0])
    return Space(
        (
            Parameter("num_workers", tuple(range(workers + 1)), why),
            Parameter("prefetch_factor", PREFETCH_FACTORS if workers else (), "batches each worker keeps ready"),
            Parameter("batch_size", tuple(sorted(batch_sizes)), _batch_reason(batch_sizes, cost)),
        )
    )


def worker_bound(resources: Resources, cost: Cost, batch_size: int) -> tuple[int, str]:
    """The largest useful ``num_workers`` and what bounds it."""
    size = batch_size if cost.samples_per_batch is None else None
    others = resource_bounds(resources, cost, size).items()
    bounds = [cpu_bound(resources, cost), *((most, f"{name} of one rank") for name, most in others)]
    return min(bounds, key=lambda bound: bound[0])


def resource_bounds(resources: Resources, cost: Cost, batch_size: int | None) -> dict[str, int]:
    """The most workers that each resource allows; those alone that are known, and of which workers take."""
    one, two = (needs_of(Config(workers, PREFETCH_FACTORS[0], batch_size), cost) for workers in (1, 2))
    bounds = {}
    for name, limit in _limits(resources).items():
        each = two[name] - one[name]
        if each > 0:  # else it is no matter of workers
            bounds[name] = 1 + math.floor((limit - one[name]) / each) if one[name] <= limit else 0
    return bounds


def cpu_bound(resources: Resources, cost: Cost) -> tuple[int, str]:
    """The most workers that the CPUs have work for, and why."""
    cpus = resources.cpus if resources.cpus is not None else 1.0
    whole = max(1, math.floor(cpus))
    if cost.cpu_seconds is None or cost.blocked_seconds is None:
        return whole, f"CPUs of one rank ({cpus:g})"
    if not cost.waits():
        useful = math.floor(SPARE * cpus * (1 + cost.blocked_seconds / max(cost.cpu_seconds, 1e-9)) + 0.5)
        return max(whole, useful), f"CPUs of one rank ({cpus:g}), and a quarter more; a sample is mostly CPU work"
    cap = max(WAITING_WORKERS_PER_CPU * whole, WAITING_WORKERS)
    waiting = f"a sample waits {_milliseconds(cost.blocked_seconds)} for {_milliseconds(cost.cpu_seconds)} of CPU time"
    if cost.cpu_seconds <= 0:
        return cap, f"{waiting}; capped at {cap}"
    useful = math.floor(cpus * (cost.cpu_seconds + cost.blocked_seconds) / cost.cpu_seconds)
    return (useful, waiting) if useful <= cap else (cap, f"{waiting}; capped at {cap}")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


def _batch_reason(batch_sizes: Sequence[int], cost: Cost) -> str:
    if cost.samples_per_batch is not None:
        return "batches: the data set makes them by itself"
    if len(batch_sizes) == 1:
        return "fixed: the batch is not cut"
    return "divisors of the global batch per rank"


def violations(config: Config, resources: Resources, cost: Cost) -> Mapping[str, float]:
    """For each resource that is known, what ``config`` needs less what it may use: above 0 it cannot work."""
    needs = needs_of(config, cost)
    return {name: needs[name] - limit for name, limit in _limits(resources).items()}


def _limits(resources: Resources) -> dict[str, float]:
    known = {
        "shared memory": (resources.shm_bytes, SHM_SHARE),
        "memory": (resources.memory_bytes, MEMORY_SHARE),
        "descriptors": (resources.files, FILES_SHARE),
        "processes": (resources.tasks, TASKS_SHARE),
        "accelerator memory": (resources.vram_bytes, 1.0),
    }
    return {name: amount * share for name, (amount, share) in known.items() if amount is not None}


def needs_of(config: Config, cost: Cost) -> dict[str, float]:
    """What ``config`` takes of each resource in one rank."""
    batch_bytes = (cost.batch_bytes_per_sample or 0) * cost.batch_of(config)
    batches = in_flight(config) + HELD_BATCHES
    shared = batches * batch_bytes if config.num_workers else 0.0
    files = FILES_PER_WORKER * config.num_workers + batches * cost.tensors_per_batch + FILES_OF_THE_PROCESS
    return {
        "shared memory": shared,
        "memory": config.num_workers * _worker_bytes(config, cost) + 2 * batches * batch_bytes,
        "descriptors": float(files) if config.num_workers else 0.0,
        "processes": float(TASKS_PER_WORKER * config.num_workers),
        "accelerator memory": cost.peaks.predicted(config.batch_size or 1) or 0.0,
    }


def _worker_bytes(config: Config, cost: Cost) -> int:
    forked = config.multiprocessing_context in (None, "fork")
    return cost.worker_bytes if forked else max(cost.worker_bytes, STARTED_WORKER_BYTES)


def in_flight(config: Config) -> int:
    """Batches that the loader keeps outstanding."""
    return config.num_workers * (config.prefetch_factor or 0)


def hopeless(config: Config, trials: Sequence[Trial]) -> str | None:
    """Why ``config`` cannot work after what ``trials`` showed: it asks for no less than one that ran out."""
    for trial in trials:
        outcome, tried = trial.measurement.outcome, trial.config
        if is_full(trial.measurement):
            larger, same = (config.batch_size or 1) - (tried.batch_size or 1), outcome == "out-of-memory"
            if tried.amp == config.amp and (larger > 0 or (larger == 0 and same)):
                return f"{tried.key()} already filled the accelerator's memory"
            continue
        if outcome == "no-space-in-shm" and _bytes_of(config) >= _bytes_of(tried):
            return f"{tried.key()} already filled /dev/shm"
        if outcome == "too-many-files" and _no_less(config, tried):
            return f"{tried.key()} already held too many files open"
        if outcome == "out-of-memory" and _no_less(config, tried):
            return f"{tried.key()} already ran out of memory"
    return None


def _bytes_of(config: Config) -> int:
    return in_flight(config) * (config.batch_size or 1)


def _no_less(config: Config, tried: Config) -> bool:
    return (
        config.num_workers >= tried.num_workers
        and (config.batch_size or 1) >= (tried.batch_size or 1)
        and _bytes_of(config) >= _bytes_of(tried)
    )
