"""A rule file checked against the fact models and compiled."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from advisor.model.facts import Facts
from advisor.rulebook.language import Expression, Scope, compile_expression
from advisor.rulebook.language_compiler import Mistake, nearest
from advisor.rulebook.language_types import ANY, Type
from advisor.rulebook.schema import RuleFile, SetEntry
from advisor.rulebook.strict_yaml import Location
from advisor.rulebook.template import Template, compile_template

_EACH = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]{0,40})\s+in\s+", re.ASCII)
Literal = int | float | bool | str
Compiled = TypeVar("Compiled", Expression, Template)


@dataclass(frozen=True)
class Sections:
    """The fact models that rules may name, by section."""

    probed: Mapping[str, type[Facts]]
    derived: Mapping[str, type[Facts]] = field(default_factory=dict)
    """Derived sections and ``job``."""

    @property
    def models(self) -> Mapping[str, type[Facts]]:
        """All of them."""
        return {**self.probed, **self.derived}


@dataclass(frozen=True)
class Wrong:
    """Something wrong in a rule: in which value, and for an expression at which of its characters."""

    location: Location
    message: str
    text: str = ""
    offset: int = 0


@dataclass(frozen=True)
class CompiledSetting:
    """One entry under ``set``."""

    entry: SetEntry
    item: str
    """Name of the loop's item; empty without a loop."""
    each: Expression | None
    only: Expression | None
    key: Template
    value: Expression | Literal
    says: Template | None

    @property
    def conditions(self) -> tuple[Expression, ...]:
        """What decides whether, how often and with which key and value it is asked for."""
        value = self.value if isinstance(self.value, Expression) else None
        found = (self.each, self.only, value, *self.key.expressions)
        return tuple(one for one in found if one is not None)


@dataclass(frozen=True)
class Rule:
    """A rule that is known to be sound."""

    id: str
    path: str
    """Its file, as messages name it."""
    file: RuleFile
    item: str
    """Name of the loop's item; empty for a rule about the host."""
    each: Expression | None
    only: Expression | None
    fails: Expression
    says: Template
    settings: tuple[CompiledSetting, ...]

    @cached_property
    def condition(self) -> str:
        """What fails, on one line."""
        return " ".join(self.fails.text.split())

    @property
    def sections(self) -> frozenset[str]:
        """Sections of the Snapshot that it reads."""
        expressions = [self.each, self.only, self.fails, *self.says.expressions]
        for setting in self.settings:
            expressions += [*setting.conditions, *(setting.says.expressions if setting.says else ())]
        return frozenset().union(*(e.sections for e in expressions if e is not None))


@dataclass
class _Bench:
    """A rule being compiled: names in reach and what was found wrong."""

    scope: Scope
    wrong: list[Wrong] = field(default_factory=list)

    def tried(self, location: Location, text: str, make: Callable[[str, Scope], Compiled]) -> Compiled | None:
        """The compiled form of one text, or ``None`` with the mistake noted."""
        try:
            return make(text, self.scope)
        except Mistake as mistake:
            self.wrong.append(Wrong(location, mistake.message, text, mistake.offset))
            return None

    def inner(self) -> "_Bench":
        """A bench for a part with names of its own."""
        return _Bench(Scope(self.scope.sections, dict(self.scope.items)), self.wrong)

    def condition(self, location: Location, text: str | None) -> Expression | None:
        """A compiled condition."""
        return None if text is None else self.tried(location, text, compile_expression)


def compile_rule(
    rule_id: str, path: str, file: RuleFile, sections: Sections, targets: Collection[str]
) -> tuple[Rule | None, list[Wrong]]:
    """The compiled rule, ``None`` when anything is wrong, and all that is wrong."""
    bench = _Bench(Scope(sections.models))
    item, each = _each(file.each, bench, ("each",))
    if file.each is not None and each is None:
        return None, bench.wrong  # without the item's type the rest would only give wrong complaints
    only = bench.condition(("only",), file.only)
    fails = bench.condition(("fails",), file.fails)
    says = bench.tried(("says",), file.says, compile_template)
    settings = [_setting(entry, number, bench, targets) for number, entry in enumerate(file.settings)]
    if bench.wrong or fails is None or says is None:
        return None, bench.wrong
    made = tuple(setting for setting in settings if setting is not None)
    rule = Rule(rule_id, path, file, item, each, only, fails, says, made)
    return (None, wrong) if (wrong := _unsteady(rule)) else (rule, [])


def _each(text: str | None, bench: _Bench, location: Location) -> tuple[str, Expression | None]:
    """The loop's name and list; the name is added to the scope."""
    if text is None:
        return "", None
    found = _EACH.match(text)
    if found is None:
        bench.wrong.append(Wrong(location, "it must be 'name in list', as in 'dev in pci.devices'", text))
        return "", None
    name = found[1]
    if name in bench.scope.sections:
        bench.wrong.append(Wrong(location, f"{name!r} is a section; give the item another name", text))
        return name, None

    def items(text: str, scope: Scope) -> Expression:
        try:
            return compile_expression(text[found.end() :], scope, lambda _: True)
        except Mistake as mistake:
            raise Mistake(mistake.message, mistake.offset + found.end()) from None

    each = bench.tried(location, text, items)
    if each is not None and each.type.kind != "list":
        bench.wrong.append(Wrong(location, f"it must run over a list but this is {each.type}", text, found.end()))
        each = None
    if each is not None:
        bench.scope.items[name] = each.type.item or ANY
    return name, each


def _setting(entry: SetEntry, number: int, bench: _Bench, targets: Collection[str]) -> CompiledSetting | None:
    here: Location = ("set", number)
    if entry.target not in targets:
        known = ", ".join(sorted(targets))
        message = f"there is no target {entry.target!r}{nearest(entry.target, targets)} (there are {known})"
        bench.wrong.append(Wrong((*here, "target"), message))
    bench = bench.inner()
    item, each = _each(entry.each, bench, (*here, "each"))
    if entry.each is not None and each is None:
        return None  # without the item's type the rest would only give wrong complaints
    only = bench.condition((*here, "only"), entry.only)
    key = bench.tried((*here, "key"), entry.key, compile_template)
    value = _value(entry.value, (*here, "value"), bench)
    says = bench.tried((*here, "says"), entry.says, compile_template) if entry.says else None
    return None if key is None or value is None else CompiledSetting(entry, item, each, only, key, value, says)


def _value(
    value: str | int | float | bool, location: Location, bench: _Bench
) -> Expression | int | float | bool | None:
    if not isinstance(value, str):
        return value
    compiled = bench.tried(location, value, lambda text, scope: compile_expression(text, scope, lambda _: True))
    if compiled is not None and not _settable(compiled.type):
        message = f"a setting's value must be a number, text, true or false, or a list of numbers, not {compiled.type}"
        bench.wrong.append(Wrong(location, message, value))
    return compiled


def _settable(found: Type) -> bool:
    numbers = found.kind == "list" and found.item is not None and found.item.kind == "int"
    return numbers or found.kind in ("int", "float", "bool", "str", "any")


def _unsteady(rule: Rule) -> list[Wrong]:
    """What would make committed files differ from run to run on an unchanged host."""
    message = "a setting must not rest on a fact that changes by itself: two runs would write different files"
    conditions = [("each", rule.each), ("only", rule.only), ("fails", rule.fails)]
    moving = [name for name, condition in conditions if condition is not None and condition.volatile]
    wrong = []
    if not moving and any(expression.volatile for expression in rule.says.expressions):
        told = "the message prints a fact that changes by itself, on which the verdict does not rest: leave it out"
        wrong.append(Wrong(("says",), told))
    for number, setting in enumerate(rule.settings):
        if moving or any(expression.volatile for expression in setting.conditions):
            wrong.append(Wrong(("set", number), f"{message}{f' (in {moving[0]})' if moving else ''}"))
    return wrong
