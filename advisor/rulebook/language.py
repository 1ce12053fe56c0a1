"""The condition language: a small part of Python's expressions over fact names, compiled once into closures.

Nothing is ever handed to ``eval``. Types and names are checked here, before there is any host; a missing value is a
matter of running (`language_values`). What is allowed stands in docs/writing-rules.md.
"""

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from advisor.model.facts import Facts
from advisor.rulebook.language_compiler import Compiler, Mistake, Step
from advisor.rulebook.language_nodes import NODES
from advisor.rulebook.language_types import Type

TEXT_LIMIT = 2000
NODES_LIMIT = 400
DEPTH_LIMIT = 40


@dataclass(frozen=True)
class Expression:
    """A checked and compiled expression."""

    text: str
    type: Type
    sections: frozenset[str]
    """Sections of the Snapshot that it reads."""
    volatile: bool
    """Whether it reads a fact that changes by itself."""
    evaluate: Step
    """The value in one `Run`, or an `Unknown`. Raises `Defective`."""


@dataclass
class Scope:
    """Names that an expression may use: sections with their models, and items of the loops around it."""

    sections: Mapping[str, type[Facts]]
    items: dict[str, Type] = field(default_factory=dict)


def compile_expression(text: str, scope: Scope, wanted: Callable[[Type], bool] | None = None) -> Expression:
    """The compiled form of ``text``, whose type must satisfy ``wanted`` (default: true or false). Raises Mistake."""
    tree = _parsed(text)
    compiler = Compiler(text, scope.sections, dict(scope.items), NODES)
    part = compiler.part(tree)
    if not (wanted or (lambda found: found.kind in ("bool", "any")))(part.type):
        needs = "be true or false" if wanted is None else "have another type"
        raise Mistake(f"it must {needs} but is {part.type}")
    return Expression(text, part.type, frozenset(compiler.used), compiler.volatile, part.run)


def _parsed(text: str) -> ast.expr:
    if len(text) > TEXT_LIMIT:
        raise Mistake(f"an expression may have {TEXT_LIMIT} characters but this has {len(text)}")
    # A block scalar of YAML holds line ends, which no expression needs; the offsets stay.
    flat = text.replace("\n", " ").replace("\t", " ")
    lead = len(flat) - len(flat.lstrip(" "))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(flat[lead:], mode="eval").body
    except SyntaxError as error:
        raise Mistake(f"not an expression: {error.msg}", lead + max((error.offset or 1) - 1, 0)) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Mistake(f"not an expression: {type(error).__name__}") from None
    _bounded(tree)
    if lead:
        for node in ast.walk(tree):
            if isinstance(node, ast.expr):
                node.col_offset += lead
                node.end_col_offset = (node.end_col_offset or 0) + lead
    return tree


def _bounded(tree: ast.expr) -> None:
    level, count = [tree], 0
    children: list[Any]
    for _ in range(DEPTH_LIMIT):
        count += len(level)
        children = [child for node in level for child in ast.iter_child_nodes(node)]
        if not children or count > NODES_LIMIT:
            break
        level = children
    else:
        raise Mistake(f"it is nested deeper than {DEPTH_LIMIT} levels")
    if count > NODES_LIMIT:
        raise Mistake(f"it has more than {NODES_LIMIT} parts; move the work into a derived fact")
