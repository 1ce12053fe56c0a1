"""The pages of `advisor explain`: a rule, or a key that rules set, with what this host says."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.derived.configured import Configured
from advisor.inputs import printable
from advisor.model.finding import Finding, Report
from advisor.reports._look import Look
from advisor.reports.json import finding_document
from advisor.reports.text import page
from advisor.rulebook.rule import CompiledSetting, Rule
from advisor.rulebook.schema import PositionEntry
from advisor.targets._base import Seen, SetBy

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Key:
    """A key of a target that rules set."""

    target: str
    name: str
    seen: Seen
    configured: Configured | None = None
    """The lines that set it and which of them wins, for targets whose order is known."""
    files: tuple[SetBy, ...] = ()
    """The lines in /etc that set it, for the others."""


@dataclass(frozen=True)
class Explained:
    """What one page is about."""

    rules: Sequence[Rule]
    report: Report
    key: Key | None = None

    def of(self, rule: Rule) -> list[Finding]:
        """The findings of one rule on this host."""
        return [finding for finding in self.report.findings if finding.rule == rule.id]


def as_text(explained: Explained, look: Look) -> str:
    """The page for a reader."""
    blocks = [_key(explained.key)] if explained.key else []
    if explained.key:
        blocks += ["Rules that set it:" if explained.rules else "No rule of advisor sets it."]
    blocks += ["\n".join(_rule(rule, explained.of(rule), look)) for rule in explained.rules]
    shown = "\n\n".join(blocks) + "\n"
    return shown if look.unicode else shown.encode("ascii", "backslashreplace").decode("ascii")


def _key(key: Key) -> str:
    where = f" [{key.seen.path}]" if key.seen.path else ""
    value = key.seen.text if key.seen.text is not None else f"not known ({key.seen.note})"
    lines = [f"{key.target}:{key.name}: {value}{where}", *_setters(key)]
    return "\n".join(printable(line) for line in lines)


def _setters(key: Key) -> Iterator[str]:
    """Who sets a key and who wins."""
    if key.configured is None:
        yield "No file that was read sets it." if not key.files else "Files that set it, in the order of reading:"
        yield from (f"  {file.place()} sets {file.text}" for file in key.files)
        return
    found = key.configured
    yield "Files that set it, in the order of application:"
    for one in found.setters:
        wins = ", wins" if one is found.wins or one == found.wins else ""
        again = {"tuned again": ", applied once more by TuneD", "tuned": ", TuneD", "udev": ", when a device appears"}
        yield f"  {one.place()} sets {one.value}{again.get(one.by, '')}{', by a pattern' if one.pattern else ''}{wins}"
    if found.drifted:
        yield "The value in force is another one: it was changed later by hand, by a program or by a rule of udev."
    if found.exists is False:
        yield "It does not exist here: the line has no effect unless a module that is loaded later brings it."


def _rule(rule: Rule, findings: Sequence[Finding], look: Look) -> Iterator[str]:
    file = rule.file
    yield f"{rule.id}  ({file.weight}, {file.basis}{', unverified' if file.unverified else ''})"
    yield from _wrapped(file.title, look, "  ")
    yield ""
    for lead, words in (("for each", file.each), ("where", file.only), ("fails when", file.fails)):
        yield from _wrapped(words, look, f"  {lead}: ") if words else ()
    yield ""
    yield from _wrapped(f"Why: {file.why}", look, "  ")
    yield from _wrapped(f"{'Measure it' if file.positions else 'Fix'}: {file.fix}", look, "  ")
    yield from _wrapped(f"Ignore it: {file.ignore}", look, "  ") if file.ignore else ()
    for setting in rule.settings:
        yield from _wrapped(_set(setting), look, "  Sets: ")
    yield from _positions(file.positions, look)
    yield from (line for source in file.sources for line in _wrapped(source, look, "  Source: "))
    yield ""
    yield "  On this host:"
    yield from (f"  {line}" for finding in findings for line in page(finding, look).split("\n"))


def _positions(positions: Sequence[PositionEntry], look: Look) -> Iterator[str]:
    if positions:
        yield "  Authorities disagree, so that nothing is set:"
    for one in positions:
        yield from _wrapped(f"{one.says} [{one.source}]", look, "    one says: ")
        yield from _wrapped(one.decides, look, "      right when: ")


def _set(setting: CompiledSetting) -> str:
    entry = setting.entry
    floor = ", never lowered" if entry.only_raise else ""
    asked = f"{entry.target}:{entry.key} = {entry.value} (risk {entry.risk}, {entry.takes_effect}{floor})"
    each = f", for each {entry.each}" if entry.each else ""
    return f"{asked}{each}{f', where {entry.only}' if entry.only else ''}"


def _wrapped(words: str, look: Look, lead: str) -> list[str]:
    return textwrap.wrap(
        printable(" ".join(words.split())),
        max(look.width, 40),
        initial_indent=lead,
        subsequent_indent=" " * (len(lead) - len(lead.lstrip()) + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_document(explained: Explained) -> dict[str, Any]:
    """The page for a program."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "rules": [rule_document(rule) for rule in explained.rules],
        "findings": [finding_document(finding) for finding in explained.report.findings],
    }
    if explained.key:
        key = explained.key
        document["key"] = {"target": key.target, "name": key.name}
        document["key"] |= {"seen": key.seen.text, "path": key.seen.path, "note": key.seen.note}
        document["key"] |= _setters_document(key)
    return document


def _setters_document(key: Key) -> dict[str, Any]:
    """Who sets a key, as JSON types."""
    if key.configured is None:
        lines = [{"value": one.text, "path": one.path, "line": one.line, "by": key.target} for one in key.files]
        return {"setters": lines, "wins": None, "drifted": None, "exists": None}
    found = key.configured
    setters = [{"value": one.value, "path": one.path, "line": one.line, "by": one.by} for one in found.setters]
    wins = next((n for n, one in reversed(list(enumerate(found.setters))) if one == found.wins), None)
    return {"setters": setters, "wins": wins, "drifted": found.drifted, "exists": found.exists}


def rule_document(rule: Rule) -> dict[str, Any]:
    """A rule without its examples, as JSON types."""
    return {"id": rule.id, "path": rule.path, **rule.file.model_dump(mode="json", by_alias=True, exclude={"examples"})}
