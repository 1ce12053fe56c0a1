"""One trial: a process of its own in a session of its own, watched, limited, ended as a tree, and judged."""

import json
import math
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.trial import Config, Measurement
from advisor.tuning import processes, shm
from advisor.tuning.outcome import End, Stopped, judged, warnings_in

MEMORY_SHARE = 0.8
"""Of the memory that is available now: what a trial may use when nobody says otherwise."""
_CHILD = Path(__file__).resolve().parent / "child.py"
_POLL_SECONDS = 0.1
_PSS_SECONDS = 1.0
"""Reading exact memory costs the trial's processes a little time, so it is not done at each poll."""
_GRACE_SECONDS = 5.0
"""Beyond the trial's own limit, for it to end by itself and tell what it measured."""
_LOG_BYTES = 64 * 1024
_RESULT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class TrialRequest:
    """What to measure and within which limits."""

    config: Config
    workload: str
    """``image-files``, ``FILE.py:factory`` or ``package.module:factory``."""
    python: str
    """The interpreter that trains."""
    seconds: float
    """Time limit of the whole trial."""
    data: str | None = None
    windows: int = 3
    window_seconds: float = 2.0
    step_time: float | None = None
    """Seconds that a step is taken to last when the workload has none."""
    slice_index: int = 0
    mode: str = "train"
    """``train``, or ``loader``: batches are taken and dropped."""
    memory_limit_bytes: int | None = None
    """``None``: a share of what is available."""


@dataclass(frozen=True)
class WorkloadDescription:
    """What a workload says of itself."""

    declared: Mapping[str, Any]
    """batch_size, num_workers, prefetch_factor, global_batch, accumulation, pin_memory, persistent_workers."""
    has_step: bool
    bare: bool
    iterable: bool
    length: int | None
    fingerprint: str
    python: str
    torch: str
    start_method: str
    accelerators: int
    accelerator_names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def run_trial(request: TrialRequest) -> Measurement:
    """Measures one configuration. Never raises for what the trial does; leaves no process and no shared memory."""
    document = {**asdict(request), "task": "measure"}
    limit = request.memory_limit_bytes or int(processes.available_bytes() * MEMORY_SHARE)
    watched = _run(document, request.python, request.seconds, limit)
    outcome, message = judged(watched.end)
    told = _told(watched.end.result) if outcome == "ok" else {}
    if outcome == "ok" and not told:
        outcome, message = "user-error", "the trial's result is not what the trial program writes"
    return Measurement(
        outcome=outcome,
        message=message,
        **told,
        peak_rss_bytes=watched.peak_bytes or None,
        peak_shm_bytes=watched.peak_shm_bytes,
        warnings=warnings_in(watched.end.log),
    )


def describe_workload(workload: str, data: str | None, python: str, seconds: float = 300.0) -> WorkloadDescription:
    """What the workload declares, asked of a process that loads it. Raises WorkloadError, one sentence."""
    document = {"task": "describe", "workload": workload, "data": data}
    limit = int(processes.available_bytes() * MEMORY_SHARE)
    watched = _run(document, python, seconds, limit)
    outcome, message = judged(watched.end)
    if outcome != "ok":
        raise WorkloadError(message if outcome == "user-error" else f"loading {workload} failed ({outcome}): {message}")
    assert watched.end.result is not None
    known = {name: watched.end.result.get(name) for name in WorkloadDescription.__dataclass_fields__}
    known["accelerator_names"] = tuple(known["accelerator_names"] or ())
    known["warnings"] = warnings_in(watched.end.log)
    return WorkloadDescription(**known)  # type: ignore[arg-type]


@dataclass
class _Watched:
    """A trial that has ended."""

    end: End
    peak_bytes: int = 0
    peak_shm_bytes: int | None = None


@dataclass
class _Watch:
    """What is known of a running trial."""

    process: "subprocess.Popen[bytes]"
    tree: processes.Tree
    deadline: float
    limit_bytes: int
    shm_before: int | None
    peak_bytes: int = 0
    peak_shm_bytes: int = 0
    weighed: float = field(default_factory=lambda: -math.inf)

    def until_end(self) -> Stopped:
        """Waits for the trial's end or for a limit, whichever is first, and says which limit."""
        while True:
            try:
                self.process.wait(_POLL_SECONDS)
                return ""
            except subprocess.TimeoutExpired:
                if self._too_heavy():
                    return "memory"
                if time.monotonic() > self.deadline:
                    return "time"

    def _too_heavy(self) -> bool:
        resident = self.tree.rss_bytes()
        if self.shm_before is not None:
            self.peak_shm_bytes = max(self.peak_shm_bytes, (shm.used_bytes() or 0) - self.shm_before)
        if resident <= self.limit_bytes and time.monotonic() - self.weighed < _PSS_SECONDS:
            return False
        exact = self.tree.pss_bytes()
        self.weighed = time.monotonic()
        self.peak_bytes = max(self.peak_bytes, exact)
        return exact > self.limit_bytes


def _run(document: Mapping[str, Any], python: str, seconds: float, limit_bytes: int) -> _Watched:
    """Runs the trial program to its end; whatever happens here, none of its processes is left."""
    with ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="advisor-trial-")
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.enter_context(processes.adopting())
        segments, kills = shm.entries(), processes.oom_kills()
        others = processes.own_children()
        process = _start(document, python, folder)
        tree = processes.Tree.of(process.pid, others)
        stack.callback(lambda: shm.sweep(segments, tree.seen))
        stack.callback(process.wait)
        stack.callback(tree.kill)
        watch = _Watch(process, tree, time.monotonic() + seconds + _GRACE_SECONDS, limit_bytes, shm.used_bytes())
        stopped = watch.until_end()
        tree.kill()
        end = End(
            returncode=process.wait(),
            stopped=stopped,
            result=_result(folder),
            log=_tail(os.path.join(folder, "log")),
            oom_kills=processes.oom_kills() - kills,
            limit=f"{limit_bytes / 1024**2:.0f} MiB" if stopped == "memory" else f"{seconds:g} s",
        )
    return _Watched(end, watch.peak_bytes, None if watch.shm_before is None else watch.peak_shm_bytes)


def _start(document: Mapping[str, Any], python: str, folder: str) -> "subprocess.Popen[bytes]":
    """Starts the trial program in a session of its own. Raises WorkloadError when there is no such interpreter."""
    request = os.path.join(folder, "request.json")
    with open(request, "w", encoding="utf-8") as stream:
        json.dump({**document, "parent": os.getpid()}, stream)
    temporary = os.path.join(folder, "tmp")
    os.mkdir(temporary)
    environment = {**os.environ, "TMPDIR": temporary, "PYTHONUNBUFFERED": "1"}
    command = [python, str(_CHILD), request, os.path.join(folder, "result.json")]
    with open(os.path.join(folder, "log"), "wb") as log:
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        except OSError as error:
            raise WorkloadError(f"cannot start {python}: {error.strerror}; give --python an interpreter") from None


def _result(folder: str) -> Mapping[str, Any] | None:
    """What the trial wrote, if it wrote a JSON object. User code runs beside it, so it is not trusted."""
    try:
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as stream:
            document = json.loads(stream.read(_RESULT_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _tail(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            stream.seek(max(os.path.getsize(path) - _LOG_BYTES, 0))
            return stream.read(_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _told(result: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a Measurement in a result; nothing when a figure is missing or is no figure."""
    if result is None:
        return {}
    try:
        vram = result["peak_vram_bytes"]
        told = {
            "samples_per_second": tuple(float(x) for x in result["samples_per_second"]),
            "wait_share": float(result["wait_share"]),
            "startup_seconds": float(result["startup_seconds"]),
            "step_seconds": tuple(float(x) for x in result["step_seconds"]),
            "batch_bytes": int(result["batch_bytes"]),
            "peak_vram_bytes": None if vram is None else int(vram),
            "notes": {str(k): v for k, v in result["notes"].items() if isinstance(v, int | float | str)},
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return told if told["samples_per_second"] else {}
