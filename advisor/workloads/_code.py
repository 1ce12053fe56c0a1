"""What a workload's code is made of: the modules that it brought in. Standard library only, as for all of a child."""

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType

import advisor

MOST_FILES = 4000
"""Modules of a user's own; more of them are no longer looked at, in the order of their names."""
MOST_BYTES = 4 * 1024 * 1024
"""Of one file; of a larger one, which is no text, the beginning and the size count."""
_INSTALLED = ("site-packages", "dist-packages")


def code_hash(factory: str, modules: Mapping[str, ModuleType | None] | None = None) -> str:
    """A hash of the files of all modules but those of Python, of installed packages and of advisor itself.

    ``factory``: the module of the factory; its package counts even where it is installed.
    Contents alone count, in no order: the same checkout elsewhere gives the same hash. What a workload imports only
    once samples are loaded, and files that it reads but does not import, are not seen.
    """
    loaded = dict(sys.modules if modules is None else modules)
    digests = sorted({_digest(path) for path in _own_files(loaded, factory.partition(".")[0])})
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _own_files(modules: Mapping[str, ModuleType | None], package: str) -> Iterable[str]:
    files: dict[str, None] = {}
    others = tuple(_folders_of_others())
    for name in sorted(modules, key=lambda name: (name.partition(".")[0] != package, name)):
        path = getattr(modules[name], "__file__", None)
        if not isinstance(path, str) or not os.path.isfile(path):
            continue
        if name.partition(".")[0] == package or not _is_others(path, others):
            files[os.path.realpath(path)] = None
        if len(files) >= MOST_FILES:
            break
    return files


def _is_others(path: str, folders: tuple[str, ...]) -> bool:
    # Links count by both ends: an installer may link packages to its store, and a job to its checkout.
    return any(
        place.startswith(folders) or any(part in _INSTALLED for part in Path(place).parts)
        for place in (path, os.path.realpath(path))
    )


def _folders_of_others() -> Iterator[str]:
    """Of Python's own library, of advisor, and of the trial: its script, and what is generated in its /tmp."""
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    found.add(os.path.dirname(os.path.abspath(advisor.__file__)))
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if isinstance(script, str) and os.path.basename(script) == "trial_child.py":
        found.add(os.path.dirname(os.path.abspath(script)))
    for folder in found:
        yield from (place.rstrip(os.sep) + os.sep for place in (folder, os.path.realpath(folder)))


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES)
            size = os.fstat(stream.fileno()).st_size
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest() + (f" of {size}" if size > MOST_BYTES else "")
