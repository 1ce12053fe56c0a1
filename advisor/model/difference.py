"""What differs between the facts of two hosts, or of one host at two times, by meaning.

Items of a list are the same when they were read from the same place, or else when they say the same; the line at which
something stands in a file, and what changes by itself, make no difference.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from advisor.model.facts import Facts, evidence_path, marks
from advisor.model.snapshot import Snapshot

Kind = Literal["changed", "only in A", "only in B", "not comparable"]
_NAMES = ("point", "name", "address", "number", "key")
"""Fields that tell items of one list apart which all come from one file."""
_UNSTEADY = ("line", "wins", "counts", "counts_for")
"""Where a line stands, and what stands behind it, is told by the lines themselves."""


@dataclass(frozen=True)
class Difference:
    """One fact that is not the same."""

    fact: str
    """As rules name it, an item of a list by its place: ``pci.devices[0000:3b:00.0].link_width``."""
    kind: Kind
    a: object = None
    b: object = None
    """Values, as plain JSON types; of what cannot be compared the reason."""


def differences(a: Snapshot, b: Snapshot) -> tuple[Difference, ...]:
    """Every difference between the probed facts, by section and field."""
    found: list[Difference] = []
    for name in sorted({*a.facts, *b.facts}):
        one, other = a.facts.get(name), b.facts.get(name)
        if one is None or other is None or type(one) is not type(other):
            missing = ["not read" if side is None else "read" for side in (one, other)]
            found.append(Difference(name, "not comparable", *missing))
        else:
            found += _Pair(a, b).of_models(name, one, other)
    return tuple(found)


@dataclass(frozen=True)
class _Pair:
    a: Snapshot
    b: Snapshot

    def of_models(self, place: str, one: Facts, other: Facts) -> Iterator[Difference]:
        for name, mark in marks(type(one)).items():
            if mark.volatile or mark.private or name in _UNSTEADY:
                continue
            left, right = getattr(one, name), getattr(other, name)
            here = f"{place}.{name}"
            if left is None or right is None:
                yield from self._of_missing(here, one, other, name)
            elif isinstance(left, Facts) and isinstance(right, Facts):
                yield from self.of_models(here, left, right)
            elif _holds_facts(left) or _holds_facts(right):
                yield from self._of_lists(here, left, right)
            elif left != right:
                yield Difference(here, "changed", _plain(left), _plain(right))

    def _of_missing(self, here: str, one: Facts, other: Facts, name: str) -> Iterator[Difference]:
        left, right = getattr(one, name), getattr(other, name)
        if (left is None and right is None) or _plain(left) == {} or _plain(right) == {}:
            return
        snapshot, facts = (self.a, one) if left is None else (self.b, other)
        gap = snapshot.gap(evidence_path(facts, name))
        if gap == "absent":
            yield Difference(here, "only in B" if left is None else "only in A", _plain(left), _plain(right))
            return
        why = f"unknown ({gap or 'not read'})"
        a, b = (why, _plain(right)) if left is None else (_plain(left), why)
        yield Difference(here, "not comparable", a, b)

    def _of_lists(self, here: str, left: Sequence[Facts], right: Sequence[Facts]) -> Iterator[Difference]:
        named = next((n for n in ("origin", *_NAMES) if _is_unique(n, left) and _is_unique(n, right)), None)
        if named is None:
            yield from _of_unplaced(here, left, right)
            return
        ones, others = ({str(getattr(item, named)): item for item in items} for items in (left, right))
        places = sorted({*ones, *others})
        ending = _common_end(places) if named == "origin" else ""
        for place in places:
            at = f"{here}[{place.removesuffix(ending).rpartition('/')[2] if named == 'origin' else place}]"
            if place not in others:
                yield Difference(at, "only in A", _plain(ones[place]))
            elif place not in ones:
                yield Difference(at, "only in B", None, _plain(others[place]))
            else:
                yield from self.of_models(at, ones[place], others[place])


def _holds_facts(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Facts)


def _is_unique(name: str, items: Sequence[Facts]) -> bool:
    """Whether each item has a value of its own in this field."""
    values = [getattr(item, name, None) for item in items]
    return all(values) and len(set(values)) == len(values)


def _common_end(places: Sequence[str]) -> str:
    """The last parts of the paths that all of them share."""
    end = ""
    while len({place.removesuffix(end).rpartition("/")[2] for place in places}) == 1 and len(places) > 1:
        end = "/" + places[0].removesuffix(end).rpartition("/")[2] + end
    return end


def _of_unplaced(here: str, left: Sequence[Facts], right: Sequence[Facts]) -> Iterator[Difference]:
    ones, others = (Counter(map(_said, items)) for items in (left, right))
    by_text = {_said(item): _plain(item) for item in (*left, *right)}
    for text in sorted(ones - others):
        yield Difference(here, "only in A", by_text[text])
    for text in sorted(others - ones):
        yield Difference(here, "only in B", None, by_text[text])


def _said(item: Facts) -> str:
    return repr(_plain(item))


def _plain(value: Any) -> Any:
    """A value as JSON types, without what makes no difference."""
    if isinstance(value, Facts):
        kept = {name: getattr(value, name) for name, mark in marks(type(value)).items() if not _left_out(name, mark)}
        return {name: _plain(item) for name, item in kept.items() if item is not None}
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _left_out(name: str, mark: Any) -> bool:
    return bool(mark.volatile or mark.private or name in _UNSTEADY)
