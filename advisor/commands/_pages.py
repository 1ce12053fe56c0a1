"""The pages of `advisor explain`: a rule, or a key that rules set, with what this host says."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.inputs import printable
from advisor.model.finding import Finding, Report
from advisor.reports._look import Look
from advisor.reports.json import finding_document
from advisor.reports.text import page
from advisor.rulebook.rule import CompiledSetting, Rule
from advisor.targets._base import Seen

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Key:
    """A key of a target that rules set."""

    target: str
    name: str
    seen: Seen


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
    blocks += ["\n".join(_rule(rule, explained.of(rule), look)) for rule in explained.rules]
    shown = "\n\n".join(blocks) + "\n"
    return shown if look.unicode else shown.encode("ascii", "backslashreplace").decode("ascii")


def _key(key: Key) -> str:
    where = f" [{key.seen.path}]" if key.seen.path else ""
    value = key.seen.text if key.seen.text is not None else f"not known ({key.seen.note})"
    return printable(f"{key.target}:{key.name}: {value}{where}") + "\nIs set by:"


def _rule(rule: Rule, findings: Sequence[Finding], look: Look) -> Iterator[str]:
    file = rule.file
    yield f"{rule.id}  ({file.severity}, {file.basis}{', unverified' if file.unverified else ''})"
    yield from _wrapped(file.title, look, "  ")
    yield ""
    for lead, words in (("for each", file.each), ("where", file.only), ("fails when", file.fails)):
        yield from _wrapped(words, look, f"  {lead}: ") if words else ()
    yield ""
    yield from _wrapped(f"Why: {file.why}", look, "  ")
    yield from _wrapped(f"Fix: {file.fix}", look, "  ")
    yield from _wrapped(f"Ignore it: {file.ignore}", look, "  ") if file.ignore else ()
    for setting in rule.settings:
        yield from _wrapped(_set(setting), look, "  Sets: ")
    yield from (line for position in file.disagree for line in _wrapped(position, look, "  Authorities disagree: "))
    yield from (line for source in file.sources for line in _wrapped(source, look, "  Source: "))
    yield ""
    yield "  On this host:"
    yield from (f"  {line}" for finding in findings for line in page(finding, look).split("\n"))


def _set(setting: CompiledSetting) -> str:
    entry = setting.entry
    floor = ", never lowered" if entry.only_raise else ""
    return f"{entry.target}:{entry.key} = {entry.value} (risk {entry.risk}, {entry.takes_effect}{floor})"


def _wrapped(words: str, look: Look, lead: str) -> list[str]:
    return textwrap.wrap(
        printable(" ".join(words.split())),
        max(look.width, 40),
        initial_indent=lead,
        subsequent_indent="    ",
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
    return document


def rule_document(rule: Rule) -> dict[str, Any]:
    """A rule without its examples, as JSON types."""
    return {"id": rule.id, "path": rule.path, **rule.file.model_dump(mode="json", by_alias=True, exclude={"examples"})}
