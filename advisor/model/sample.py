"""What grew between two readings of the counters of one host: pure, facts in, growth out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from advisor.model.facts import Counter, Facts, marks
from advisor.model.labels import identity_of, label_of

GrowthGap = Literal["started again", "not there again", "at its limit"]
"""Why the growth of a counter is not known though it was read twice: it went down (a driver was loaded anew, somebody
cleared it); the second reading lacks it, or there are two of its name; it stopped counting before."""
Number = int | float


@dataclass(frozen=True)
class Sample:
    """The growth of counters between two readings, by name: ``rdma.devices[mlx5_0].ports[1].counters.link_downed``."""

    seconds: Mapping[str, float]
    """Between the two readings of a section, by the monotonic clock."""
    growth: Mapping[str, Number]
    unknown: Mapping[str, GrowthGap] = field(default_factory=dict)


@dataclass
class _Walk:
    growth: dict[str, Number] = field(default_factory=dict)
    unknown: dict[str, GrowthGap] = field(default_factory=dict)


def sample_of(first: Mapping[str, Facts], second: Mapping[str, Facts], seconds: Mapping[str, float]) -> Sample:
    """The growth from ``first`` to ``second``, sections by name, of the sections that were read twice.

    Items of lists are matched by what they are called, never by their place. Where one counter of a thing went down,
    the thing started again, and none of its counters has a growth.
    """
    found = _Walk()
    for name in sorted(first.keys() & seconds.keys()):
        _compare(found, name, first[name], second.get(name))
    return Sample(dict(seconds), found.growth, found.unknown)


@cache
def holds_counters(model: type[Facts]) -> bool:
    """Whether ``model``, or any model of its fields, has a counter."""
    return any(mark.counter is not None for mark in marks(model).values()) or any(
        holds_counters(inner) for info in model.model_fields.values() for inner in _models_in(info.annotation)
    )


def _models_in(annotation: Any) -> Iterator[type[Facts]]:
    if isinstance(annotation, type) and issubclass(annotation, Facts):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def counters_of(facts: Facts, name: str) -> Iterator[str]:
    """The names of all counters of ``facts`` that have a value."""
    found = _Walk()
    _compare(found, name, facts, None)
    yield from found.unknown


def _compare(found: _Walk, name: str, first: Facts, second: Facts | None) -> None:
    """Notes the growth of all counters of ``first``; when one of its own went down, all its own started again."""
    own: list[str] = []
    after = second if type(second) is type(first) else None
    _fields(found, name, first, after, own)
    if any(found.unknown.get(one) == "started again" for one in own):
        for one in own:
            found.growth.pop(one, None)
            found.unknown.setdefault(one, "started again")
    for field_name, mark in marks(type(first)).items():
        if mark.counter is not None and mark.counter.sum_of:
            _add_up(found, name, field_name, mark.counter.sum_of, (first, after))


def _fields(found: _Walk, name: str, first: Facts, second: Facts | None, own: list[str]) -> None:
    """The counters of ``first`` itself and of all that starts again with it, whose names go into ``own``."""
    for field_name, mark in marks(type(first)).items():
        value, path = getattr(first, field_name), f"{name}.{field_name}"
        after = None if second is None else getattr(second, field_name)
        if mark.counter is not None:
            if _is_number(value) and not mark.counter.sum_of:
                own.append(path)
                _note(found, path, mark.counter, value, after)
        elif isinstance(value, Facts):
            _fields(found, path, value, after if type(after) is type(value) else None, own)
        elif isinstance(value, tuple) and any(isinstance(item, Facts) and holds_counters(type(item)) for item in value):
            _items(found, path, value, after if isinstance(after, tuple) else (), own)


def _items(found: _Walk, path: str, first: tuple[Any, ...], second: tuple[Any, ...], own: list[str]) -> None:
    before, after = _by_identity(first), _by_identity(second)
    for number, item in enumerate(first):
        if not isinstance(item, Facts):
            continue
        label = label_of(item, number)
        again = after.get(label) if before.get(label) is item else None
        if _is_pair(type(item)):
            _fields(found, f"{path}[{label}]", item, again if type(again) is type(item) else None, own)
        else:
            _compare(found, f"{path}[{label}]", item, again)


def _by_identity(items: tuple[Any, ...]) -> dict[str, Facts | None]:
    """Items by what they are called; ``None`` for a name that two have. Those without a name are left out."""
    found: dict[str, Facts | None] = {}
    for item in items:
        label = identity_of(item)
        if label is not None:
            found[label] = None if label in found else item
    return found


def _is_pair(model: type[Facts]) -> bool:
    """Whether a model is a name and a value: then its items start again with the thing that lists them."""
    value = marks(model).get("value")
    return value is not None and value.counter is not None


def _note(found: _Walk, path: str, counter: Counter, first: Number, second: object) -> None:
    if not isinstance(second, int | float) or isinstance(second, bool):
        found.unknown[path] = "not there again"
    elif counter.stops_at is not None and first == counter.stops_at:
        found.unknown[path] = "at its limit"
    elif (grown := grown_by(first, second, counter.bits)) is None:
        found.unknown[path] = "started again"
    else:
        found.growth[path] = grown


def grown_by(first: Number, second: Number, bits: int | None) -> Number | None:
    """How much a counter grew, ``None`` when it started again.

    A counter of ``bits`` that went down passed its end if that means less than half of its range; more in one
    sample is not to be believed.
    """
    if second >= first:
        return second - first
    if bits is None:
        return None
    passed = (second - first) % (1 << bits)
    return passed if passed < 1 << (bits - 1) else None


def _add_up(found: _Walk, name: str, counter: str, items: str, readings: tuple[Facts, Facts | None]) -> None:
    """The growth of a sum: that of all its items, when they are the same ones both times."""
    first, second = readings
    if not _is_number(getattr(first, counter)):
        return
    path = f"{name}.{counter}"
    before, after = getattr(first, items) or (), getattr(second, items, None) or ()
    names = [f"{name}.{items}[{label_of(item, place)}].{counter}" for place, item in enumerate(before)]
    if not before or len(after) != len(before) or len(set(names)) != len(names):
        found.unknown[path] = "not there again"
    elif all(name in found.growth for name in names):
        found.growth[path] = sum(found.growth[name] for name in names)
    else:
        found.unknown[path] = next((found.unknown[name] for name in names if name in found.unknown), "not there again")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
