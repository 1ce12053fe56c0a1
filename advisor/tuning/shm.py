"""What a trial leaves in /dev/shm when it is killed: found by its processes' ids, and taken away."""

import os
import re
from collections.abc import Collection
from contextlib import suppress

FOLDER = "/dev/shm"
_NAMED = re.compile(r"torch_(\d+)_")
"""torch names a segment after the process that made it: torch_PID_RANDOM_COUNT."""


def used_bytes(folder: str = FOLDER) -> int | None:
    """Bytes in use on the file system of shared memory; ``None`` when there is none."""
    try:
        use = os.statvfs(folder)
    except OSError:
        return None
    return (use.f_blocks - use.f_bfree) * use.f_frsize


def entries(folder: str = FOLDER) -> frozenset[str]:
    """Names of the segments that there are."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def sweep(before: Collection[str], pids: Collection[int], folder: str = FOLDER) -> tuple[str, ...]:
    """Removes the segments that came since ``before`` and bear the id of one of the trial's processes.

    Anything else is somebody else's and stays, however it looks. Returns the names removed.
    """
    removed = []
    for name in sorted(entries(folder) - set(before)):
        found = _NAMED.match(name)
        path = os.path.join(folder, name)
        if found and int(found[1]) in pids and os.lstat(path).st_uid == os.geteuid():
            with suppress(FileNotFoundError):
                os.unlink(path)
                removed.append(name)
    return tuple(removed)
