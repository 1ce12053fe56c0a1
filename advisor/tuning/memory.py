"""What a tree of processes takes and what is left, read from /proc; for the supervisor of a trial.

Shared pages count once: PSS of /proc/PID/smaps_rollup (https://docs.kernel.org/filesystems/proc.html) is exact but
walks page tables, so it is read seldom and corrects the cheap figure of /proc/PID/statm in between.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

EXACT_EVERY_SECONDS = 1.0
EXACT_DUTY = 50
"""An exact reading that took t seconds is not repeated for 50 t: at most 2 % of one CPU, unless near the limit."""
NEAR_LIMIT = 0.85
DEFAULT_SHARE = 0.8
"""Of what is available, when no limit is given."""
LEAST_LEFT_SHARE = 0.02
LEAST_LEFT_BYTES = 256 * 1024 * 1024
"""A trial is stopped before less of the machine's memory than this is left to all (the smaller of the two)."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class TreeMemory:
    """The memory of a changing set of processes."""

    limit_bytes: int
    peak_bytes: int = 0
    _excess: int = 0
    """By how much statm's figure was above PSS when both were last read."""
    _next_exact: float = 0.0
    _corrected: frozenset[int] = frozenset()
    """The processes that the correction was made for: a forked one shares most of what statm counts as its own."""

    def sample(self, pids: Iterable[int]) -> int:
        """Bytes that the processes take now; exact when near the limit."""
        known = frozenset(pids)
        rough = _rough(known)
        now = time.monotonic()
        if now >= self._next_exact or rough - self._excess > NEAR_LIMIT * self.limit_bytes:
            exact = _exact(known)
            took = time.monotonic() - now
            self._next_exact = now + max(EXACT_EVERY_SECONDS, EXACT_DUTY * took)
            self._excess = rough - exact if exact is not None else 0
            self._corrected = known
        taken = max(rough - self._excess, 0)
        if known <= self._corrected:
            self.peak_bytes = max(self.peak_bytes, taken)
        return taken


def _rough(pids: Iterable[int]) -> int:
    """Resident pages that are not of a file, of each process, and the largest share of files once."""
    private, shared = 0, 0
    for pid in pids:
        numbers = _text(f"/proc/{pid}/statm").split()
        if len(numbers) >= 3:
            resident, of_files = int(numbers[1]), int(numbers[2])
            private += max(resident - of_files, 0)
            shared = max(shared, of_files)
    return (private + shared) * _PAGE_BYTES


def _exact(pids: Iterable[int]) -> int | None:
    """The sum of PSS, ``None`` where the kernel does not tell it."""
    total, seen = 0, False
    for pid in pids:
        found = re.search(r"^Pss:\s+(\d+) kB", _text(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
        if found:
            total, seen = total + int(found[1]) * 1024, True
        elif os.path.exists(f"/proc/{pid}/statm") and _rough((pid,)) > 0:
            return None
    return total if seen else None


def default_limit_bytes() -> int | None:
    """Most of what is available: of the machine's memory and of each control group above this process."""
    amounts = [a for a in (available_bytes(), *_headrooms()) if a is not None]
    return int(min(amounts) * DEFAULT_SHARE) if amounts else None


def available_bytes() -> int | None:
    """MemAvailable of /proc/meminfo."""
    return _meminfo("MemAvailable")


def least_left_bytes() -> int:
    """Below this much MemAvailable a trial is in everybody's way."""
    total = _meminfo("MemTotal")
    return LEAST_LEFT_BYTES if total is None else min(LEAST_LEFT_BYTES, int(total * LEAST_LEFT_SHARE))


def oom_kills() -> int:
    """How many processes the OOM killer has killed here: of the control group if it tells, else of the machine."""
    for folder, file in _memory_groups():
        counter = "memory.events" if file == "memory.max" else "memory.oom_control"
        found = re.search(r"^oom_kill (\d+)$", _text(folder / counter), re.MULTILINE)
        if found:
            return int(found[1])
    found = re.search(r"^oom_kill (\d+)$", _text("/proc/vmstat"), re.MULTILINE)
    return int(found[1]) if found else 0


def _headrooms() -> Iterator[int]:
    """What is left below the limit of the control group and of each group above it."""
    for folder, file in _memory_groups():
        used_file = "memory.current" if file == "memory.max" else "memory.usage_in_bytes"
        for group in (folder, *folder.parents):
            limit, used = _text(group / file).strip(), _text(group / used_file).strip()
            if limit.isdecimal() and used.isdecimal():
                # File pages are given back under pressure, so they do not count as used.
                reclaimable = re.search(r"^inactive_file (\d+)$", _text(group / "memory.stat"), re.MULTILINE)
                yield max(int(limit) - int(used) + (int(reclaimable[1]) if reclaimable else 0), 0)


def _memory_groups() -> Iterator[tuple[Path, str]]:
    """The folders of this process's control groups that account memory, each with its file of the limit.

    Sample of /proc/self/cgroup, version 1 and version 2:

        4:memory:/job/7
        0::/user.slice/session-2.scope
    """
    root = Path("/sys/fs/cgroup")
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if "memory" in controllers.split(","):
            top, file = root / "memory", "memory.limit_in_bytes"
        elif not controllers:
            top, file = root, "memory.max"
        else:
            continue
        inside = top / path.lstrip("/")
        # In a container the path is often the host's, and the mount shows the container's own group at its top.
        folder = inside if (inside / file).exists() else top
        if (folder / file).exists():
            yield folder, file


def _meminfo(name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _text(path: str | Path) -> str:
    """The content, empty when it cannot be read: a process may end at any time, a counter may not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
