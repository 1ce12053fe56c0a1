"""Environment variables of the training job: ``job/env.sh``. Key: the name. The operator's environment wins."""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.targets._base import Seen, SetBy
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers, shquote, unprintable

SCOPE: Scope = "job"
SUGGESTED = False
# POSIX lets a name hold more, but no shell can assign to it.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NOT_READ = "the job's environment is not known before it starts"


def wrong(key: str, value: Value) -> str | None:
    """What makes this variable impossible to write."""
    if not _NAME.fullmatch(key):
        return f"{key!r} is no name that a shell can assign to (letters, digits and _)"
    return unprintable(text(key, value))


def text(key: str, value: Value) -> str:
    """The value before shell quoting; numbers of a tuple are separated by commas, as NCCL and OpenMP read lists."""
    return plain(value).replace(" ", ",") if isinstance(value, tuple) else plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """Sets the variable unless it is set, even to nothing, and hands it on to children."""
    name = setting.key
    return f'[ -n "${{{name}+set}}" ] || {name}={shquote(text(name, setting.value))}; export {name}'


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing: the job's environment is made later, and env.sh leaves a variable that is set as it is."""
    return Seen(None, "", _NOT_READ)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """``None``: every process can be given a variable."""
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Vendor profiles that set the variable; none is among the facts yet."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen, text(key, value))
