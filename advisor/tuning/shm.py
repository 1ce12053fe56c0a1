"""What a trial leaves in /dev/shm, and its removal: only files that demonstrably are the trial's own.

PyTorch names shared memory ``torch_<pid>_<random>_<n>``, Python names semaphores ``sem.mp-<random>`` and shared
memory ``psm_<random>``.  Under SIGKILL with the ``file_system`` strategy, or with ``spawn``, they stay behind.
"""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

FOLDER = "/dev/shm"
_OF_A_PROCESS = re.compile(r"torch_(\d+)_")
_NAMED_AT_RANDOM = ("torch_", "sem.mp-", "psm_")
_IN_MAPS = re.compile(r" /dev/shm/([^/\n]+?)(?: \(deleted\))?$", re.MULTILINE)


@dataclass
class SharedMemory:
    """The state of /dev/shm over one trial."""

    before: frozenset[str] = field(default_factory=lambda: frozenset(_names()))
    used_before: int = field(default_factory=lambda: _space()[0])
    peak_bytes: int = 0
    """Most bytes in use above what was in use before."""
    least_free_share: float = field(default_factory=lambda: _space()[1])
    _mapped: set[str] = field(default_factory=set)

    def sample(self) -> None:
        """Looks at how full it is."""
        used, free = _space()
        self.peak_bytes = max(self.peak_bytes, used - self.used_before)
        self.least_free_share = min(self.least_free_share, free)

    def note_mappings(self, pids: Iterable[int]) -> None:
        """Remembers what the trial's processes have mapped; to be called before they are killed."""
        for pid in pids:
            try:
                with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
                    self._mapped.update(_IN_MAPS.findall(file.read()))
            except OSError:
                continue  # it has ended

    def remove_leftovers(self, pids: Iterable[int]) -> tuple[str, ...]:
        """Removes what processes ``pids`` (all dead) left, and returns the names."""
        dead = set(pids)
        new = [name for name in sorted(_names()) if name not in self.before]
        return tuple(name for name in new if self._is_left(name, dead) and _removed(name))

    def _is_left(self, name: str, dead: set[int]) -> bool:
        owner = _OF_A_PROCESS.match(name)
        if owner is not None and int(owner[1]) in dead:
            return True
        return name in self._mapped and name.startswith(_NAMED_AT_RANDOM)


def _names() -> list[str]:
    try:
        return os.listdir(FOLDER)
    except OSError:
        return []


def _space() -> tuple[int, float]:
    """Bytes in use and the share that is free."""
    try:
        told = os.statvfs(FOLDER)
    except OSError:
        return 0, 1.0
    if told.f_blocks == 0:
        return 0, 1.0
    return (told.f_blocks - told.f_bfree) * told.f_frsize, told.f_bavail / told.f_blocks


def _removed(name: str) -> bool:
    path = os.path.join(FOLDER, name)
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return False
        os.unlink(path)
    except OSError:
        return False
    return True
