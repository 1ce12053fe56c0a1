"""Reading rule files: ``<folder>/<area>/<bad-pattern>.yaml``, every problem of every file told at once."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from advisor.errors import RuleError, SourceError
from advisor.inputs import printable, read_text
from advisor.rulebook.examples import wrong_facts
from advisor.rulebook.language_compiler import nearest
from advisor.rulebook.rule import Rule, Sections, Wrong, compile_rule
from advisor.rulebook.schema import Example, PositionEntry, RuleFile, SetEntry
from advisor.rulebook.strict_yaml import Document, Location, parse_yaml

FILE_LIMIT_BYTES = 256 * 1024
FILES_LIMIT = 5000
_PROBLEMS_SHOWN = 200
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_SHOWN_BEFORE, _SHOWN = 60, 100
"""Characters of an expression that a message shows before the caret and in all."""


@dataclass
class _Found:
    rules: dict[str, Rule] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def load_rules(folders: Sequence[str | Path], sections: Sections, targets: Collection[str]) -> tuple[Rule, ...]:
    """All rules below ``folders``, by id. Raises RuleError, a line for each problem of all files."""
    found = _Found()
    for folder in folders:
        for path, rule_id in _files(Path(folder), found.problems):
            _load(path, rule_id, sections, targets, found)
    if found.problems:
        hidden = len(found.problems) - _PROBLEMS_SHOWN
        more = [f"... and {hidden} more problems"] if hidden > 0 else []
        raise RuleError("\n".join(found.problems[:_PROBLEMS_SHOWN] + more))
    return tuple(rule for _, rule in sorted(found.rules.items()))


def _files(folder: Path, problems: list[str]) -> Iterator[tuple[Path, str]]:
    """The rule files of a folder with their ids, sorted."""
    root = os.path.realpath(folder)
    try:
        names = sorted(os.listdir(root))
    except OSError as error:
        problems.append(f"{shown_path(folder)}: no folder of rules: {error.strerror}")
        return
    count = 0
    for name in names:
        place = folder / name
        if place.is_dir() and not name.startswith("."):
            for file in sorted(_rule_files(place, root, problems)):
                count += 1
                if count <= FILES_LIMIT:
                    yield file, f"{name}/{file.stem}"
        elif name.endswith((".yaml", ".yml")) and not name.startswith("."):
            problems.append(f"{shown_path(place)}: a rule lies one folder down: <area>/<bad-pattern>.yaml")
        elif place.is_symlink() and not place.exists():
            problems.append(
                f"{shown_path(place)}: the link leads nowhere, so that the rules it was to bring are missing"
            )
    if count > FILES_LIMIT:
        problems.append(f"{shown_path(folder)}: {count} files are more than the {FILES_LIMIT} that are read")


def _rule_files(area: Path, root: str, problems: list[str]) -> Iterator[Path]:
    for name in os.listdir(area):
        path = area / name
        if name.startswith(".") or not (name.endswith((".yaml", ".yml")) or path.is_dir()):
            continue
        real = os.path.realpath(path)
        if not real.startswith(root.rstrip("/") + "/"):
            problems.append(f"{shown_path(path)}: the link leads out of the folder of rules, to {printable(real)}")
        elif path.is_dir():
            problems.append(f"{shown_path(path)}: a rule lies in <area>/, not deeper")
        elif not name.endswith(".yaml") or not (_NAME.fullmatch(path.stem) and _NAME.fullmatch(area.name)):
            problems.append(f"{shown_path(path)}: area and name must be small letters, digits and -, ending in .yaml")
        else:
            yield path


def shown_path(path: Path) -> str:
    """A path as messages name it: from the working folder when it lies below it."""
    try:
        return printable(path.relative_to(Path.cwd()) if path.is_absolute() else path)
    except (ValueError, OSError):
        return printable(path)


def _load(path: Path, rule_id: str, sections: Sections, targets: Collection[str], found: _Found) -> None:
    where = shown_path(path)
    try:
        document = parse_yaml(read_text(path, FILE_LIMIT_BYTES))
    except SourceError as error:
        found.problems.append(f"{where}:1:1: {error}")
        return
    if rule_id in found.rules:
        other = found.rules[rule_id].path
        found.problems.append(f"{where}:1:1: there is a rule {rule_id} already, in {other}; give this one another name")
    rule, problems = parse_rule(document, rule_id, where, sections, targets)
    found.problems += problems
    if rule is not None:
        found.rules.setdefault(rule_id, rule)


def parse_rule(
    document: Document, rule_id: str, where: str, sections: Sections, targets: Collection[str]
) -> tuple[Rule | None, list[str]]:
    """The rule of one file, ``None`` when anything is wrong, and each problem as ``path:line:col: message``."""
    if document.problems:
        return None, [f"{where}:{p.line}:{p.column}: {printable(p.message)}" for p in document.problems]
    try:
        file = RuleFile.model_validate(document.data)
    except ValidationError as error:
        return None, [_told(document, where, wrong) for wrong in _mistakes(error)]
    rule, wrongs = compile_rule(rule_id, where, file, sections, targets)
    wrongs += wrong_facts(file, sections)
    return (None if wrongs else rule), [_told(document, where, wrong) for wrong in wrongs]


def _told(document: Document, where: str, wrong: Wrong) -> str:
    place = document.place(wrong.location)
    column = place.column + wrong.offset if wrong.text and place.plain else place.column
    line = f"{where}:{place.line}:{column}: {printable(wrong.message)}"
    if not wrong.text:
        return line
    # Wide and unprintable characters would shift the caret, so they are replaced one for one.
    text = "".join(c if c.isascii() and c.isprintable() else "?" for c in wrong.text.replace("\n", " "))
    start = max(wrong.offset - _SHOWN_BEFORE, 0)
    return f"{line}\n    {text[start : start + _SHOWN]}\n    {' ' * (wrong.offset - start)}^"


def _mistakes(error: ValidationError) -> Iterable[Wrong]:
    """What pydantic found, in the words of this house; the branches of a union give one mistake."""
    seen: set[Location] = set()
    for detail in error.errors():
        location = _location(detail["loc"])
        if location not in seen:
            seen.add(location)
            yield Wrong(location, _words(detail, location))


def _location(loc: tuple[int | str, ...]) -> Location:
    """Without the names of union branches, which pydantic puts behind ``expect`` and ``value``."""
    for stop in ("expect", "value"):
        if stop in loc:
            return loc[: loc.index(stop) + 1]
    return loc


def _words(detail: Mapping[str, Any], location: Location) -> str:
    name = ".".join(str(part) for part in location) or "the file"
    if detail["type"] == "extra_forbidden":
        return f"unknown key {name!r}{nearest(str(location[-1]), _keys(location))}"
    if detail["type"] == "missing":
        return f"{name!r} is missing"
    if detail["type"] == "value_error":
        return str(detail["msg"]).removeprefix("Value error, ")
    return f"{name}: {detail['msg']}, got {str(detail['input'])[:60]!r}"


def _keys(location: Location) -> list[str]:
    inner: dict[str, type[BaseModel]] = {"set": SetEntry, "positions": PositionEntry, "examples": Example}
    model = inner.get(str(location[0]), RuleFile) if len(location) > 1 else RuleFile
    return [field.alias or name for name, field in model.model_fields.items()]
