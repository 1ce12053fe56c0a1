"""The one folder outside OUT that advisor writes: generated images and studies."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from advisor.tuning.temporary import temporary_base, written_in


@contextmanager
def cache_folder(environment: Mapping[str, str]) -> Iterator[tuple[Path, str | None]]:
    """``$XDG_CACHE_HOME/advisor``, else ``~/.cache/advisor``, made if missing; else a temporary one and a note.

    A temporary one is removed at the end. Raises InputError where none can be made.
    """
    wanted = _wanted(environment)
    if wanted is not None and _writable(wanted):
        yield wanted, None
        return
    base = temporary_base()
    with written_in(base):
        instead = Path(tempfile.mkdtemp(prefix="advisor-", dir=base))
    named = wanted if wanted is not None else "the cache folder ($HOME is not set)"
    try:
        yield instead, f"{named} cannot be written; {instead} is used instead, so an interrupted run cannot be resumed"
    finally:
        shutil.rmtree(instead, ignore_errors=True)


def _wanted(environment: Mapping[str, str]) -> Path | None:
    base = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # the XDG specification: a relative path is to be ignored
        return Path(base) / "advisor"
    home = environment.get("HOME", "")
    return Path(home) / ".cache" / "advisor" if os.path.isabs(home) else None


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
