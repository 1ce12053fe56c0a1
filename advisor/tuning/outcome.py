"""What came of a trial, from how it ended: pure, so that every way to fail is tested by its real text."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from advisor.model.trial import Measurement, Outcome

MOST_WARNINGS = 20
MOST_CHARACTERS = 400
"""Of one message or warning."""
SHM_STAYED_AMPLE = 0.5
"""A bus error while this share of /dev/shm was free at all times has another cause."""

_MEMORY_TYPES = {"MemoryError", "OutOfMemoryError", "_ArrayMemoryError"}
_MEMORY_TEXTS = re.compile(
    r"(?:DefaultCPUAllocator: (?:can't|not enough)|can't allocate memory|CUDA out of memory|CUDA error: out of memory"
    r"|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|\[Errno 12\] Cannot allocate memory|std::bad_alloc)[^\n]*"
)
_SHM_TEXTS = re.compile(
    r"unable to (?:allocate|write to|mmap|resize) (?:shared memory|file)[^\n]*/torch_[^\n]*"
    r"|unable to allocate shared memory\(shm\)[^\n]*"
    r"|No space left on device[^\n]*/dev/shm[^\n]*"
)
_FILES_TEXTS = re.compile(
    r"Too many open files[^\n]*|received \d+ items of ancdata[^\n]*|unable to open shared memory object </torch_[^\n]*"
)
_BUS_TEXTS = re.compile(r"Unexpected bus error encountered in worker[^\n]*|killed by signal: Bus error[^\n]*")
_CRASH_TEXTS = re.compile(
    r"Unexpected segmentation fault encountered in worker[^\n]*"
    r"|DataLoader worker \(pid [^)]*\) is killed by signal: (?:Segmentation fault|Aborted|Illegal instruction|"
    r"Floating point exception)[^\n]*"
)
_TIMED_OUT_TEXT = re.compile(r"DataLoader timed out after [^\n]*")
_LOST_WORKER_TEXTS = re.compile(
    r"DataLoader worker \(pid[^)]*\)[^)]*\) exited unexpectedly[^\n]*"
    r"|DataLoader worker \(pid\(s\) [^)]*\) exited unexpectedly[^\n]*"
    r"|DataLoader worker \(pid [^)]*\) is killed by signal: [^\n]*"
)
_EXITED_TEXT = re.compile(r"DataLoader worker \(pid [^)]*\) exited unexpectedly with exit code (\d+)")
_UNPICKLABLE = re.compile(r"popen_(?:spawn_posix|forkserver)\.py")
_FORKED_CUDA = re.compile(r"Cannot re-initialize CUDA in forked subprocess")
_WARNING = re.compile(r"^\S.*?:\d+: (\w*Warning: .*)$", re.MULTILINE)
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)', re.MULTILINE)
_EXCEPTION = re.compile(r"(?:[a-z_]\w*\.)*[A-Z]\w*(?:: |:?$)")
_OURS = re.compile(r"/trial-\w+/(?:advisor/|trial_child\.py)")
"""Files of advisor as a trial sees them: below the folder of the trial, whose name is another each time."""
_INSTALLED = ("/site-packages/", "/dist-packages/")
_NOT_THE_USERS = (*_INSTALLED, "/lib/python3", "<")
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}


@dataclass(frozen=True)
class Ending:
    """What the supervisor saw of a trial."""

    ended_by: str = "itself"
    """``itself``, ``time limit``, ``memory limit``, ``machine memory``, ``stopped``, ``not started``,
    ``supervisor lost``."""
    detail: str = ""
    status: int | None = None
    """Exit status of the child, negative for a signal; ``None``: it was killed by the supervisor."""
    result: Mapping[str, Any] | None = None
    failure: Mapping[str, Any] | None = None
    windows: tuple[float, ...] = ()
    """Rates of the windows that were finished, also when there is no result."""
    output: str = ""
    """The beginning and the end of what the child printed."""
    last_progress: str = ""
    seconds: float = 0.0
    limit_seconds: float = 0.0
    memory_limit_bytes: int | None = None
    peak_memory_bytes: int | None = None
    peak_shm_bytes: int | None = None
    least_shm_share: float | None = None
    """The least share of /dev/shm that was free."""
    oom_kills: int = 0
    """How many more processes the kernel's OOM killer has killed in the trial's control group."""
    strays: int = 0
    """Processes that were still there after the child had ended, and were killed."""
    unkillable: tuple[int, ...] = ()
    removed_from_shm: tuple[str, ...] = field(default=())


def ending_from(told: Mapping[str, Any]) -> Ending:
    """The Ending that a supervisor's JSON tells."""
    known = {f.name for f in fields(Ending)}
    lists = ("windows", "unkillable", "removed_from_shm")
    values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in told.items() if k in known}
    return Ending(**values)


def measurement_from(ending: Ending) -> Measurement:
    """The Measurement of a trial that ended so."""
    outcome, message = classify(ending)
    result = ending.result or {}
    notes = dict(result.get("notes", {}))
    notes["trial_seconds"] = round(ending.seconds, 3)
    if ending.unkillable:
        notes["not_killed"] = " ".join(map(str, ending.unkillable))
    return Measurement(
        outcome=outcome,
        message=message,
        samples_per_second=tuple(result.get("samples_per_second", ending.windows)),
        wait_share=result.get("wait_share"),
        startup_seconds=result.get("startup_seconds"),
        step_seconds=tuple(result.get("step_seconds", ())),
        peak_rss_bytes=ending.peak_memory_bytes,
        peak_shm_bytes=ending.peak_shm_bytes,
        peak_vram_bytes=result.get("peak_vram_bytes"),
        batch_bytes=result.get("batch_bytes"),
        warnings=(*result.get("warnings", ()), *warnings_in(ending.output)),
        notes=notes,
    )


def classify(ending: Ending) -> tuple[Outcome, str]:
    """The outcome, and one line that says why."""
    if ending.ended_by == "memory limit" or ending.ended_by == "machine memory":
        return "out-of-memory", _line(ending.detail)
    if ending.ended_by == "not started":
        return "user-error", _line(ending.detail)
    if ending.ended_by == "stopped":
        return "killed", "the trial was stopped"
    if ending.ended_by == "supervisor lost":
        return "killed", "the process that watched over the trial was killed"
    if ending.result is not None:
        return "ok", ""
    if ending.failure is not None:
        return _failed(ending, ending.failure)
    if ending.ended_by == "time limit":
        return "timed-out", _too_long(ending)
    return _vanished(ending)


def warnings_in(output: str) -> tuple[str, ...]:
    """The Python warnings in ``output``, each once, as ``UserWarning: text``.

    Sample: ``/x/torch/utils/data/dataloader.py:627: UserWarning: This DataLoader will create 8 worker processes ...``
    """
    found = dict.fromkeys(_line(text) for text in _WARNING.findall(output))
    return tuple(found)[:MOST_WARNINGS]


def place_in(text: str) -> str | None:
    """``FILE:LINE`` of the innermost frame of the user's own code in a traceback, else of an installed library's."""
    frames: list[tuple[str, str]] = [f for f in _FRAME.findall(text) if not _OURS.search(f[0])]
    own = [f for f in frames if not any(part in f[0] for part in _NOT_THE_USERS)]
    for file, line in reversed(own or [f for f in frames if any(part in f[0] for part in _INSTALLED)]):
        return f"{file}:{line}"
    return None


def _too_long(ending: Ending) -> str:
    doing = f" (last seen: {ending.last_progress})" if ending.last_progress else ""
    return _line(f"not done within {ending.limit_seconds:g} s{doing}")


def _failed(ending: Ending, failure: Mapping[str, Any]) -> tuple[Outcome, str]:
    """Of an exception that reached the top of the child."""
    if "workload_error" in failure:
        return "user-error", _line(str(failure["workload_error"]))
    if "too_slow" in failure:
        return "timed-out", _line(str(failure["too_slow"]))
    text = str(failure.get("text", ""))
    known = _known_text(ending, text)
    if known is not None:
        return known
    place = place_in(text)
    told = _last_line(text)
    if (forked := _FORKED_CUDA.search(text)) and forked[0] not in told:
        told = f"{forked[0]}; {told}"  # the data set has raised another error because of it
    if _UNPICKLABLE.search(text):
        told = f"{told}; workers are started by spawn or forkserver here, so what they get must be picklable"
    return "user-error", _line(f"{told} ({place})" if place else told)


def _known_text(ending: Ending, text: str) -> tuple[Outcome, str] | None:
    if found := _SHM_TEXTS.search(text):
        return "no-space-in-shm", _line(found[0])
    if found := _FILES_TEXTS.search(text):
        return "too-many-files", _line(f"{found[0]} (ulimit -n bounds what a process holds open)")
    if _last_type(text) in _MEMORY_TYPES:
        return "out-of-memory", _line(_last_line(text))
    if found := _MEMORY_TEXTS.search(text):
        return "out-of-memory", _line(found[0])
    if found := _TIMED_OUT_TEXT.search(text):
        return "timed-out", _line(f"{found[0]}: a worker gave no batch")
    # A worker prints the reason itself; the loop may only see that it is gone.
    with_output = f"{text}\n{(ending.failure or {}).get('death', '')}\n{ending.output}"
    if found := _BUS_TEXTS.search(with_output):
        return _bus_error(ending, found[0])
    if found := _CRASH_TEXTS.search(with_output):
        return "user-error", _line(f"native code crashed in a worker: {found[0]}")
    if found := _EXITED_TEXT.search(with_output):
        return "user-error", f"a worker exited by itself, with status {found[1]}: what it ran has ended its process"
    if found := _LOST_WORKER_TEXTS.search(with_output):
        return _lost_worker(ending, found[0])
    return None


def _bus_error(ending: Ending, text: str) -> tuple[Outcome, str]:
    if ending.least_shm_share is not None and ending.least_shm_share > SHM_STAYED_AMPLE:
        ample = f"{ending.least_shm_share:.0%} of /dev/shm was free, so look at memory-mapped files"
        return "user-error", _line(f"{text} ({ample})")
    return "no-space-in-shm", _line(text)


def _lost_worker(ending: Ending, text: str) -> tuple[Outcome, str]:
    if ending.oom_kills > 0:
        return "out-of-memory", _line(f"the kernel's OOM killer was at work: {text}")
    return "killed", _line(text)


def _vanished(ending: Ending) -> tuple[Outcome, str]:
    """Of a child that ended without a word."""
    status = ending.status
    if status is None:
        return "killed", "the trial's process was lost"
    if status >= 0 and (known := _known_text(ending, "")) is not None:
        return known
    if status >= 0:
        last = _last_line(ending.output)
        return "user-error", _line(
            f"the workload ended its process with status {status}" + (f": {last}" if last else "")
        )
    name = _signal_name(-status)
    if -status == signal.SIGKILL and ending.oom_kills > 0:
        return "out-of-memory", "the kernel's OOM killer killed the trial's process"
    if -status == signal.SIGBUS:
        return _bus_error(ending, "the trial's process died of a bus error")
    if -status in _CRASHES:
        return "user-error", f"native code crashed: the trial's process died of {name}"
    return "killed", f"the trial's process was killed from outside by {name}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_type(text: str) -> str:
    """The bare class name of the exception that a traceback ends with, or that a worker's wrapped one ends with."""
    return _last_line(text).split(":")[0].strip().rsplit(".", 1)[-1]


def _last_line(text: str) -> str:
    """The line of a traceback that tells the exception, else the last line with anything in it."""
    lines = [line for line in text.splitlines() if line.strip()]
    flush = [line for line in lines if _EXCEPTION.match(line)]
    chosen = flush or lines
    return chosen[-1].strip() if chosen else ""


def _line(text: str) -> str:
    """``text`` as one printable line of bounded length."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= MOST_CHARACTERS else flat[: MOST_CHARACTERS - 1] + "…"
