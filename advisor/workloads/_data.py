"""A cheap look at the data set that ``--data`` names, which differs when the data do. No file of it is opened."""

import hashlib
import itertools
import os
import stat

MOST_NAMES, MOST_SIZES = 100_000, 2_000
"""Of a folder: entries that are listed, and files among them, the first ones in order, whose size is asked for."""


def data_sample(path: str) -> str | None:
    """A hash of size and time of a file, of the names in a folder and of sizes there; ``None``: nothing can be told.

    Folders below are not entered, and a folder with more than MOST_NAMES entries is only known as one.
    """
    try:
        told = os.stat(path)
        if stat.S_ISDIR(told.st_mode):
            return _hash(*_of_folder(path))
        return _hash(str(told.st_size), str(told.st_mtime_ns))
    except OSError:
        return None


def _of_folder(path: str) -> list[str]:
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in itertools.islice(entries, MOST_NAMES + 1))
    if len(names) > MOST_NAMES:
        return [f"more than {MOST_NAMES} entries"]
    return [*names, *(_size(os.path.join(path, name)) for name in names[:MOST_SIZES])]


def _size(path: str) -> str:
    """The size of a file; of a folder none, as file systems count that as they like."""
    try:
        told = os.stat(path)
    except OSError:
        return "?"
    return str(told.st_size) if stat.S_ISREG(told.st_mode) else "-"


def _hash(*parts: str) -> str:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:16]
