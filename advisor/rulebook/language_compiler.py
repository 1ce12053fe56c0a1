"""What the pieces of the condition language share while an expression is compiled."""

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from advisor.model.facts import Facts
from advisor.rulebook.language_types import Type
from advisor.rulebook.language_values import Run

Step = Callable[[Run], Any]


class Mistake(Exception):
    """What is wrong in an expression, and at which of its characters."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True)
class Part:
    """A compiled piece of an expression."""

    type: Type
    run: Step
    fact: bool = False
    """Whether it names a fact and nothing more, so that `absent` can ask for it."""


Nodes = Mapping[type[ast.expr], Callable[["Compiler", Any], Part]]
"""How each kind of node is compiled."""


class Compiler:
    """Compiles the nodes of one expression; ``used`` and ``volatile`` tell afterwards what it reads."""

    def __init__(self, text: str, sections: Mapping[str, type[Facts]], items: dict[str, Type], nodes: Nodes) -> None:
        self.text = text
        self.sections = sections
        self.items = items
        self.nodes = nodes
        self.used: set[str] = set()
        self.volatile = False

    def part(self, node: ast.expr) -> Part:
        """The compiled form of one node."""
        compile_node = self.nodes.get(type(node))
        if compile_node is None:
            raise self.mistake(f"{called(node)} is not part of the condition language", node)
        return compile_node(self, node)

    def mistake(self, message: str, node: ast.expr) -> Mistake:
        """A Mistake at the start of ``node``."""
        return Mistake(message, self.offset(node))

    def offset(self, node: ast.expr) -> int:
        """The character at which ``node`` starts (the parser counts bytes)."""
        return len(self.text.encode()[: node.col_offset].decode("utf-8", "ignore"))

    def end(self, node: ast.expr) -> int:
        """The character behind ``node``."""
        return len(self.text.encode()[: node.end_col_offset].decode("utf-8", "ignore"))

    def source(self, node: ast.expr) -> str:
        """The node's own text, for messages."""
        return ast.unparse(node)


def nearest(name: str, known: Collection[str]) -> str:
    """``; did you mean 'x'?`` for a name that is near a known one, else nothing."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def called(node: ast.expr) -> str:
    """What to call a node that is not allowed."""
    names = {"Lambda": "lambda", "Call": "this call", "NamedExpr": ":=", "JoinedStr": "f''"}
    kind = type(node).__name__
    return names.get(kind, f"{ast.unparse(node)[:40]!r}")
