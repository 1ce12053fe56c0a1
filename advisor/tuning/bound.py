"""What held the number of workers down, where that was not the CPUs: said with what would lift it. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.figures import count_text, size_text
from advisor.model.trial import Config, Trial
from advisor.tuning.batching import PYTORCH_PREFETCH
from advisor.tuning.cost import Cost, learn, rate
from advisor.tuning.prediction import NEAR_BEST, predicted, worker_counts
from advisor.tuning.space import (
    FILES_SHARE,
    MEMORY_SHARE,
    SHM_SHARE,
    TASKS_SHARE,
    Resources,
    cpu_bound,
    needs_of,
    resource_bounds,
)
from advisor.tuning.vram import is_full

_MIB = 1 << 20
_RAN_OUT = {"no-space-in-shm": "shared memory", "too-many-files": "descriptors", "out-of-memory": "memory"}
"""Outcomes that say which resource was too small."""


@dataclass(frozen=True)
class Bound:
    """A resource that allows fewer workers than CPUs do."""

    resource: str
    workers: int
    """Most that it allows, with today's micro-batch."""
    wanted: int
    """As many as the loop is expected to need, but no more than CPUs: what rules are to judge."""
    says: str
    """One sentence."""


def bound(
    resources: Resources, trials: Sequence[Trial], chosen: Config | None, batch_size: int | None, ranks: int
) -> Bound | None:
    """What held workers down, by what ``trials`` (of the loop and its parts) showed; ``None``: CPUs alone.

    ``batch_size``: today's micro-batch. ``ranks``: processes that share memory and tasks.
    """
    cost = learn(trials, chosen.amp if chosen is not None else None)
    cpus = max(1, math.floor(resources.cpus or 1.0))
    most, _ = cpu_bound(resources, cost)
    useful = _useful(cost, resources.cpus or 1.0, most, batch_size)
    name, workers = min(
        resource_bounds(resources, cost, batch_size).items(), key=lambda one: one[1], default=("", most)
    )
    if workers >= most:
        return _by_failures(trials, chosen, min(useful, cpus))
    if useful <= workers:
        says = f"num_workers was searched up to {workers}, where {name} ends and not CPUs: no more seem to be of use"
        return Bound(name, workers, min(useful, cpus), says)
    lifted = _lifted(name, Config(useful, PYTORCH_PREFETCH, batch_size), resources, cost, ranks)
    held = f"{name}, and not CPUs, held num_workers down to {workers}"
    return Bound(
        name, workers, min(useful, cpus), f"{held}: {count_text(useful, 'worker')} may be of use, and {lifted}"
    )


def _useful(cost: Cost, cpus: float, most: int, batch_size: int | None) -> int:
    """The fewest workers that are expected to come near the fastest; ``most`` where nothing can be predicted."""
    speeds = {
        workers: predicted(Config(workers, PYTORCH_PREFETCH if workers else None, batch_size), cost, cpus) or 0.0
        for workers in worker_counts(range(most + 1))
    }
    best = max(speeds.values())
    return min(workers for workers, speed in speeds.items() if speed >= NEAR_BEST * best) if best > 0 else most


def _lifted(name: str, config: Config, resources: Resources, cost: Cost, ranks: int) -> str:
    """What the resource must hold for ``config`` in each of ``ranks``, what it holds, and how it is raised."""
    needed = needs_of(config, cost)[name]
    each = f"with a prefetch factor of {config.prefetch_factor}" + (f" in each of {ranks} ranks" if ranks > 1 else "")
    if name == "shared memory":
        total, there = math.ceil(ranks * needed / SHM_SHARE / _MIB), size_text((resources.shm_bytes or 0) * ranks)
        return (
            f"{each} need {total} MiB of /dev/shm, where {there} can be had: start the container with "
            f"--shm-size={total}m or more, or mount a tmpfs as large there; its pages count towards the memory limit"
        )
    if name == "memory":
        total, there = math.ceil(ranks * needed / MEMORY_SHARE), size_text((resources.memory_bytes or 0) * ranks)
        return f"{each} need {size_text(total)} of memory, where {there} can be had: raise the memory limit"
    if name == "descriptors":
        files = math.ceil(needed / FILES_SHARE)
        return (
            f"{each} need {files} open files of each process, where {resources.files} are allowed: raise the limit "
            "(ulimit -n, LimitNOFILE=, docker --ulimit nofile=)"
        )
    tasks = math.ceil(ranks * needed / TASKS_SHARE)
    return (
        f"{each} need {tasks} tasks, where {(resources.tasks or 0) * ranks} are left: raise the limit (docker "
        "--pids-limit, TasksMax=)"
    )


def _by_failures(trials: Sequence[Trial], chosen: Config | None, wanted: int) -> Bound | None:
    """Where every trial with workers failed, and one for want of something."""
    if chosen is None or chosen.num_workers:
        return None
    tried = [t for t in trials if t.config.num_workers]
    short = [t for t in tried if t.measurement.outcome in _RAN_OUT and not is_full(t.measurement)]
    if not short or any(rate(t.measurement) for t in tried):
        return None
    least = min(short, key=lambda t: (t.config.num_workers, t.number))
    name = _RAN_OUT[least.measurement.outcome]
    says = f"{name}, and not CPUs, held num_workers down to 0: {least.config.key()} ran out of it"
    return Bound(name, 0, max(wanted, 1), says)
