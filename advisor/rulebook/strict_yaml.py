"""YAML of which nothing is a surprise: the core of YAML 1.2, without anchors, tags and duplicate keys.

``true`` and ``false`` are the only booleans; ``on``, ``off``, ``no``, ``0755``, ``12:30:00`` and ``2024-01-01`` stay
text. Every value keeps its place, for messages.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

DEPTH_LIMIT = 24
Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where a value stands; lines and columns count from 1."""

    line: int
    column: int
    plain: bool = False
    """Its characters stand in one line as they are, so that a place inside it has a column too."""


@dataclass(frozen=True)
class Problem:
    """Something wrong at one place of a file."""

    line: int
    column: int
    message: str


@dataclass(frozen=True)
class Document:
    """The content of one file."""

    data: Any
    places: Mapping[Location, Place]
    problems: tuple[Problem, ...]

    def place(self, location: Location) -> Place:
        """The place of a value, or of the nearest one around it."""
        while location not in self.places and location:
            location = location[:-1]
        return self.places.get(location, Place(1, 1))


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader with YAML 1.2's core types only."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"~|null|", ["~", "n", ""]),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,30})", "-+0123456789"),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,2})?", "-+0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


def parse_yaml(text: str) -> Document:
    """The content of ``text``, its places, and what is wrong in it. Never raises for wrong text."""
    try:
        refused = _refused(text)
        if refused:
            return Document(None, {}, (refused,))
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return Document(None, {}, (Problem(1, 1, "the file is empty"),))
        places: dict[Location, Place] = {}
        problems: list[Problem] = []
        _walk(node, (), places, problems)
        data = None if problems else loader.construct_document(node)
        return Document(data, places, tuple(problems))
    except yaml.YAMLError as error:
        return Document(None, {}, (_syntax(error),))
    except (ValueError, RecursionError) as error:
        return Document(None, {}, (Problem(1, 1, f"not YAML: {error}"),))


def _syntax(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = " ".join(str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).split())
    return _problem(mark, f"not YAML: {said}")


def _problem(mark: Any, message: str) -> Problem:
    """A problem at a mark of the parser; at the start of the file when it gives none."""
    return Problem(mark.line + 1, mark.column + 1, message) if mark else Problem(1, 1, message)


def _refused(text: str) -> Problem | None:
    """The first alias, anchor, tag or too deep nesting: asked before anything is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        message = ""
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            message = "anchors and aliases are not allowed; write it out (quote a text that starts with & or *)"
        elif tag := getattr(event, "tag", None):
            message = f"the tag {tag!r} is not allowed"
        elif depth > DEPTH_LIMIT:
            message = f"nested deeper than {DEPTH_LIMIT} levels"
        if message:
            return _problem(event.start_mark, message)
    return None


def _walk(node: yaml.Node, location: Location, places: dict[Location, Place], problems: list[Problem]) -> None:
    start, end = node.start_mark, node.end_mark
    plain = False
    column = start.column + 1
    if isinstance(node, yaml.ScalarNode) and start.line == end.line:
        quotes = 1 if getattr(node, "style", None) in ("'", '"') else 0
        column += quotes
        plain = end.column - start.column - 2 * quotes == len(node.value)
    places[location] = Place(start.line + 1, column, plain)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _walk(item, (*location, number), places, problems)
    elif isinstance(node, yaml.MappingNode):
        _walk_mapping(node, location, places, problems)


def _walk_mapping(
    node: yaml.MappingNode, location: Location, places: dict[Location, Place], problems: list[Problem]
) -> None:
    first: dict[str, int] = {}
    for key, value in node.value:
        line, column = key.start_mark.line + 1, key.start_mark.column + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            problems.append(Problem(line, column, "a key must be text; put it in quotes"))
            continue
        if key.value in first:
            problems.append(Problem(line, column, f"duplicate key {key.value!r} (first on line {first[key.value]})"))
        first.setdefault(key.value, line)
        places[(*location, key.value, "")] = Place(line, column)
        _walk(value, (*location, key.value), places, problems)
