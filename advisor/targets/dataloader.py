"""Arguments of ``torch.utils.data.DataLoader``: ``job/dataloader.json`` and ``job/dataloader.py``.

Keys: the names of the arguments, and ``accumulation`` (micro-batches per optimizer step).
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from collections.abc import Mapping

from advisor.model.setting import NONE, Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.targets._base import Seen, SetBy
from advisor.targets._values import named as named
from advisor.targets._values import raised_numbers, unprintable

SCOPE: Scope = "job"
SUGGESTED = False
_AT_LEAST = {"num_workers": 0, "prefetch_factor": 1, "batch_size": 1, "accumulation": 1, "timeout": 0}
_SWITCHES = ("pin_memory", "persistent_workers")
_START_METHODS = ("fork", "spawn", "forkserver")
_ALL = (*_AT_LEAST, *_SWITCHES, "multiprocessing_context")
_NOT_READ = "the job's own arguments are not known"
NEED_WORKERS = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout")
"""DataLoader raises ValueError for these when num_workers is 0."""


def wrong(key: str, value: Value) -> str | None:
    """What DataLoader would not accept."""
    if key == "batch_size" and value == NONE:
        return None  # the data set gives whole batches by itself
    if key in _AT_LEAST:
        least = _AT_LEAST[key]
        fine = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return None if fine else f"{key} must be an integer of at least {least} but is {value!r}"
    if key in _SWITCHES:
        return None if isinstance(value, bool) else f"{key} must be true or false but is {value!r}"
    if key == "multiprocessing_context":
        return None if value in _START_METHODS else f"{key} must be one of {', '.join(_START_METHODS)} but is {value!r}"
    return f"{key!r} is not one of {', '.join(_ALL)}"


def text(key: str, value: Value) -> str:
    """The value as Python writes it."""
    return value if isinstance(value, str) else repr(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``name=value``, as an argument of Python."""
    return f"{setting.key}={text(setting.key, setting.value) if setting.key == 'batch_size' else repr(setting.value)}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: a number, a switch (``true``, ``false``) or the text."""
    if key in _AT_LEAST and words.isascii() and words.isdigit() and not unprintable(words):
        return int(words)
    if key == "batch_size" and words.lower() == "none":
        return NONE
    return {"true": True, "false": False}.get(words.lower(), words) if key in _SWITCHES else words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing: what the job passes today is not a fact of the host."""
    return Seen(None, "", _NOT_READ)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """``None``: every DataLoader takes its arguments."""
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Nothing: no configuration file holds these arguments."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen, text(key, value))


def accepted(chosen: Mapping[str, Value]) -> dict[str, Value | None]:
    """Those of ``chosen`` that DataLoader accepts together: ``accumulation`` is the training loop's."""
    workers = chosen.get("num_workers", 0)
    loader: dict[str, Value | None] = {key: value for key, value in chosen.items() if key != "accumulation"}
    if loader.get("batch_size") == NONE:
        loader["batch_size"] = None
    if not workers:
        loader = {key: value for key, value in loader.items() if key not in NEED_WORKERS}
    return dict(sorted(loader.items()))
