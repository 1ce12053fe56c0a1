"""How names, literals and operators of the condition language are checked and compiled."""

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from advisor.model.facts import marks
from advisor.rulebook.language_calls import call
from advisor.rulebook.language_compiler import Compiler, Mistake, Nodes, Part, called, nearest
from advisor.rulebook.language_types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    STR,
    Type,
    comparable,
    field_names,
    field_type,
    joined,
    ordered,
)
from advisor.rulebook.language_values import Defective, Run, Unknown, computed, contains, kleene, negated, unknowns

CONSTANTS: Mapping[str, int] = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ARITHMETIC = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


def _constant(compiler: Compiler, node: ast.Constant) -> Part:
    value = node.value
    if value is None:
        raise compiler.mistake("None is no value to compare with: ask known(x) or absent(x)", node)
    kind = {bool: BOOL, int: INT, float: FLOAT, str: STR}.get(type(value))
    if kind is None:
        raise compiler.mistake(f"{value!r} is not a number, text, True or False", node)
    return Part(kind, lambda run: value)


def _name(compiler: Compiler, node: ast.Name) -> Part:
    name = node.id
    if name in compiler.items:
        return Part(compiler.items[name], lambda run: run.items[name], fact=True)
    if name in compiler.sections:
        compiler.used.add(name)
        return Part(Type("facts", model=compiler.sections[name]), lambda run: run.section(name), fact=True)
    if name in CONSTANTS:
        value = CONSTANTS[name]
        return Part(INT, lambda run: value)
    known = (*compiler.items, *compiler.sections, *CONSTANTS)
    raise compiler.mistake(f"nothing is called {name!r} here{nearest(name, known)}", node)


def _attribute(compiler: Compiler, node: ast.Attribute) -> Part:
    owner, name = compiler.part(node.value), node.attr
    model = owner.type.model
    if model is None:
        raise compiler.mistake(f"{compiler.source(node.value)!r} is {owner.type} and has no fields", node)
    known = field_names(model)
    if name not in known:
        raise Mistake(f"{model.__name__} has no field {name!r}{nearest(name, known)}", compiler.end(node) - len(name))
    compiler.volatile = compiler.volatile or marks(model)[name].volatile

    section = node.value.id if isinstance(node.value, ast.Name) and node.value.id in compiler.sections else None

    def run(run: Run) -> Any:
        thing = owner.run(run)
        if isinstance(thing, Unknown):
            return thing if section is None else run.not_read(f"{section}.{name}")
        return run.fact(thing, name)

    return Part(field_type(model, name), run, fact=True)


def _subscript(compiler: Compiler, node: ast.Subscript) -> Part:
    owner, key = compiler.part(node.value), _key(compiler, node.slice)
    if owner.type.kind not in ("list", "map"):
        raise compiler.mistake(f"{compiler.source(node.value)!r} is {owner.type} and has no items", node)
    wanted = str if owner.type.kind == "map" else int
    if not isinstance(key, wanted):
        raise compiler.mistake(f"{owner.type} has no item {key!r}: its keys are {wanted.__name__}", node.slice)
    items, expression = owner.type.items, compiler.source(node)
    if items is not None and isinstance(key, int) and not -len(items) <= key < len(items):
        raise compiler.mistake(f"there are only {len(items)} items", node.slice)
    kind = items[key] if items is not None and isinstance(key, int) else owner.type.item

    def run(run: Run) -> Any:
        value = owner.run(run)
        return value if isinstance(value, Unknown) else run.item(value, expression, key)

    return Part(kind or ANY, run, fact=owner.fact)


def _key(compiler: Compiler, node: ast.expr) -> int | str:
    try:
        key = ast.literal_eval(node)
    except ValueError:
        key = None
    if isinstance(key, bool) or not isinstance(key, int | str):
        raise compiler.mistake("the key in [] must be a number or text written out", node)
    return key


def _tuple(compiler: Compiler, node: ast.Tuple) -> Part:
    parts = [compiler.part(item) for item in node.elts]
    items = tuple(part.type for part in parts)
    return Part(Type("list", item=joined(items) if items else None, items=items), lambda run: _all(parts, run))


def _all(parts: list[Part], run: Run) -> tuple[Any, ...]:
    return tuple(part.run(run) for part in parts)


def _true_or_false(compiler: Compiler, node: ast.expr) -> Part:
    part = compiler.part(node)
    if part.type.kind not in ("bool", "any"):
        raise compiler.mistake(f"{compiler.source(node)!r} must be true or false but is {part.type}", node)
    return part


def _bool_op(compiler: Compiler, node: ast.BoolOp) -> Part:
    parts = [_true_or_false(compiler, value) for value in node.values]
    decides = isinstance(node.op, ast.Or)
    steps = [part.run for part in parts]
    return Part(BOOL, lambda run: kleene(steps, run, decides))


def _unary_op(compiler: Compiler, node: ast.UnaryOp) -> Part:
    if isinstance(node.op, ast.Not):
        inner = _true_or_false(compiler, node.operand)
        return Part(BOOL, lambda run: negated(inner.run(run)))
    if not isinstance(node.op, ast.USub):
        raise compiler.mistake(f"{called(node)} is not part of the condition language", node)
    number = _number(compiler, node.operand, "-")
    return Part(number.type, lambda run: computed("-", 0, number.run(run)))


def _if_else(compiler: Compiler, node: ast.IfExp) -> Part:
    test = _true_or_false(compiler, node.test)
    yes, no = compiler.part(node.body), compiler.part(node.orelse)
    found = joined((yes.type, no.type))
    if found == ANY and ANY not in (yes.type, no.type):
        raise compiler.mistake(f"one branch is {yes.type}, the other {no.type}", node)

    def run(run: Run) -> Any:
        decided = test.run(run)
        if not isinstance(decided, Unknown):
            return (yes if decided else no).run(run)
        try:
            either = yes.run(run), no.run(run)
        except Defective:
            return decided  # of a branch that may not be the one
        # When both branches agree, the question does not matter.
        agree = unknowns(*either) is None and either[0] == either[1]
        return either[0] if agree else unknowns(decided, *either)

    return Part(found, run)


def _number(compiler: Compiler, node: ast.expr, sign: str) -> Part:
    part = compiler.part(node)
    if not part.type.is_number:
        raise compiler.mistake(f"{sign} needs numbers but {compiler.source(node)!r} is {part.type}", node)
    return part


def _bin_op(compiler: Compiler, node: ast.BinOp) -> Part:
    sign = _ARITHMETIC.get(type(node.op))
    if sign is None:
        raise compiler.mistake("of arithmetic there is only + - * / // %", node)
    left, right = _number(compiler, node.left, sign), _number(compiler, node.right, sign)
    whole = left.type == right.type == INT and sign != "/"
    return Part(INT if whole else FLOAT, lambda run: computed(sign, left.run(run), right.run(run)))


def _compare(compiler: Compiler, node: ast.Compare) -> Part:
    nodes = [node.left, *node.comparators]
    parts = [compiler.part(n) for n in nodes]
    tests = [_test(compiler, op, nodes[i : i + 2], parts[i : i + 2]) for i, op in enumerate(node.ops)]
    if len(tests) == 1:
        (test,), (left, right) = tests, (parts[0].run, parts[1].run)
        return Part(BOOL, lambda run: test(left(run), right(run)))

    def run(run: Run) -> Any:
        # Each operand is computed once, and only as far as Python would go.
        values = [parts[0].run(run)]
        steps = (partial(_step, test, part, values) for test, part in zip(tests, parts[1:], strict=True))
        return kleene(steps, run, decides=False)

    return Part(BOOL, run)


def _step(test: Callable[[Any, Any], Any], part: Part, values: list[Any], run: Run) -> Any:
    """One comparison of a chain; its right operand is added to ``values``."""
    try:
        values.append(part.run(run))
    except Defective:
        values.append(Unknown(()))
        raise
    return test(values[-2], values[-1])


def _test(compiler: Compiler, op: ast.cmpop, nodes: list[ast.expr], parts: list[Part]) -> Callable[[Any, Any], Any]:
    """The check and the closure of one comparison between two operands."""
    left, right = parts[0].type, parts[1].type
    if isinstance(op, ast.In | ast.NotIn):
        _check_in(compiler, nodes, left, right)
        if isinstance(op, ast.In):
            return contains
        return lambda item, among: negated(contains(item, among))
    sign = _COMPARISONS.get(type(op))
    if sign is None:
        raise compiler.mistake("'is' is not part of the condition language: ask known(x) or absent(x)", nodes[0])
    if not comparable(left, right):
        raise compiler.mistake(f"{left} cannot be compared with {right}", nodes[0])
    if sign in ("==", "!="):
        _check_choice(compiler, nodes[1], left)
        _check_choice(compiler, nodes[0], right)
    elif not (ordered(left) and ordered(right)):
        hint = "; compare versions with version(x)" if "str" in (left.kind, right.kind) else ""
        raise compiler.mistake(f"{left} {sign} {right}: there is no such order{hint}", nodes[0])
    return lambda a, b: computed(sign, a, b)


def _check_in(compiler: Compiler, nodes: list[ast.expr], left: Type, right: Type) -> None:
    if right.kind not in ("list", "map", "str", "any"):
        raise compiler.mistake(f"in needs a list but {compiler.source(nodes[1])!r} is {right}", nodes[1])
    among = STR if right.kind in ("map", "str") else right.item
    for item in right.items or (among or ANY,):
        if not comparable(left, item):
            raise compiler.mistake(f"{left} is never in a list of {item}", nodes[0])
    if isinstance(nodes[1], ast.Tuple):
        for element in nodes[1].elts:
            _check_choice(compiler, element, left)
    elif right.item is not None:
        _check_choice(compiler, nodes[0], right.item)


def _check_choice(compiler: Compiler, node: ast.expr, other: Type) -> None:
    """Refuses a text that the other side, whose texts are all known, never has."""
    if other.choices and isinstance(node, ast.Constant) and node.value not in other.choices:
        known = ", ".join(other.choices)
        raise compiler.mistake(f"it is never {node.value!r}{nearest(str(node.value), other.choices)} ({known})", node)


NODES: Nodes = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.BoolOp: _bool_op,
    ast.IfExp: _if_else,
    ast.UnaryOp: _unary_op,
    ast.BinOp: _bin_op,
    ast.Compare: _compare,
    ast.Call: call,
}
