"""The child of a trial: loads the workload, measures it, and tells the supervisor by events.

Runs in the interpreter that trains, which need not be advisor's: this file and all that it imports use the standard
library and torch alone, from Python 3.10 on.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.model.workload import Workload
from advisor.tuning.accounts import delay_seconds, reads_are_counted, reads_of, seconds_of
from advisor.tuning.epochs import NEAR, batches_of
from advisor.tuning.measuring import Edge, Figures, Loop, Plan, Window
from advisor.tuning.reading import reading_notes
from advisor.tuning.starting import CAME
from advisor.tuning.windows import cost_of_a_sample, wait_share
from advisor.workloads._counting import Counted
from advisor.workloads._device import DeviceClock, has_gpu, memory_bytes, memory_notes, peak_bytes
from advisor.workloads._estimate import estimated
from advisor.workloads._kept import COPIED, KeptBatches
from advisor.workloads._load import Loaded, from_anywhere, load
from advisor.workloads._loader import Batches, build_loader, is_iterable
from advisor.workloads._order import SLICE_SAMPLES
from advisor.workloads._sharing import sharing
from advisor.workloads._step import in_autocast
from advisor.workloads._tensors import samples_in
from advisor.workloads.user import sample_count

MARGIN_SHARE, LEAST_MARGIN_SECONDS, MOST_MARGIN_SECONDS = 0.1, 0.5, 5.0
"""Of the time limit: kept for what comes before and after measuring."""
MOST_FAILURE_CHARACTERS = 20_000
DEATH_SECONDS = 0.5
"""Waited for the news that a worker has died."""
PREFETCH = 2
"""DataLoader's own, when none is given."""
_PR_SET_PDEATHSIG = 1
Tell = Callable[[Mapping[str, Any]], None]


def main(folder: str) -> None:
    """Does what ``request.json`` in ``folder`` asks; ends the process without the usual tidying, which may hang."""
    _isolate()
    tell = _teller(os.path.join(folder, "events"))
    status = 1
    try:
        request = json.loads((Path(folder) / "request.json").read_text("utf-8"))
        if request["cpus"]:
            os.sched_setaffinity(0, request["cpus"])  # before torch counts CPUs
        tell({"result": _do(request, tell)})
        status = 0
    except WorkloadError as error:
        tell({"failure": {"workload_error": str(error)}})
    except _TooSlow as error:
        tell({"failure": {"too_slow": str(error)}})
    except BaseException as error:  # noqa: BLE001 - whatever the user's code raises is a result to be told
        tell({"failure": {"death": _death(error), "text": _traceback(error)}})
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _death(error: BaseException) -> str:
    """What PyTorch says of a worker that has died, which may be why there is an ``error``; often it comes a bit later.

    It says so by an exception out of the handler of SIGCHLD, wherever the program is then.
    """
    try:
        if isinstance(error, (OSError, EOFError)):  # what a worker was about to hand over is gone
            time.sleep(DEATH_SECONDS)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    except RuntimeError as death:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return str(death)
    return ""


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-MOST_FAILURE_CHARACTERS:]


class _TooSlow(Exception):
    """Not even one window was finished in time."""


def _isolate() -> None:
    """Dies with the supervisor, dies first when memory runs out, leaves no core file."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the supervisor died before the kernel was told
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):  # a /proc that cannot be written: the memory guard remains
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")
    # So that asking whether there is a GPU does not set CUDA up before workers are forked.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")


def _teller(path: str) -> Tell:
    stream = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def tell(event: Mapping[str, Any]) -> None:
        os.write(stream, json.dumps(event).encode() + b"\n")

    return tell


def _do(request: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    began = time.monotonic()
    limit = request["seconds"]
    ends = began + limit - min(max(MARGIN_SHARE * limit, LEAST_MARGIN_SECONDS), MOST_MARGIN_SECONDS)
    tell({"progress": "importing torch"})
    try:
        import torch.utils.data  # noqa: F401
    except ImportError as error:
        raise WorkloadError(
            f"{sys.executable} cannot import torch ({error}): install it there, or give --python"
        ) from error
    tell({"progress": f"loading {request['workload']}"})
    again = {**request, "workload": from_anywhere(request["workload"])}  # the factory may change the folder
    loaded = load(request["workload"], request["data"])
    if request["task"] == "describe":
        return _description(loaded)
    if request["task"] == "sharing":
        return sharing(loaded.workload)
    if request["task"] == "estimate":
        return estimated(loaded.workload, again, tell)
    return _Trial(loaded.workload, request, ends, tell).run()


def _description(loaded: Loaded) -> dict[str, Any]:
    """The fields of a WorkloadDescription. No sample is loaded: what a sample may do is for a trial to find out."""
    import torch

    workload = loaded.workload
    total, free = memory_bytes()
    declared = ("batch_size", "num_workers", "prefetch_factor", "accumulation", "global_batch", "pin_memory")
    return {
        "title": loaded.title,
        "has_step": workload.step is not None,
        "iterable": is_iterable(workload.dataset),
        "sample_count": sample_count(workload.dataset),
        "drop_last": workload.drop_last,
        "fingerprint": loaded.fingerprint,
        "code": loaded.code,
        **{name: getattr(workload, name) for name in (*declared, "persistent_workers", "batched")},
        "start_method": _start_method(),
        "python_version": ".".join(map(str, sys.version_info[:3])),
        "torch_version": str(torch.__version__),
        "devices": [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())] if has_gpu() else [],
        "device": "cuda" if has_gpu() else "cpu",
        "device_bytes": total,
        "device_free_bytes": free,
    }


def _start_method() -> str:
    from torch import multiprocessing

    return str(multiprocessing.get_start_method(allow_none=False))


class _Trial:
    """One configuration of a workload, measured."""

    def __init__(self, workload: Workload, request: Mapping[str, Any], ends: float, tell: Tell) -> None:
        self.workload, self.request, self.ends, self.tell = workload, request, ends, tell
        self.config = Config(**request["config"])
        self.prefetch = (self.config.prefetch_factor or PREFETCH) if self.config.num_workers else 0
        self.rates: list[float] = []
        self.device: DeviceClock | None = None
        self.kept: KeptBatches | None = None
        size = self.config.batch_size
        self.epoch = self._epoch()
        last = self.epoch % size if self.epoch and size and not workload.drop_last else 0
        self.counted = Counted(size, last or None) if size is not None else None

    def run(self) -> dict[str, Any]:
        """The figures of the measurement."""
        train, update = self._training()
        if train is not None and self.workload.step is not None and has_gpu():
            self.device = DeviceClock()
            train, update = self.device.timed(train), None if update is None else self.device.timed(update)
        workers = self.config.num_workers
        self.tell({"progress": f"starting {workers} workers" if workers else "loading the first batch"})
        built = time.perf_counter()
        left = max(self.ends - time.monotonic(), 1.0)
        part = self.request["part"]
        batches = Batches(build_loader(self.workload, self.config, self.request["slice_index"], left, self.epoch))
        if part in ("cached", "copied"):
            self.kept = KeptBatches(iter(batches), self.steps_device(part))
        loop = Loop(
            batches=iter(batches if self.kept is None else self.kept),
            train=train,
            samples_in=self.counted or samples_in,
            clock=time.perf_counter,
            cpu_clock=time.thread_time,
            delay_clock=lambda: delay_seconds("/proc/thread-self/schedstat"),
            edge=self._edge,
            told=lambda text: self.tell({"progress": text}),
            update=update,
            **({"finish": self.device.finish} if self.device is not None else {}),
        )
        figures = loop.measure(self._plan(built + left), built, self._note)
        if not figures.windows and figures.ended:
            raise WorkloadError(
                "the data set can be iterated only once, as another iter() of it gave nothing, and it came to its end "
                f"before a window was measured: {figures.discarded_steps} batches were taken to warm up"
            )
        if not figures.windows:
            raise _TooSlow(
                f"not one window was measured within {self.request['seconds']:g} s: {CAME} "
                f"{figures.startup_seconds:.1f} s, and {figures.discarded_steps} steps followed"
            )
        if not all(window.samples for window in figures.windows):
            raise WorkloadError("collate_fn gives batches without a sample, so there is nothing to count")
        return self._result(figures, batches, trained=train is not None)

    def _epoch(self) -> int | None:
        """Samples of an epoch, where so few that its begin and end decide; ``None``: it is taken to have no end."""
        told = self.request["epoch_samples"]
        if told is None or is_iterable(self.workload.dataset) or self.config.batch_size is None:
            return None
        batches = batches_of(told, self.config.batch_size, self.workload.drop_last)
        if batches == 0:
            raise WorkloadError(
                f"an epoch has {told} samples, fewer than a micro-batch of {self.config.batch_size}: with drop_last "
                "its loader gives no batch"
            )
        short = batches < NEAR * max(self.config.num_workers * self.prefetch, 1)
        in_full = self.request["part"] in ("loop", "loader")
        return int(told) if short and in_full and told < 2 * SLICE_SAMPLES else None

    def steps_device(self, part: str) -> str | None:
        """Where kept batches are to lie; ``None``: where the loader left them."""
        return "cuda" if part == "cached" and has_gpu() else None

    def _plan(self, ends: float) -> Plan:
        return Plan(
            num_workers=self.config.num_workers,
            prefetch_factor=self.prefetch,
            accumulation=self.config.accumulation if self._trains() else 1,
            windows=self.request["windows"],
            window_seconds=self.request["window_seconds"],
            ends=ends,
            epoch=self._batches_of_an_epoch(),
        )

    def _batches_of_an_epoch(self) -> int:
        size = self.config.batch_size
        return batches_of(self.epoch, size, self.workload.drop_last) if self.epoch and size else 1

    def _trains(self) -> bool:
        """Whether the workload's own step runs, so that a window is to hold whole optimizer steps."""
        return self.workload.step is not None and self.request["part"] not in ("loader", "cold")

    def _training(self) -> tuple[Callable[[Any], Any] | None, Callable[[], Any] | None]:
        """What is done with a batch, and at the end of an optimizer step; ``None``: nothing, the loader is alone."""
        step, seconds = self.workload.step, self.request["step_time"]
        if step is not None and self._trains():
            return in_autocast(step, self.config.amp), self.workload.optimizer_step
        is_alone = self.request["part"] in ("loader", "cold") or not seconds
        return None if is_alone else lambda batch: time.sleep(seconds), None

    def _note(self, window: Window) -> None:
        """Tells the rates so far: they are kept should the rest fail."""
        self.rates.append(window.rate())
        self.tell({"windows": self.rates})

    def _edge(self) -> Edge:
        busy = self.device.busy_seconds() if self.device is not None else None
        workers = _workers() if self.config.num_workers else []
        cpu, delay = seconds_of(workers) if self.config.num_workers else (None, None)
        return Edge(cpu, delay, busy, reads_of(workers or [os.getpid()]))

    def _result(self, figures: Figures, batches: Batches, trained: bool) -> dict[str, Any]:
        windows = figures.windows
        return {
            "samples_per_second": [w.rate() for w in windows],
            "wait_share": wait_share(windows) if trained else None,
            "startup_seconds": figures.startup_seconds,
            "step_seconds": [w.median_step_seconds for w in windows] if trained else [],
            "peak_vram_bytes": peak_bytes(),
            "batch_bytes": batches.batch_bytes,
            "warnings": [said] if self.counted and (said := self.counted.says()) else [],
            "notes": {**self._notes(figures, batches), **self._cost(figures), **memory_notes()},
        }

    def _cost(self, figures: Figures) -> dict[str, float]:
        if self.request["part"] in ("cached", "copied"):
            return {}  # nothing was loaded in the windows
        if self.epoch and self.config.num_workers and not self.config.persistent_workers:
            return {}  # workers were replaced in between
        reads = [(w.read, w.samples) for w in figures.windows]
        cost = cost_of_a_sample(figures, self.config.num_workers)
        cost |= reading_notes(reads, reads_are_counted(self.request["data"]))
        slow = [w.p99_step_seconds / w.median_step_seconds for w in figures.windows if w.p99_step_seconds is not None]
        return {**cost, "step_p99_over_median": round(max(slow), 3)} if slow else cost

    def _notes(self, figures: Figures, batches: Batches) -> dict[str, float | int | str]:
        import torch

        samples = sample_count(self.workload.dataset)
        notes: dict[str, float | int | str] = {
            "samples": sum(w.samples for w in figures.windows),
            "steps": sum(w.steps for w in figures.windows),
            "discarded_steps": figures.discarded_steps,
            "epochs": batches.epochs,
            "tensors_per_batch": batches.tensors_per_batch or 0,
            "torch_threads": torch.get_num_threads(),
            "cpus": len(os.sched_getaffinity(0)),
            "start_method": self.config.multiprocessing_context or _start_method(),
            "device": "cuda" if self.device is not None else "cpu",
        }
        if samples is not None:
            notes["samples_of_the_data_set"] = samples
        restarts = self.config.num_workers and not self.config.persistent_workers
        if restarts and self.epoch is None and not is_iterable(self.workload.dataset):
            # Not in the rates, which are taken inside one epoch: what a job pays whenever an epoch begins.
            notes["restart_seconds_per_epoch"] = round(figures.startup_seconds, 4)
        if self.epoch is not None:
            apart = "" if figures.whole_epochs else ", but windows do not hold whole ones, which take long"
            between = f"{self._batches_of_an_epoch()} batches, and what comes between epochs is in the rates"
            notes["epoch"] = between + apart
        if figures.ended:
            notes["end"] = "the data set came to its end, and can be iterated only once"
        if figures.update_seconds is not None:
            notes["update_seconds"] = round(figures.update_seconds, 6)
            notes["update"] = "timed by itself: an optimizer step is long for a window"
        if self.kept is not None and self.kept.changed:
            notes["batches"] = COPIED
        if figures.warm_up_cut_short:
            notes["warm_up"] = "cut short: steps are slow for the time limit"
        if len(figures.windows) < self.request["windows"] and not figures.ended:
            notes["windows"] = f"{len(figures.windows)} of {self.request['windows']}, for want of time"
        if not figures.windows[-1].whole and not figures.ended:
            notes["window"] = f"cut short after {figures.windows[-1].steps} steps, for want of time"
        return notes


def _workers() -> list[int]:
    """The processes of the loader's workers."""
    from torch import multiprocessing

    return [process.pid for process in multiprocessing.active_children() if process.pid is not None]
