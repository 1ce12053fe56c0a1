"""The processes of one trial: how its child is started, which they are, and how they are ended.

Works inside a subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): it inherits every process whose parent has died, so its
descendants are all that the child ever started, daemons that left the session included, and nothing else.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

KILL_SECONDS = 10.0
"""How long processes may take to die of SIGKILL; one in an uninterruptible wait may take longer and is reported."""
PAUSE_SECONDS = 0.01
TEMPORARY = "t"
"""The folder in a trial's folder that its processes take for /tmp."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER, _PR_GET_CHILD_SUBREAPER = 36, 37
_CLEANERS = (b"multiprocessing.resource_tracker", b"torch_shm_manager")
"""Programs of Python and PyTorch that remove named semaphores and shared memory once their clients have died."""


def become_reaper() -> None:
    """From here on this process inherits orphans below it, and is told (SIGTERM) when its own parent dies."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


@contextlib.contextmanager
def orphans_ended(noticed: Callable[[set[int]], None]) -> Iterator[None]:
    """Inherits, while inside, what a killed supervisor leaves, and ends it: a workload can kill its own watcher.

    ``noticed`` is told of processes before they are killed, once or more often. What was a child of this process before
    is not touched. Inside, no other children may be started.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    reaper = ctypes.c_int()
    libc.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(reaper), 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _children(os.getpid())
    try:
        yield
    finally:
        _end_orphans(before, noticed)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, reaper.value, 0, 0, 0)


def _end_orphans(before: set[int], noticed: Callable[[set[int]], None]) -> None:
    until = time.monotonic() + KILL_SECONDS
    while (orphans := _children(os.getpid()) - before) and time.monotonic() < until:
        victims = orphans.union(*map(descendants, orphans))
        noticed(victims)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(PAUSE_SECONDS)


def start(python: str, folder: str) -> "subprocess.Popen[bytes]":
    """The child of the trial in ``folder``, in a session of its own; raises OSError when it cannot be started."""
    return subprocess.Popen(
        [python, os.path.join(folder, "trial_child.py")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "TMPDIR": os.path.join(folder, TEMPORARY)},
        start_new_session=True,
    )


def descendants(pid: int) -> set[int]:
    """All processes below ``pid``, without it."""
    found: set[int] = set()
    open_ends = [pid]
    while open_ends:
        below = _children(open_ends.pop()) - found
        found |= below
        open_ends.extend(below)
    return found


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):  # it has ended
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError):
                found.update(map(int, Path(f"/proc/{pid}/task/{task}/children").read_text("ascii").split()))
    return found


@dataclass
class Tree:
    """Everything below this process, of which ``child`` is the first."""

    child: "subprocess.Popen[bytes]"
    status: int | None = None
    """Exit status of the child once it has ended, negative for a signal."""
    seen: set[int] = field(default_factory=set)
    """Every process that was ever seen."""

    def look(self) -> set[int]:
        """The processes that there are now."""
        found = descendants(os.getpid())
        self.seen |= found
        return found

    def reap(self) -> None:
        """Takes note of processes that have ended."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.child.pid:
                    self.status = self.child.returncode = os.waitstatus_to_exitcode(status)

    def end(self, patience_seconds: float) -> set[int]:
        """Kills all; returns those that would not die.

        Those that clean up after the others get ``patience_seconds`` to do so and to end by themselves.
        """
        self._kill(is_cleaner, KILL_SECONDS)
        until = time.monotonic() + patience_seconds
        while self.look() and time.monotonic() < until:
            self.reap()
            time.sleep(PAUSE_SECONDS)
        self._kill(lambda pid: False, KILL_SECONDS)
        return self.look()

    def _kill(self, spared: Callable[[int], bool], seconds: float) -> None:
        """Kills again and again, as they may have started others meanwhile, until none is left or time is up."""
        until = time.monotonic() + seconds
        while victims := [pid for pid in self.look() if not spared(pid)]:
            for pid in victims:
                # Of our own descendants none can be reaped, so no number reused, but by its parent: us, or one of
                # those just found, whose end hands its children to us.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            self.reap()
            if time.monotonic() > until:
                return
            time.sleep(PAUSE_SECONDS)


def is_cleaner(pid: int) -> bool:
    """Whether it is one of the programs that remove what dead processes left."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(name in command for name in _CLEANERS)
