"""Reading a fact model's `File` fields from a Host: declaring the field is declaring the reading."""

import math
import types
import typing
from functools import cache
from typing import Any, TypeVar

from advisor.host.base import Host
from advisor.model.facts import Facts, File, marks

F = TypeVar("F", bound=Facts)
_DIGITS = 24
"""Characters of the largest number of 64 bits, with its sign and some room."""


def read_fields(host: Host, model: type[F], origin: str, /, **given: Any) -> F:
    """A ``model`` whose `File` fields are read below ``origin``; ``given`` sets the other fields (and wins).

    A file that is there but does not parse as the field's type gives ``None`` and the gap ``unsupported``.
    """
    values: dict[str, Any] = {"origin": origin}
    for name, mark in marks(model).items():
        if mark.file is not None and name not in given:
            values[name] = read_value(host, f"{origin.rstrip('/')}/{mark.file.name}", mark.file, _type(model, name))
    return model(**values, **given)


def read_value(host: Host, path: str, mark: File, kind: type) -> object:
    """The value of one file as ``kind`` (str, int, float, bool or tuple for white-space separated integers)."""
    text = host.text(path)
    if text is None:
        return None
    try:
        value = parse_value(text.strip(), mark, kind)
    except ValueError:
        value = None
    if value is None:
        host.gaps[path] = "unsupported"
    return value


def parse_value(text: str, mark: File, kind: type) -> object:
    """``text`` as ``kind``; ``None`` for the mark's unknown texts and for nothing. Raises ValueError."""
    if mark.bracketed:
        inside = text.partition("[")[2].partition("]")
        text = inside[0] if inside[1] else text
    if text in mark.unknown or (text == "" and kind is not str):
        return None
    if kind is bool:
        return {"1": True, "Y": True, "y": True, "0": False, "N": False, "n": False}.get(text)
    if kind is int:
        return _whole(text) * mark.scale
    if kind is float:
        return _finite(float(text)) * mark.scale
    if kind is tuple:
        return tuple(_whole(word) * mark.scale for word in text.split())
    return text


def _whole(text: str) -> int:
    """The number; raises ValueError for one that no kernel prints: its largest have 64 bits."""
    if len(text) > _DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text, 0 if text.startswith("0x") else 10)


def _finite(number: float) -> float:
    """``number``; raises ValueError for one that JSON has no word for."""
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number")
    return number


@cache
def _type(model: type[Facts], name: str) -> type:
    """The one type of a field besides ``None``; tuple for ``tuple[int, ...]``."""
    annotation = model.model_fields[name].annotation
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(a for a in typing.get_args(annotation) if a is not type(None))
    origin = typing.get_origin(annotation)
    kind = origin if isinstance(origin, type) else annotation
    return kind if isinstance(kind, type) else str
