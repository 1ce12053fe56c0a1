"""The processes of one trial: finding them all, weighing their memory, ending them all, and nothing else."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_KILL_SECONDS = 10.0
_ROUND_SECONDS = 0.02


@contextmanager
def adopting() -> Iterator[None]:
    """While inside, orphans of a trial become this process's children, so that none can slip away."""
    library = ctypes.CDLL(None)
    library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@dataclass
class Tree:
    """The trial's process, its session, its descendants, and the orphans among them that this process adopted."""

    pid: int
    others: frozenset[tuple[int, float]]
    """Children of this process that were there before the trial: (pid, start time)."""
    seen: set[int] = field(default_factory=set)
    """Every pid that belonged to the trial."""

    @classmethod
    def of(cls, pid: int, others: frozenset[tuple[int, float]]) -> "Tree":
        """The tree of a trial that was just started."""
        return cls(pid, others, {pid})

    def members(self) -> list[psutil.Process]:
        """All living processes of the trial."""
        found: dict[int, psutil.Process] = {}
        for child in _children(psutil.Process(), recursive=False):
            if child.pid == self.pid or _identity(child) not in self.others:
                found[child.pid] = child
                found.update((p.pid, p) for p in _children(child, recursive=True))
        self.seen.update(found)
        return [p for p in found.values() if _alive(p)]

    def rss_bytes(self) -> int:
        """Resident memory, cheap to read; pages that processes share are counted for each."""
        return sum(_statm(p.pid) for p in self.members())

    def pss_bytes(self) -> int:
        """Resident memory with shared pages divided among those that share them."""
        return sum(_pss(p.pid) for p in self.members())

    def kill(self) -> None:
        """Kills every process of the trial, those that it starts meanwhile too, and waits until they are gone."""
        ends = time.monotonic() + _KILL_SECONDS
        while (members := self.members()) and time.monotonic() < ends:
            for process in members:
                with suppress(psutil.Error):  # it has gone; psutil checks that the pid is still the same process
                    process.send_signal(signal.SIGKILL)
            time.sleep(_ROUND_SECONDS)
            self.reap()
        self.reap()

    def reap(self) -> None:
        """Takes away the remains of adopted orphans. The trial's own process is its starter's to wait for."""
        for child in _children(psutil.Process(), recursive=False):
            if child.pid != self.pid and _identity(child) not in self.others:
                with suppress(ChildProcessError):
                    os.waitpid(child.pid, os.WNOHANG)


def own_children() -> frozenset[tuple[int, float]]:
    """The children that this process has now: (pid, start time)."""
    return frozenset(_identity(child) for child in _children(psutil.Process(), recursive=False))


def available_bytes() -> int:
    """Memory that could be had now without swapping."""
    return int(psutil.virtual_memory().available)


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory; 0 where it does not tell."""
    try:
        with open("/proc/vmstat", encoding="ascii") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0


def _children(process: psutil.Process, recursive: bool) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=recursive))
    except psutil.Error:
        return []


def _identity(process: psutil.Process) -> tuple[int, float]:
    try:
        return process.pid, process.create_time()
    except psutil.Error:
        return process.pid, 0.0


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _statm(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _pss(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    except OSError:
        return _statm(pid)
