"""The files of OUT that are meant for the host, read back and checked: OUT may come from anybody.

A file counts when advisor.lock names it with the hash it has, it lies at a place where one of the targets has a file,
and every line of it is one that this target writes and nothing that advisor never sets.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from advisor.errors import InputError
from advisor.inputs import printable, read_text
from advisor.planning.lock import LOCK_NAME, Lock, content_hash
from advisor.planning.write import former_lock, refuse_outside
from advisor.targets._denied import denied
from advisor.targets._installed import Installed, Line, target_of

_HOST = "host"
_LIMIT_BYTES = 1024 * 1024
"""No generated file of a host comes near to it."""


@dataclass(frozen=True)
class GeneratedFile:
    """One file for the host."""

    path: str
    """Where it belongs: ``/etc/sysctl.d/90-advisor.conf``."""
    text: str
    target: str
    lines: tuple[Line, ...] = ()


def read_generated(out: str | Path, targets: Mapping[str, Installed]) -> tuple[GeneratedFile, ...]:
    """The files below ``OUT/host``, by path. Raises InputError for an OUT of which anything is wrong."""
    if not str(out):
        raise InputError("OUT is empty: give the folder that advisor render or tune wrote")
    lock = _lock(Path(out))
    names = sorted(name for name in lock.files if name.startswith(f"{_HOST}/"))
    return tuple(_file(Path(out), name, lock, targets) for name in names)


def _lock(out: Path) -> Lock:
    if not os.path.lexists(out / LOCK_NAME):
        raise InputError(f"{printable(out)} holds no {LOCK_NAME}: give the folder that advisor render or tune wrote")
    try:
        lock = former_lock(out)
    except OSError as error:
        raise InputError(f"cannot read {printable(out / LOCK_NAME)}: {error.strerror}") from None
    if lock.pending:
        raise InputError(f"{printable(out)} was left half written by a run that was cut off: run advisor render again")
    return lock


def _file(out: Path, name: str, lock: Lock, targets: Mapping[str, Installed]) -> GeneratedFile:
    path, shown = name.removeprefix(_HOST), printable(out / name)
    target = target_of(path, targets)
    if target is None:
        raise InputError(f"{printable(out / LOCK_NAME)} names {name!r}, which is no place that advisor writes to")
    refuse_outside(out, name)
    text = read_text(out / name, _LIMIT_BYTES)
    if content_hash(text.encode()) != lock.files[name]:
        raise InputError(f"{shown} is not the file that {LOCK_NAME} lists: run advisor render again")
    try:
        lines = targets[target].lines(text, path)
    except ValueError as error:
        raise InputError(f"{shown} was not written by this advisor: {error}; run advisor render again") from None
    for line in lines:
        why = _never(target, targets[target], line)
        if why is not None:
            raise InputError(f"{shown}:{line.number}: {target}:{printable(line.key)} is refused: {why}")
    return GeneratedFile(path, text, target, lines)


def _never(name: str, target: Installed, line: Line) -> str | None:
    row = denied(name, line.key, line.text, "operator")
    if row is not None:
        return f"advisor never sets it, because {row.reason} ({row.source})"
    return target.wrong(line.key, line.text)
