"""Options of mounts, only ever suggested: ``suggested/fstab.diff``. Key: ``mount point:option``.

``/data:nconnect`` with a number or text, ``/data:noatime`` with true, ``/data:nobarrier`` with false, which removes it.
Formats: fstab(5), mount(8), nfs(5)
"""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.mounts import FSTAB, FstabEntry, Mounts
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import not_seen
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers

SCOPE: Scope = "host"
SUGGESTED = True
_POINT = re.compile(r"/[A-Za-z0-9_./@+-]*", re.ASCII)
_FIELDS = 3
"""What is mounted, where, and as what; options may be missing."""
_OPTION = re.compile(r"[a-z][a-z0-9_.-]{0,40}", re.ASCII)
# A comma would begin another option, a blank another field, a backslash an escape.
_VALUE = re.compile(r"[A-Za-z0-9_./:%+-]{1,100}", re.ASCII)


def wrong(key: str, value: Value) -> str | None:
    """What makes this option impossible to write."""
    point, _, option = key.rpartition(":")
    if not _POINT.fullmatch(point) or not _OPTION.fullmatch(option):
        return f"{key!r} is no mount point:option, as in /data:nconnect"
    if isinstance(value, bool) or _VALUE.fullmatch(plain(value)):
        return None
    return f"an option may hold letters, digits and _./:%+- but is {value!r}"


def text(key: str, value: Value) -> str:
    """The option as fstab has it: ``nconnect=8``, ``noatime``; with a ``-`` before it when it is to go."""
    option = key.rpartition(":")[2]
    if isinstance(value, bool):
        return option if value else f"-{option}"
    return f"{option}={plain(value)}"


def line(setting: Setting, snapshot: Snapshot) -> str:
    """The option."""
    return text(setting.key, setting.value)


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: true, false or the text."""
    return {"true": True, "false": False}.get(words, words)


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The option in fstab."""
    point, _, option = key.rpartition(":")
    entry = entry_of(snapshot, point)
    if entry is None or entry.options is None:
        return not_seen(snapshot, FSTAB)
    path = f"{FSTAB}:{entry.line}"
    if option not in entry.options:
        return Seen(None, path, f"{option} is not among its options")
    return Seen(f"{option}={entry.options[option]}" if entry.options[option] else option, path)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why there is no line to change."""
    point, _, option = key.rpartition(":")
    entry = entry_of(snapshot, point)
    if entry is None:
        return f"{FSTAB} has no line for {point}, as far as is known: say it where it is mounted"
    if entry.text is None:
        return f"{FSTAB}:{entry.line} holds more than is told here (credentials): change it there"
    if not _is_a_line(entry.text):
        return f"{FSTAB}:{entry.line} is no line of three fields or more, as the facts tell it: change it there"
    if value is False and option not in (entry.options or {}):
        return f"{FSTAB}:{entry.line} does not have {option}"
    return None


def _is_a_line(text: str) -> bool:
    """Whether there are options in it to change, and it is one line: facts from a file may hold anything."""
    return text.isprintable() and len(text.split(" ")) >= _FIELDS


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Nothing: the suggestion is for the very file that sets it."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether fstab has this option with this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen.partition("=")[2], plain(value))


def entry_of(snapshot: Snapshot, point: str) -> FstabEntry | None:
    """The line of fstab for a mount point; of several the last, which lies on top."""
    mounts = snapshot.get(Mounts)
    found = [entry for entry in (mounts.fstab if mounts else None) or () if entry.point == point]
    return found[-1] if found else None
