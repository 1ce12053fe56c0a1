"""What the kernel counts of the processes of a trial, read from /proc at the edges of windows.

Runs in the interpreter that trains: standard library only, from Python 3.10 on.
"""

import contextlib
import os
import resource
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from advisor.tuning.reading import COUNTED, Read, filesystem_at, parse_io

MOST_LOOKED_AT = 256
"""Entries of a folder of data that are looked at for being links to other file systems."""


def seconds_of(pids: Iterable[int]) -> tuple[float, float]:
    """CPU time of processes ``pids`` and of all children that have ended, and the time of ``pids`` without a CPU."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, delay = ended.ru_utime + ended.ru_stime, 0.0
    ticks = os.sysconf("SC_CLK_TCK")
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # Fields 14 and 15; the name, field 2, may hold spaces and ends at the last parenthesis.
            numbers = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
            cpu += (int(numbers[11]) + int(numbers[12])) / ticks
        delay += delay_seconds(f"/proc/{pid}/schedstat")
    return cpu, delay


def delay_seconds(path: str) -> float:
    """Time spent waiting for a CPU, the second number of a schedstat file; 0 where the kernel does not count it.

    Sample: ``1498256 5040 12``, in nanoseconds (https://docs.kernel.org/scheduler/sched-stats.html)
    """
    try:
        return int(Path(path).read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def reads_of(pids: Iterable[int]) -> dict[int, Read] | None:
    """What each of processes ``pids`` has read since it began; ``None`` when one of them does not tell."""
    found: dict[int, Read] = {}
    for pid in pids:
        try:
            read = parse_io(Path(f"/proc/{pid}/io").read_text("ascii"))
        except (OSError, ValueError):
            return None
        if read is None:
            return None
        found[pid] = read
    return found


def reads_are_counted(data: str | None) -> bool:
    """Whether the file system of ``data`` is known, and one of those that let the kernel count what they fetch."""
    if data is None:
        return False
    try:
        path = os.path.realpath(data)
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        return filesystem_at(path, mounts) in COUNTED and _lies_together(path)
    except OSError:
        return False


def _lies_together(path: str) -> bool:
    """Whether what a folder holds, as far as it is looked at, is on the folder's own file system."""
    device = os.stat(path).st_dev
    if not os.path.isdir(path):
        return True
    with os.scandir(path) as entries:
        return all(os.stat(entry.path).st_dev == device for entry in islice(entries, MOST_LOOKED_AT))
