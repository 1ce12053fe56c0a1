"""The measured loop of a trial: warm up, let the backlog drain, then windows of whole steps with the data time in them.

A loader that has fallen behind first serves what it prefetched while nobody asked, so the first steps look faster than
the loader is; they are discarded (at least twice the backlog). Runs in the process that trains: standard library and
torch only.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from advisor.workloads._load import Loaded

LEAST_STEPS = 20
"""Steps of a window, so that its rate is a mean over many."""
EXTRA_DISCARDED = 10
LATEST_START = 0.45
"""Share of the time limit after which windows begin, whatever the backlog."""
LONGEST_WINDOW = 4.0
"""Slow steps end a window after this many times its wanted length."""
FEWEST_STEPS = 3
SAFE_SHARE = 0.85
"""Share of the time limit after which no window is begun or continued."""
SEED = 20260101
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Window:
    """What one window saw. Seconds."""

    samples: int = 0
    elapsed: float = 0.0
    waited: float = 0.0
    steps: list[float] = field(default_factory=list)
    loading_cpu: float = 0.0
    queued: float = 0.0
    """Time that the loading processes were ready to run and had no CPU."""


def measure(loaded: Loaded, request: dict[str, Any]) -> dict[str, Any]:
    """The measurement of one configuration as JSON values. Raises whatever the user's code raises."""
    run = _Run(loaded, request)
    run.begin()
    discarded = run.discard()
    windows: list[Window] = []
    while len(windows) < request["windows"] and (not windows or run.may_continue()):
        window = run.window()
        if window is None:
            break
        windows.append(window)
    return _result(run, windows, discarded)


class _Run:
    """One loader and one consumer."""

    def __init__(self, loaded: Loaded, request: dict[str, Any]) -> None:
        self.loaded = loaded
        self.request = request
        self.config: dict[str, Any] = request["config"]
        self.workers: int = self.config["num_workers"]
        self.backlog = self.workers * (self.config["prefetch_factor"] or 0)
        self.started = time.perf_counter()
        self.restarts = 0
        self.micro_steps = 0
        self.startup = 0.0
        self.batch_bytes = 0
        self.tensors = 0
        self.peak_memory = 0

    def begin(self) -> None:
        """Builds the loader and takes the first batch."""
        self.loader = _loader(self.loaded, self.config, self.request)
        self.batches: Iterator[Any] = iter(self.loader)
        batch = self._next()
        self.startup = time.perf_counter() - self.started
        self.batch_bytes, self.tensors = size_of(batch)
        self._consume(batch)

    def discard(self) -> int:
        """Runs steps that do not count until the backlog has drained; returns how many."""
        wanted = 2 * self.backlog + EXTRA_DISCARDED
        steps = 0
        while steps < wanted and not (self._spent() > LATEST_START and steps >= FEWEST_STEPS):
            self._consume(self._next())
            steps += 1
        return steps

    def may_continue(self) -> bool:
        """Whether there is time for another window."""
        return self._spent() < SAFE_SHARE

    def window(self) -> Window | None:
        """One window; ``None`` when the time limit came before it had enough steps."""
        seconds: float = self.request["window_seconds"]
        wanted = max(LEAST_STEPS, 2 * self.workers)
        window = Window()
        cpu = _LoadingCpu(self)
        _synchronize()
        begin = now = time.perf_counter()
        while now - begin < seconds or len(window.steps) < wanted:
            if now - begin > LONGEST_WINDOW * seconds and len(window.steps) >= FEWEST_STEPS:
                break
            if not self.may_continue() and len(window.steps) >= FEWEST_STEPS:
                break
            before = cpu.main_before()
            batch = self._next()
            cpu.main_after(before)
            got = time.perf_counter()
            window.waited += got - now
            window.samples += self._samples(batch)
            self._consume(batch)
            done = time.perf_counter()
            window.steps.append(done - now)
            now = done
        _synchronize()
        window.elapsed = time.perf_counter() - begin
        window.loading_cpu, window.queued = cpu.spent()
        return window

    def _next(self) -> Any:
        try:
            return next(self.batches)
        except StopIteration:
            # An epoch ended. What it costs to begin the next one is part of what the job pays.
            self.restarts += 1
            self.batches = iter(self.loader)
            return next(self.batches)

    def _samples(self, batch: Any) -> int:
        return self.config["batch_size"] or _leading(batch)

    def _consume(self, batch: Any) -> None:
        if self.request["mode"] == "loader":
            return
        if self.loaded.step is not None:
            self.loaded.step(batch)
            self.micro_steps += 1
            if self.micro_steps % self.config["accumulation"] == 0 and self.loaded.optimizer_step is not None:
                self.loaded.optimizer_step()
        elif self.request["step_time"]:
            time.sleep(self.request["step_time"])

    def _spent(self) -> float:
        """Share of the time limit that is gone."""
        return (time.perf_counter() - self.started) / float(self.request["seconds"])


class _LoadingCpu:
    """CPU time and run-queue time of the processes that load: the workers, or this one when there are none."""

    def __init__(self, run: _Run) -> None:
        found = getattr(run.batches, "_workers", ()) if run.workers else ()
        self.workers = [worker.pid for worker in found]
        self.alone = run.workers == 0
        self.main = 0.0
        self.start = self._read()

    def main_before(self) -> float:
        return time.process_time() if self.alone else 0.0

    def main_after(self, before: float) -> None:
        if self.alone:
            self.main += time.process_time() - before

    def spent(self) -> tuple[float, float]:
        """CPU and queued seconds since the beginning."""
        cpu, queued = self._read()
        return (self.main if self.alone else cpu - self.start[0]), queued - self.start[1]

    def _read(self) -> tuple[float, float]:
        pids = self.workers or ([os.getpid()] if self.alone else [])
        figures = [_process_times(pid) for pid in pids]
        return sum(cpu for cpu, _ in figures), sum(queued for _, queued in figures)


def _process_times(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and seconds its main thread waited for a CPU; 0 for one that is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as stream:
            queued = int(stream.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0, 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS, queued


def _loader(loaded: Loaded, config: dict[str, Any], request: dict[str, Any]) -> Any:
    """The DataLoader of a configuration. A data set with a length is read in a seeded order that has no end."""
    from torch.utils.data import DataLoader

    workload = loaded.workload
    workers = config["num_workers"]
    arguments: dict[str, Any] = {
        "num_workers": workers,
        "batch_size": config["batch_size"],
        "collate_fn": workload.collate_fn,
        "pin_memory": config["pin_memory"],
        "worker_init_fn": workload.worker_init_fn,
    }
    if workers:
        arguments["prefetch_factor"] = config["prefetch_factor"]
        arguments["persistent_workers"] = config["persistent_workers"]
        arguments["timeout"] = max(float(request["seconds"]) * SAFE_SHARE, 1.0)
    if config["batch_size"] is not None:
        arguments["drop_last"] = not loaded.iterable
    if not loaded.iterable:
        assert loaded.length is not None
        arguments["sampler"] = Endless(loaded.length, workload.shuffle, request["slice_index"])
    return DataLoader(workload.dataset, **arguments)


class Endless:
    """Indices without an end: seeded permutations one after the other, or the data's own order.

    Trials that ask for the same slice read the same samples in the same order.
    """

    LARGEST = 1_000_000
    """A permutation of more is not kept in memory; indices are drawn instead."""

    def __init__(self, length: int, shuffle: bool, slice_index: int) -> None:
        self.length = length
        self.shuffle = shuffle
        self.slice_index = slice_index

    def __iter__(self) -> Iterator[int]:
        import random

        source = random.Random(SEED + self.slice_index)
        start = source.randrange(self.length) if self.slice_index else 0
        while True:
            if not self.shuffle:
                yield from ((start + n) % self.length for n in range(self.length))
            elif self.length > self.LARGEST:
                yield from (source.randrange(self.length) for _ in range(self.length))
            else:
                order = list(range(self.length))
                source.shuffle(order)
                yield from order


def size_of(batch: Any) -> tuple[int, int]:
    """Bytes and number of the tensors in a batch, however nested."""
    import torch

    if isinstance(batch, torch.Tensor):
        return batch.element_size() * batch.nelement(), 1
    parts = list(batch.values()) if isinstance(batch, dict) else list(batch) if isinstance(batch, list | tuple) else []
    sizes = [size_of(part) for part in parts]
    return sum(size for size, _ in sizes), sum(count for _, count in sizes)


def _leading(batch: Any) -> int:
    """Samples in a batch that the data set made itself: the first dimension of its first tensor, else 1."""
    import torch

    if isinstance(batch, torch.Tensor):
        return int(batch.shape[0]) if batch.dim() else 1
    parts = list(batch.values()) if isinstance(batch, dict) else list(batch) if isinstance(batch, list | tuple) else []
    return _leading(parts[0]) if parts else 1


def _synchronize() -> None:
    """Lets the accelerator finish, so that a window's end is the end of its work."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _result(run: _Run, windows: list[Window], discarded: int) -> dict[str, Any]:
    import torch

    whole = [w for w in windows if w.elapsed > 0 and w.steps]
    samples = sum(w.samples for w in whole)
    elapsed = sum(w.elapsed for w in whole)
    wait_share = sum(w.waited for w in whole) / elapsed
    notes: dict[str, float | int | str] = {
        "samples": samples,
        "discarded_steps": discarded,
        "tensors_per_batch": run.tensors,
        "epoch_restarts": run.restarts,
        "cpu_seconds_per_sample": sum(w.loading_cpu for w in whole) / samples,
    }
    if discarded < 2 * run.backlog + EXTRA_DISCARDED:
        notes["backlog"] = "may not have drained within the time limit: the rate may be too high"
    if wait_share > 0.5:
        # Only while the loop waits for data do the loading processes work without pause.
        loading = sum(w.waited for w in whole) if run.workers == 0 else elapsed * run.workers
        busy = sum(w.loading_cpu + w.queued for w in whole)
        notes["blocked_seconds_per_sample"] = max(loading - busy, 0.0) / samples
    return {
        "samples_per_second": [w.samples / w.elapsed for w in whole],
        "wait_share": wait_share,
        "startup_seconds": run.startup,
        "step_seconds": [sorted(w.steps)[len(w.steps) // 2] for w in whole],
        "batch_bytes": run.batch_bytes,
        "peak_vram_bytes": torch.cuda.max_memory_reserved() if torch.cuda.is_available() else None,
        "notes": notes,
    }
