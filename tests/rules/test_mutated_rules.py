"""Each shipped rule, changed in one place, fails one of its own examples: the examples hold every part of it.

The changes: a comparison turned round, a number moved by one (a fraction by a tenth), a text altered, one part of an
``and`` or ``or`` left out, a ``not`` left out, ``only`` left out; the same of the settings' own ``only``.
"""

import ast
import copy
from collections.abc import Iterator

import pytest

from advisor.commands._rules import failed_examples, loaded, sections
from advisor.commands._snapshot import derive
from advisor.discover import unit_names
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import example_snapshot
from advisor.rulebook.rule import Rule, compile_rule
from advisor.rulebook.schema import RuleFile

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
RULES = loaded()
EQUIVALENT: dict[str, dict[str, str]] = {}
"""Changes that no facts can tell from the rule, each with the reason, by rule."""


def changed(tree: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Every expression that differs from ``tree`` in one place, with what was changed."""
    nodes = list(ast.walk(tree))
    for number, node in enumerate(nodes):
        for what, change in _changes(node):
            copied = copy.deepcopy(tree)
            place = list(ast.walk(copied))[number]
            yield f"{what} in {ast.unparse(node)}", _replaced(copied, place, change(place))


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            yield f"comparison {at + 1} turned", lambda n, at=at, o=operator: _with_operator(n, at, TURNED[type(o)]())
    elif isinstance(node, ast.BoolOp):
        for at in range(len(node.values)):
            yield f"part {at + 1} left out", lambda n, at=at: _without(n, at)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not left out", lambda n: n.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        for step in (1, -1):
            yield f"number moved by {step}", lambda n, step=step: ast.Constant(n.value + step)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        for factor in (1.1, 0.9):
            yield f"number times {factor}", lambda n, factor=factor: ast.Constant(n.value * factor)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield "text altered", lambda n: ast.Constant("?" + n.value)


def _with_operator(node: ast.Compare, at: int, operator: ast.cmpop) -> ast.expr:
    node.ops[at] = operator
    return node


def _without(node: ast.BoolOp, at: int) -> ast.expr:
    left = [value for number, value in enumerate(node.values) if number != at]
    return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _replaced(tree: ast.expr, old: ast.AST, new: ast.expr) -> ast.expr:
    if tree is old:
        return new

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is old else self.generic_visit(node)

    put: ast.expr = Put().visit(tree)
    return put


def mutants(file: RuleFile) -> Iterator[tuple[str, RuleFile]]:
    """The rule's file with one change each."""
    for key in ("only", "fails"):
        text = getattr(file, key)
        if text is not None:
            tree = ast.parse(text.strip().replace("\n", " "), mode="eval").body
            for what, made in changed(tree):
                yield f"{key}: {what}", file.model_copy(update={key: ast.unparse(made)})
    if file.only is not None:
        yield "only left out", file.model_copy(update={"only": None})
    for at, entry in enumerate(file.settings):
        if entry.only is not None:
            tree = ast.parse(entry.only.strip().replace("\n", " "), mode="eval").body
            for what, made in (*changed(tree), ("left out", None)):
                other = entry.model_copy(update={"only": made and ast.unparse(made)})
                settings = [*file.settings[:at], other, *file.settings[at + 1 :]]
                yield f"set {at}, only: {what}", file.model_copy(update={"settings": settings})


def unset(rule: Rule) -> list[str]:
    """What the rule would set in its examples but cannot: a setting that nobody asks for must not be missed."""
    here = sections()
    snapshots = [example_snapshot(rule, example, here, derive) for example in rule.file.examples]
    return [line for s in snapshots for f in evaluate([rule], s).failing() for line in f.settle]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_part_of_the_rule_is_held_by_an_example(rule: Rule) -> None:
    survivors, missed = [], unset(rule)
    for what, file in mutants(rule.file):
        made, _ = compile_rule(rule.id, rule.path, file, sections(), unit_names("targets"))
        if made is None or failed_examples([made]):  # what does not compile is no rule
            continue
        if not what.startswith("set ") or unset(made) == missed:
            survivors.append(what)
    assert sorted(survivors) == sorted(EQUIVALENT.get(rule.id, {})), "give the rule an example for each"
