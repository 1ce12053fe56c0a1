"""Values while a condition runs: unknowns with their reasons, named items, and the trace of what was read."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from advisor.model.facts import Facts, evidence_path, marks
from advisor.model.finding import Evidence
from advisor.model.labels import label_of
from advisor.model.snapshot import Snapshot

STEPS_LIMIT = 1_000_000
"""Items that the loops of one condition may visit; the largest hosts need some thousands."""
_MISSING_LIMIT = 24
"""Reasons kept for one unknown value: a host with 300 unreadable devices needs no 300 sentences."""
_BITS_LIMIT = 4096
"""Of a whole number: far more than any fact has, and few enough to be printed."""
PRIVATE = "(private)"
"""Stands for every value that identifies a host or opens a door."""


_PLAIN = frozenset((bool, int, float, str))
"""Types of values that hold nothing unknown."""


class Defective(Exception):
    """A condition that cannot be computed: the rule is wrong, not the host. The text is one sentence."""


@dataclass(frozen=True)
class Missing:
    """One fact that has no value."""

    expression: str
    path: str
    gap: str
    """A gap state, ``not read`` (no such section in this Snapshot), ``no value`` (read, but nothing told) or, of a
    growth, ``not sampled`` or a `GrowthGap`."""


@dataclass(frozen=True)
class Unknown:
    """A value that cannot be told, and the facts that would tell it."""

    missing: tuple[Missing, ...]


@dataclass(frozen=True)
class Thing:
    """A fact model with its name in the rule's terms: ``pci.devices[0000:3b:00.0]``."""

    facts: Facts
    name: str
    label: str
    read: dict[str, "Read"] = field(default_factory=dict, compare=False, repr=False)
    """Its fields that some condition looked at."""


@dataclass(frozen=True)
class Read:
    """What a field gave: its value for conditions, and the evidence, ``None`` for a model with fields of its own."""

    value: Any
    expression: str
    evidence: Evidence | None


@dataclass
class Run:
    """One evaluation: the Snapshot, the loop variables and the facts looked at so far."""

    snapshot: Snapshot
    items: dict[str, Any] = field(default_factory=dict)
    seen: dict[str, Evidence] = field(default_factory=dict)
    aside: dict[str, Evidence] = field(default_factory=dict)
    """Facts that only kept an item out of a loop: they come behind what decided."""
    steps: int = 0
    sections: dict[str, Thing | Unknown] = field(default_factory=dict)
    """Shared by all runs on one Snapshot: a fact is looked up once, whatever number of rules ask for it."""

    def step(self) -> None:
        """Counts one item of a loop. Raises Defective when there were too many."""
        self.steps += 1
        if self.steps > STEPS_LIMIT:
            raise Defective(f"its loops visit more than {STEPS_LIMIT:,} items")

    @contextmanager
    def apart(self) -> Iterator[dict[str, Evidence]]:
        """Has what is looked at meanwhile noted in the dictionary that it gives, and not in ``seen``."""
        outer, self.seen = self.seen, {}
        try:
            yield self.seen
        finally:
            self.seen = outer

    def evidence(self) -> tuple[Evidence, ...]:
        """All that was looked at, each once."""
        return (*self.seen.values(), *(one for key, one in self.aside.items() if key not in self.seen))

    def section(self, name: str) -> Thing | Unknown:
        """A section of the Snapshot."""
        found = self.sections.get(name)
        if found is None:
            facts = self.snapshot.section(name)
            found = Unknown((Missing(name, "", "not read"),)) if facts is None else Thing(facts, name, name)
            self.sections[name] = found
        return found

    def not_read(self, expression: str) -> Unknown:
        """A fact of a section that this Snapshot lacks."""
        return self._missing(expression, "", "not read")

    def fact(self, owner: Thing, name: str) -> Any:
        """A field's value, with its evidence noted."""
        read = owner.read.get(name)
        if read is None:
            read = owner.read[name] = self._read(owner, name)
        if read.evidence is not None:
            self.seen[read.expression] = read.evidence
        return read.value

    def _read(self, owner: Thing, name: str) -> Read:
        value = getattr(owner.facts, name)
        expression, path = f"{owner.name}.{name}", evidence_path(owner.facts, name)
        mark = marks(type(owner.facts))[name]
        if value is None:
            gap = self._gap(path, mark.volatile)
            evidence = Evidence(expression, None, path, gap, mark.volatile)
            return Read(Unknown((Missing(expression, path, gap),)), expression, evidence)
        if value.__class__ in _PLAIN:
            shown = PRIVATE if mark.private else value
            return Read(value, expression, Evidence(expression, shown, path, volatile=mark.volatile))
        value = _named(value, expression)
        if isinstance(value, Thing):
            return Read(value, expression, None)
        evidence = Evidence(expression, PRIVATE if mark.private else _shown(value), path, volatile=mark.volatile)
        unknown = Unknown((Missing(expression, path, self._gap(path, mark.volatile)),))
        return Read(_settled(value, unknown), expression, evidence)

    def growth(self, owner: Thing, name: str, per_second: bool) -> Any:
        """How much a counter grew while the host was sampled, or how much a second, with its evidence noted."""
        expression, path, sample = f"{owner.name}.{name}", evidence_path(owner.facts, name), self.snapshot.sample
        called = f"{'rate' if per_second else 'growth'}({expression})"
        if getattr(owner.facts, name) is None:
            return self.fact(owner, name)
        if sample is None or expression in sample.unknown or expression not in sample.growth:
            gap = "not sampled" if sample is None else sample.unknown.get(expression, "not there again")
            return self._missing(called, path, gap, volatile=True)
        grown = sample.growth[expression]
        seconds = sample.seconds.get(expression.partition(".")[0]) if per_second else 1
        if seconds is None:
            return self._missing(called, path, "not there again", volatile=True)
        self.seen[called] = Evidence(called, grown / seconds if per_second else grown, path, volatile=True)
        return self.seen[called].value

    def item(self, owner: Any, expression: str, key: int | str) -> Any:
        """An item of a list or map by its constant key; one that is not there is absent."""
        try:
            return owner[key]
        except (IndexError, KeyError):
            return self._missing(expression, "", "absent")

    def _gap(self, path: str, volatile: bool) -> str:
        recorded = self.snapshot.gap(path)
        if recorded is not None:
            return recorded
        return "not captured" if volatile and self.snapshot.source.kind != "live" else "no value"

    def _missing(self, expression: str, path: str, gap: str, volatile: bool = False) -> Unknown:
        self.seen[expression] = Evidence(expression, None, path, gap, volatile)
        return Unknown((Missing(expression, path, gap),))


def _named(value: Any, expression: str) -> Any:
    """``value`` with every fact model in it as a `Thing`."""
    if isinstance(value, Facts):
        return Thing(value, expression, expression)
    if isinstance(value, Mapping):
        return {key: _item(item, expression, str(key)) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return tuple(sorted(value, key=lambda item: (item is None, item)))
    if isinstance(value, tuple | list):
        return tuple(_item(item, expression, label_of(item, number)) for number, item in enumerate(value))
    return value


def _item(item: Any, expression: str, label: str) -> Any:
    name = f"{expression}[{label}]"
    return Thing(item, name, label) if isinstance(item, Facts) else _named(item, name)


def _shown(value: Any) -> Any:
    """A value as evidence: items by their labels."""
    if isinstance(value, Mapping):
        return tuple(value)
    return tuple(v.label if isinstance(v, Thing) else v for v in value) if isinstance(value, tuple) else value


def _settled(value: Any, unknown: Unknown) -> Any:
    """``value`` with ``unknown`` in place of every ``None`` in its lists."""
    if isinstance(value, tuple):
        return tuple(unknown if item is None else _settled(item, unknown) for item in value)
    if isinstance(value, dict):
        return {key: unknown if item is None else _settled(item, unknown) for key, item in value.items()}
    return value


def unknowns(*values: Any) -> Unknown | None:
    """All unknowns among the values and inside their lists as one; ``None`` when everything is known."""
    found: dict[Missing, None] = {}
    any_unknown = False
    for value in values:
        inner = unknowns(*value) if isinstance(value, tuple) else value
        if isinstance(inner, Unknown):
            any_unknown = True
            found.update(dict.fromkeys(inner.missing))
    return Unknown(tuple(found)[:_MISSING_LIMIT]) if any_unknown else None


def kleene(steps: Iterable[Callable[[Run], Any]], run: Run, decides: bool) -> Any:
    """``or`` (``decides`` is True) or ``and`` (False): the first deciding value wins, even over unknown ones."""
    unknown: list[Unknown] = []
    for step in steps:
        try:
            value = step(run)
        except Defective:
            # Had the unknown value decided, this part would never have been computed.
            if not unknown:
                raise
            continue
        if isinstance(value, Unknown):
            unknown.append(value)
        elif value is decides:
            return decides
    return unknowns(*unknown) or not decides


def negated(value: Any) -> Any:
    """``not``; what is not known stays so."""
    return value if isinstance(value, Unknown) else not value


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_ARITHMETIC = ("+", "-", "*", "/", "//", "%")


def computed(sign: str, left: Any, right: Any) -> Any:
    """The result of an operator; unknown when either side is. Raises Defective."""
    if left.__class__ not in _PLAIN or right.__class__ not in _PLAIN:
        unknown = unknowns(left, right)
        if unknown:
            return unknown
    if sign in _ARITHMETIC and not (_is_number(left) and _is_number(right)):
        raise Defective(f"{sign} needs numbers")
    try:
        result = _OPERATORS[sign](left, right)
        if isinstance(result, int) and result.bit_length() > _BITS_LIMIT:
            raise Defective("a number becomes too large")
        return result
    except ZeroDivisionError:
        raise Defective("division by zero") from None
    except (TypeError, ArithmeticError) as error:
        raise Defective(str(error)) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def contains(item: Any, among: Any) -> Any:
    """``item in among``: true as soon as one known item is equal, unknown while one could be."""
    if isinstance(among, Unknown):
        return among
    if isinstance(among, tuple):
        if not among:
            return False
        if item.__class__ in _PLAIN and item in among:
            return True
        if unknown := unknowns(item):
            return unknown
        if any(unknowns(other) is None and other == item for other in among):
            return True
        return unknowns(*among) or False
    return item if isinstance(item, Unknown) else item in among


_DOTTED = re.compile(r"v?(\d{1,12}(?:\.\d{1,12})*)", re.ASCII)


def version_of(text: str) -> tuple[int, ...] | None:
    """The leading dotted numbers of a version, without zeros at the end: ``5.15.0-91-generic`` is (5, 15)."""
    found = _DOTTED.match(text.strip())
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
