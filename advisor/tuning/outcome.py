"""What became of a trial, from how its process ended and what it said. Pure."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from advisor.model.trial import Outcome

Stopped = Literal["memory", "time", ""]

_SHM = (
    r"unable to (?:allocate|write|open) [^\n]*shared memory[^\n]*",
    r"unable to write to file </torch_[^\n]*",
    r"insufficient shared memory \(shm\)[^\n]*",
    r"killed by signal: Bus error[^\n]*",
)
_MEMORY = (
    r"CUDA out of memory[^\n]*",
    r"torch\.OutOfMemoryError[^\n]*",
    r"CUDA error: out of memory[^\n]*",
    r"CUBLAS_STATUS_ALLOC_FAILED[^\n]*",
    r"DefaultCPUAllocator: can't allocate memory[^\n]*",
    r"(?:^|\n)MemoryError[^\n]*",
    r"Cannot allocate memory[^\n]*",
)
_TIME = (r"DataLoader timed out after[^\n]*",)
_KILLED = (r"DataLoader worker \(pid[^)]*\)+ (?:is killed by signal: (?:Killed|Terminated)|exited unexpectedly)[^\n]*",)
_CRASH = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
_WARNING = re.compile(r"(?:User|Future|Deprecation|Runtime)Warning: ([^\n]+)")


@dataclass(frozen=True)
class End:
    """How a trial's process ended."""

    returncode: int
    """As of subprocess: negative for a signal."""
    stopped: Stopped = ""
    """Why advisor ended it; empty when it ended by itself."""
    result: Mapping[str, Any] | None = None
    """What it wrote; ``None`` when it wrote nothing."""
    log: str = ""
    """The end of what it printed."""
    oom_kills: int = 0
    """Processes that the kernel killed for want of memory meanwhile."""
    limit: str = ""
    """The limit that advisor enforced, as text."""


def judged(end: End) -> tuple[Outcome, str]:
    """The outcome and one line with the text that identified it."""
    if end.stopped == "memory":
        return "out-of-memory", f"stopped by advisor when its memory passed {end.limit}"
    if end.result is not None and end.result.get("status") == "ok":
        return "ok", ""
    text = _text(end)
    for outcome, patterns in _SAID:
        found = _first(patterns, text)
        if found:
            return _doubted(outcome, found, end)
    if end.stopped == "time":
        return "timed-out", f"did not finish within {end.limit}"
    if end.result is not None:
        return "user-error", _user_error(end.result)
    return _by_status(end)


_SAID: tuple[tuple[Outcome, tuple[str, ...]], ...] = (
    ("no-space-in-shm", _SHM),
    ("out-of-memory", _MEMORY),
    ("timed-out", _TIME),
    ("killed", _KILLED),
)


def warnings_in(log: str) -> tuple[str, ...]:
    """The warnings that a trial printed, each once, one line each."""
    return tuple(dict.fromkeys(_line(found) for found in _WARNING.findall(log)))[:10]


def _text(end: End) -> str:
    if end.result is None:
        return end.log
    told = [str(end.result.get(key, "")) for key in ("kind", "message", "traceback")]
    return f"{told[0]}: {told[1]}\n{told[2]}\n{end.log}"


def _first(patterns: tuple[str, ...], text: str) -> str | None:
    for pattern in patterns:
        found = re.search(pattern, text)
        if found:
            return _line(found[0])
    return None


def _doubted(outcome: Outcome, found: str, end: End) -> tuple[Outcome, str]:
    """A killed worker was killed for memory when the kernel says that it killed for memory."""
    if outcome == "killed" and end.oom_kills > 0:
        return "out-of-memory", f"the kernel's out-of-memory killer struck: {found}"
    return outcome, found


def _user_error(result: Mapping[str, Any]) -> str:
    if result.get("kind") == "WorkloadError":
        return _line(str(result.get("message", "")))
    place = f" at {result['place']}" if result.get("place") else ""
    return _line(f"{result.get('kind')}: {_cause(result)}{place}")


def _cause(result: Mapping[str, Any]) -> str:
    """The message; for an error that a worker handed on, the worker's own last line."""
    message = str(result.get("message", ""))
    lines = [line for line in message.strip().splitlines() if line.strip()]
    if message.startswith("Caught ") and lines:
        places = re.findall(r'File "([^"]+)", line (\d+)', message)
        own = [f"{file}:{line}" for file, line in places if "site-packages" not in file and "/lib/python" not in file]
        return f"{lines[-1].strip()} (in a worker{', ' + own[-1] if own else ''})"
    return message


def _by_status(end: End) -> tuple[Outcome, str]:
    if end.returncode >= 0:
        return "user-error", f"ended with status {end.returncode} and no result: {_line(end.log[-300:]) or 'no output'}"
    number = -end.returncode
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number == signal.SIGBUS:
        return "no-space-in-shm", "killed by SIGBUS, as happens when /dev/shm is full"
    if number == signal.SIGKILL and end.oom_kills > 0:
        return "out-of-memory", "killed by the kernel's out-of-memory killer"
    if number in _CRASH:
        return "user-error", f"the workload crashed with {name}: {_line(end.log[-300:]) or 'no output'}"
    return "killed", f"killed by {name} from outside"


def _line(text: str) -> str:
    return " ".join(text.split())[:400]
