"""The file of a journal of Optuna's: what is refused as another's, and what is repaired before it is opened."""

import json
import os
import re
from pathlib import Path

from advisor.errors import InputError
from advisor.inputs import printable

JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def refuse_others(journal: Path, is_named: bool) -> None:
    """Raises InputError for files that are no study, or no lock of one: neither is ours to repair or to remove.

    ``is_named``: the user named the journal; else it is advisor's own, which may be damaged.
    """
    lock = _lock(journal)
    # To Optuna this name is the lock, whatever lies there: it waits for it, and then removes it.
    if os.path.lexists(lock) and lock not in _locks(journal):
        raise InputError(f"{printable(lock)} is not a lock of the study {printable(journal)}: give another --storage")
    if is_named and journal.is_file():
        try:
            with journal.open("rb") as stream:
                first = stream.readline(JOURNAL_LIMIT_BYTES)
        except OSError as error:
            raise InputError(f"cannot read the study {printable(journal)}: {error.strerror}") from None
        if first and not (first.endswith(b"\n") and _is_record(first)):
            raise InputError(
                f"--storage {printable(journal)} is not a study: it does not begin with a record of an Optuna journal; "
                "nothing was changed, give a file of its own or a database URL"
            )


def repair(journal: Path) -> tuple[str, ...]:
    """Makes a journal readable again: a line cut by a kill is dropped, a damaged file is set aside."""
    # What a killed run left: we hold our own lock, so nobody can be writing.
    for lock in _locks(journal):
        lock.unlink(missing_ok=True)
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        if journal.exists() and not journal.is_file():
            raise InputError(f"the study {printable(journal)} is not a regular file")
        if not journal.exists():
            return ()
        if journal.stat().st_size > JOURNAL_LIMIT_BYTES:
            return (set_aside(journal, "is larger than any study"),)
        lines = journal.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"cannot read the study {printable(journal)}: {error.strerror}") from None
    for number, line in enumerate(lines[:-1], start=1):
        if not _is_record(line):
            return (set_aside(journal, f"is damaged in line {number}"),)
    if lines[-1]:
        os.truncate(journal, journal.stat().st_size - len(lines[-1]))
        return (f"the study {printable(journal)} ended in half a line, which was dropped",)
    return ()


def set_aside(journal: Path, why: str) -> str:
    """Renames a journal that is of no use any more, and says so."""
    number = 1
    while (aside := journal.with_name(f"{journal.name}.damaged-{number}")).exists():
        number += 1
    journal.rename(aside)
    return (
        f"the study {printable(journal)} {why}; it was set aside as {printable(aside.name)} and the search starts anew"
    )


def _lock(journal: Path) -> Path:
    return journal.parent / f"{journal.name}.lock"  # with_name() cannot do that for a name as bad as "" or "/"


def _locks(journal: Path) -> list[Path]:
    """The links to the journal that Optuna locks it by, ``.lock``, and what it makes of one to remove it."""
    named = re.compile(re.escape(_lock(journal).name) + rf"(?:{_UUID}\.rename)?")
    found = (path for path in journal.parent.glob("*.lock*") if named.fullmatch(path.name))
    return [path for path in found if path.is_symlink() and os.path.basename(os.readlink(path)) == journal.name]


def _is_record(line: bytes) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and isinstance(record.get("op_code"), int)
