"""The functions of the condition language, and the loops inside them."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.model.facts import marks
from advisor.rulebook.language_compiler import Compiler, Mistake, Part, Step, nearest
from advisor.rulebook.language_types import ANY, BOOL, FLOAT, INT, VERSION, Type, joined
from advisor.rulebook.language_values import Defective, Missing, Run, Unknown, kleene, unknowns, version_of


@dataclass(frozen=True)
class Items:
    """What a function runs over: pairs of "is it in" (True or Unknown) and its value, ``None`` for no item at all."""

    type: Type
    pairs: Callable[[Run], Iterator[tuple[Any, Step | None]]]


@dataclass(frozen=True)
class Clause:
    """One ``for name in among if ...``."""

    name: str
    among: Step
    conditions: tuple[Step, ...]


def call(compiler: Compiler, node: ast.Call) -> Part:
    """The compiled form of a call: one of the functions here, or ``startswith``/``endswith`` of a text."""
    if node.keywords:
        raise compiler.mistake("no function takes arguments by name", node)
    if isinstance(node.func, ast.Attribute):
        return _method(compiler, node, node.func)
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS:
        known = ", ".join(sorted(_FUNCTIONS))
        raise compiler.mistake(f"there is no function {name!r}{nearest(name, _FUNCTIONS)} (there are {known})", node)
    least, most, function = _FUNCTIONS[name]
    if not least <= len(node.args) <= most:
        raise compiler.mistake(f"{name}() takes {least if least == most else f'{least} or more'} arguments", node)
    return function(compiler, name, node.args)


def _method(compiler: Compiler, node: ast.Call, function: ast.Attribute) -> Part:
    if function.attr not in ("startswith", "endswith"):
        raise compiler.mistake(f"there is no method {function.attr!r}; texts have startswith and endswith", node)
    if len(node.args) != 1:
        raise compiler.mistake(f"{function.attr}() takes one text", node)
    text, part = _text(compiler, function.value, function.attr), _text(compiler, node.args[0], function.attr)
    at_end = function.attr == "endswith"

    def run(run: Run) -> Any:
        values = text.run(run), part.run(run)
        return unknowns(*values) or (values[0].endswith(values[1]) if at_end else values[0].startswith(values[1]))

    return Part(BOOL, run)


def _text(compiler: Compiler, node: ast.expr, function: str) -> Part:
    part = compiler.part(node)
    if part.type.kind != "str":
        raise compiler.mistake(f"{function}() needs text but {compiler.source(node)!r} is {part.type}", node)
    return part


def _known(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    part = compiler.part(arguments[0])
    return Part(BOOL, lambda run: not isinstance(part.run(run), Unknown))


def _absent(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    part = compiler.part(arguments[0])
    if not part.fact:
        raise compiler.mistake("absent() takes the name of one fact", arguments[0])

    def run(run: Run) -> Any:
        value = part.run(run)
        if not isinstance(value, Unknown):
            return False
        return True if all(missing.gap == "absent" for missing in value.missing) else value

    return Part(BOOL, run)


def _version(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    part, source = _text(compiler, arguments[0], name), compiler.source(arguments[0])
    if isinstance(arguments[0], ast.Constant) and version_of(str(arguments[0].value)) is None:
        raise compiler.mistake(f"{source} is no version: it must start with a number", arguments[0])

    def run(run: Run) -> Any:
        text = part.run(run)
        if isinstance(text, Unknown):
            return text
        return version_of(text) or Unknown((Missing(f"version({source})", "", "unsupported"),))

    return Part(VERSION, run)


def _growth(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    """``growth`` or ``rate`` of one counter."""
    node, counter = arguments[0], compiler.part(arguments[0])
    owner = compiler.part(node.value) if isinstance(node, ast.Attribute) else None
    if not isinstance(node, ast.Attribute) or owner is None or owner.type.model is None:
        raise compiler.mistake(f"{name}() takes the name of one counter", node)
    if marks(owner.type.model)[node.attr].counter is None:
        raise compiler.mistake(f"{compiler.source(node)!r} is no counter, of which alone there is a {name}", node)

    def run(run: Run) -> Any:
        thing = owner.run(run)
        return counter.run(run) if isinstance(thing, Unknown) else run.growth(thing, node.attr, name == "rate")

    return Part(FLOAT if name == "rate" else counter.type, run)


def _len(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    if not isinstance(arguments[0], ast.GeneratorExp):
        return _len_of(compiler, arguments[0])
    items = _generator(compiler, arguments[0])

    def run(run: Run) -> Any:
        inside = [guard for guard, _ in items.pairs(run)]
        return unknowns(*inside) or len(inside)

    return Part(INT, run)


def _len_of(compiler: Compiler, node: ast.expr) -> Part:
    part = compiler.part(node)
    if part.type.kind not in ("list", "map", "str", "any"):
        raise compiler.mistake(f"len() needs a list but {compiler.source(node)!r} is {part.type}", node)

    def run(run: Run) -> Any:
        value = part.run(run)
        if isinstance(value, Unknown):
            return value
        try:
            return len(value)
        except TypeError:
            raise Defective("len() needs a list") from None

    return Part(INT, run)


def _any_all(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    items, decides = _items(compiler, name, arguments, ("bool",)), name == "any"

    return Part(BOOL, lambda run: _decided(items, run, decides))


def _decided(items: Items, run: Run, decides: bool) -> Any:
    """Whether any item is ``decides``; the first that is settles it, also over unknown ones."""
    unknown: list[Unknown] = []
    try:
        for guard, value in _values(items, run):
            if guard is True and value is decides:
                return decides
            # An item that decides nothing whether it is in or not cannot make the result unknown.
            if isinstance(value, Unknown) or value is decides:
                unknown += [u for u in (guard, value) if isinstance(u, Unknown)]
    except Defective:
        # Had the unknown item decided, this one would never have been computed.
        if not unknown:
            raise
    return unknowns(*unknown) or not decides


def _values(items: Items, run: Run) -> Iterator[tuple[Any, Any]]:
    """Pairs of "is it in" and the value; a value that cannot be computed of an item that may not be in is unknown."""
    for guard, step in items.pairs(run):
        if step is None:
            yield guard, guard
            continue
        try:
            yield guard, step(run)
        except Defective:
            if guard is True:
                raise
            yield guard, guard


def _count(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    items = _items(compiler, name, arguments, ("bool",))

    def run(run: Run) -> Any:
        pairs = [(guard, value) for guard, value in _values(items, run) if value is not False]
        unknown = unknowns(*(value for pair in pairs for value in pair))
        return unknown or len(pairs)

    return Part(INT, run)


def _sum(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    items = _items(compiler, name, arguments, ("int", "float"))
    return Part(_number_type(items.type), lambda run: _folded(items, run, sum))


def _min_max(compiler: Compiler, name: str, arguments: list[ast.expr]) -> Part:
    items = _items(compiler, name, arguments, ("int", "float", "version"))
    pick: Callable[[list[Any]], Any] = min if name == "min" else max

    def least_or_most(values: list[Any]) -> Any:
        if not values:
            raise Defective(f"{name}() of nothing; ask for len(...) > 0 before")
        return pick(values)

    return Part(items.type, lambda run: _folded(items, run, least_or_most))


def _number_type(found: Type) -> Type:
    return found if found.is_number else FLOAT


def _folded(items: Items, run: Run, fold: Callable[[list[Any]], Any]) -> Any:
    pairs = list(_values(items, run))
    unknown = unknowns(*(value for pair in pairs for value in pair))
    if unknown:
        return unknown
    try:
        return fold([value for _, value in pairs])
    except (TypeError, ArithmeticError) as error:
        raise Defective(str(error)) from None


def _items(compiler: Compiler, name: str, arguments: list[ast.expr], kinds: tuple[str, ...]) -> Items:
    """The items that a function runs over: a loop, one list, or several arguments, each of one of ``kinds``."""
    if len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp):
        items = _generator(compiler, arguments[0])
    elif len(arguments) == 1:
        items = _list(compiler, name, arguments[0])
    else:
        items = _several([compiler.part(a) for a in arguments])
    if items.type.kind not in (*kinds, "any"):
        needs = {"bool": "conditions"}.get(kinds[0], "numbers")
        raise compiler.mistake(f"{name}() needs {needs} but has {items.type}", arguments[0])
    return items


def _several(parts: list[Part]) -> Items:
    def pairs(run: Run) -> Iterator[tuple[Any, Step | None]]:
        yield from ((True, part.run) for part in parts)

    return Items(joined(part.type for part in parts), pairs)


def _list(compiler: Compiler, name: str, node: ast.expr) -> Items:
    part = compiler.part(node)
    if part.type.kind != "list":
        raise compiler.mistake(f"{name}() needs a list but {compiler.source(node)!r} is {part.type}", node)

    def pairs(run: Run) -> Iterator[tuple[Any, Step | None]]:
        values = part.run(run)
        if isinstance(values, Unknown):
            yield values, None
            return
        for value in values:
            run.step()
            yield True, _given(value)

    return Items(part.type.item or ANY, pairs)


def _given(value: Any) -> Step:
    return lambda run: value


def _generator(compiler: Compiler, node: ast.GeneratorExp) -> Items:
    outer = dict(compiler.items)
    clauses = [_clause(compiler, clause) for clause in node.generators]
    body = compiler.part(node.elt)
    compiler.items = outer

    def pairs(run: Run) -> Iterator[tuple[Any, Step | None]]:
        return _pairs(run, clauses, body.run, True)

    return Items(body.type, pairs)


def _clause(compiler: Compiler, clause: ast.comprehension) -> Clause:
    among = compiler.part(clause.iter)
    if not isinstance(clause.target, ast.Name):
        raise compiler.mistake("a loop has one name", clause.target)
    name = clause.target.id
    if name in compiler.items or name in compiler.sections:
        raise compiler.mistake(f"the name {name!r} is taken", clause.target)
    if among.type.kind != "list":
        message = f"a loop needs a list but {compiler.source(clause.iter)!r} is {among.type}"
        raise compiler.mistake(message, clause.iter)
    compiler.items[name] = among.type.item or ANY
    return Clause(name, among.run, tuple(_condition(compiler, test) for test in clause.ifs))


def _condition(compiler: Compiler, node: ast.expr) -> Step:
    part = compiler.part(node)
    if part.type.kind not in ("bool", "any"):
        raise Mistake(f"{compiler.source(node)!r} must be true or false but is {part.type}", compiler.offset(node))
    return part.run


def _pairs(run: Run, clauses: list[Clause], body: Step, guard: Any) -> Iterator[tuple[Any, Step | None]]:
    clause, *inner = clauses
    values = clause.among(run)
    if isinstance(values, Unknown):
        yield unknowns(guard, values), None
        return
    for value in values:
        run.step()
        run.items[clause.name] = value
        inside = _guard(run, clause.conditions, guard)
        if inside is False:
            continue
        if inner:
            yield from _pairs(run, inner, body, inside)
        else:
            yield inside, body


def _guard(run: Run, conditions: tuple[Step, ...], outer: Any) -> Any:
    """True, False, or Unknown when it cannot be told whether an item belongs to the loop."""
    if not conditions:
        return outer
    before, run.seen = run.seen, {}  # not Run.apart(): it takes longer, and this is done for each item of each loop
    try:
        inside = kleene((lambda run: outer, *conditions), run, decides=False)
    finally:
        looked_at, run.seen = run.seen, before
    (run.aside if inside is False else before).update(looked_at)
    return inside


_Function = Callable[[Compiler, str, list[ast.expr]], Part]
_FUNCTIONS: Mapping[str, tuple[int, int, _Function]] = {
    "absent": (1, 1, _absent),
    "all": (1, 1, _any_all),
    "any": (1, 1, _any_all),
    "count": (1, 1, _count),
    "growth": (1, 1, _growth),
    "known": (1, 1, _known),
    "len": (1, 1, _len),
    "max": (1, 100, _min_max),
    "min": (1, 100, _min_max),
    "rate": (1, 1, _growth),
    "sum": (1, 1, _sum),
    "version": (1, 1, _version),
}
