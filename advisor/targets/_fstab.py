"""A unified diff of /etc/fstab out of the options that are to change. Pure; the file itself is never written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.probes.mounts import FstabEntry
from advisor.targets.mount import entry_of

_DEFAULT = "defaults"
_OPTIONS = 3
"""Place of the options among the fields of a line."""


@dataclass(frozen=True)
class Change:
    """One line of fstab, old and new."""

    number: int
    point: str
    old: str
    new: str


def changes(settings: Sequence[Setting], snapshot: Snapshot) -> tuple[Change, ...]:
    """The lines that change, in the order of the file."""
    points = dict.fromkeys(setting.key.rpartition(":")[0] for setting in settings)
    found = []
    for point in points:
        entry = entry_of(snapshot, point)
        if entry is not None and entry.text is not None:
            wanted = [s for s in settings if s.key.rpartition(":")[0] == point]
            found.append(Change(entry.line, point, entry.text, _changed(entry, entry.text, wanted)))
    return tuple(sorted(found, key=lambda change: change.number))


def _changed(entry: FstabEntry, text: str, wanted: Iterable[Setting]) -> str:
    fields = text.split(" ")
    fields += [_DEFAULT] if len(fields) == _OPTIONS else []
    options = fields[_OPTIONS].split(",")
    for setting in wanted:
        name = setting.key.rpartition(":")[2]
        word = None if setting.value is False else name if setting.value is True else f"{name}={setting.value}"
        at = [place for place, option in enumerate(options) if option.partition("=")[0] == name]
        kept = [option for place, option in enumerate(options) if place not in at]
        if word is not None:
            kept.insert(at[0] if at else len(kept), word)
        options = kept
    fields[_OPTIONS] = ",".join(options) or _DEFAULT
    return " ".join(fields)
