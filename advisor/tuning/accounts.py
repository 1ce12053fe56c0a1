"""What the kernel counts of the processes of a trial, read from /proc at the edges of windows.

Runs in the interpreter that trains: standard library only, from Python 3.10 on.
"""

import contextlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path


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
