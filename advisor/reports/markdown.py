"""The report for review in git (``report.md``): the same bytes as long as the host does not change.

A finding that rests on a fact which changes by itself is named with its condition only; how it stood is in
``findings.json`` and ``observations.json``, which are not committed.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from advisor.inputs import printable
from advisor.model.finding import Finding, Position, Report
from advisor.model.setting import Plan, Setting
from advisor.model.snapshot import Snapshot
from advisor.reports._findings import (
    Group,
    by_rule,
    by_settling,
    counted,
    rests_on_volatile,
    setting_text,
    value_text,
    waiver_text,
)
from advisor.reports._look import PLAIN, Look

_EVIDENCE_SHOWN = 24
_SPECIAL = re.compile(r"[\\`*\[\]<>|&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def text(report: Report, snapshot: Snapshot, plan: Plan | None = None, look: Look = PLAIN) -> str:
    """The whole report, with a final newline."""
    steady = Report(tuple(f for f in report.findings if not rests_on_volatile(f)))
    moving = [f for f in report.findings if rests_on_volatile(f)]
    lines = ["# Configuration report", "", _words(counted(steady)) + ".", ""]
    lines += _failing(steady)
    lines += _disputed(steady)
    lines += _plan(plan) if plan is not None else []
    lines += _waived(steady)
    lines += _unknown(steady)
    lines += _moving(moving)
    lines += _names("Holds", steady.of("holds"))
    lines += _names("Not applicable", steady.of("not-applicable"))
    return "\n".join(lines).rstrip("\n") + "\n"


def _failing(report: Report) -> Iterator[str]:
    yield from ("## Failing", "")
    groups = by_rule(report.failing())
    if not groups:
        yield from ("Nothing that could be decided fails.", "")
    for group in groups:
        yield from _group(group)


def _group(group: Group) -> Iterator[str]:
    first = group.first
    yield from _headed(group, f"{first.severity}, rule {_code(first.rule)}, basis: {first.basis}")
    yield from (f"Why: {_words(first.why)}", "", f"Fix: {_words(first.fix)}", "")
    unmade = dict.fromkeys(settle for finding in group.findings for settle in finding.settle)
    yield from (*(f"- {_escaped(settle)}" for settle in unmade), *([""] if unmade else []))
    yield from ("Sources:", "", *(f"- {_words(source)}" for source in first.sources), "")


def _headed(group: Group, kind: str) -> Iterator[str]:
    yield from (f"### {_words(group.first.title)}", "", kind, "")
    for finding in group.findings:
        subject = f"{_code(finding.subject)}: " if finding.subject and finding.subject not in finding.message else ""
        yield f"- {subject}{_escaped(finding.message)}"
    yield ""
    yield from _evidence(group)


def _disputed(report: Report) -> Iterator[str]:
    groups = by_rule(report.disputed())
    if not groups:
        return
    yield from ("## Authorities disagree", "", "No fault, and nothing is set: measure on your own job.", "")
    for group in groups:
        first = group.first
        yield from _headed(group, f"rule {_code(first.rule)}")
        yield from (f"Why: {_words(first.why)}", "")
        yield from (f"- {_position(position)}" for position in first.positions)
        yield from ("", f"Measure it: {_words(first.fix)}", "")


def _position(position: Position) -> str:
    """One position on one line: what is said, where, and when it is right."""
    return f"{_words(position.says)} ({_words(position.source)}); right when {_words(position.decides)}"


def _evidence(group: Group) -> Iterator[str]:
    evidence = group.evidence()
    rows = [(e.expression, value_text(e), e.path) for e in evidence[:_EVIDENCE_SHOWN]]
    yield from _table(("Fact", "Value", "Read from"), rows)
    if len(evidence) > _EVIDENCE_SHOWN:
        yield from (
            f"and {len(evidence) - _EVIDENCE_SHOWN} more facts: {_code('advisor explain ' + group.first.rule)}",
            "",
        )


def _plan(plan: Plan) -> Iterator[str]:
    settings = [setting for target in sorted(plan.settings) for setting in plan.of(target)]
    columns = ("Setting", "Value", "Seen", "Asked for by", "Risk", "Takes effect")
    for title, suggested in (("## Settings", False), ("## Suggestions, which advisor never installs", True)):
        rows = [_setting_row(setting) for setting in settings if setting.suggested is suggested]
        if rows:
            yield from (title, "")
            yield from _table(columns, rows)
    if plan.withheld:
        yield from ("## Withheld settings", "")
        rows = [(f"{w.setting.target}:{w.setting.key}", setting_text(w.setting), w.setting.reason.by, w.why)
                for w in plan.withheld]  # fmt: skip
        yield from _table(("Setting", "Value", "Asked for by", "Why it is not written"), rows)


def _setting_row(setting: Setting) -> tuple[str, ...]:
    name, seen = f"{setting.target}:{setting.key}", setting.seen if setting.seen is not None else setting.seen_note
    return name, setting_text(setting), seen, setting.reason.by, setting.risk, setting.takes_effect


def _waived(report: Report) -> Iterator[str]:
    findings = report.waived()
    if findings:
        yield from ("## Waived", "")
        for finding in findings:
            told = f"{_escaped(finding.message)}; {_escaped(waiver_text(finding))}"
            yield f"- {_code(finding.rule)} ({finding.weight}): {told}"
        yield ""


def _unknown(report: Report) -> Iterator[str]:
    unknown = report.of("unknown")
    if not unknown:
        return
    yield from ("## Unknown", "", "What would settle it, and the rules that it would decide:", "")
    for settling, rules in by_settling(unknown).items():
        yield f"- {_escaped(settling)}: {', '.join(_code(rule) for rule in rules)}"
    yield ""


def _moving(findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield from ("## Changes by itself", "")
    yield "These rules look at facts that change from run to run; how they stood is in findings.json, the values in"
    yield from ("observations.json.", "")
    for group in by_rule(findings):
        first = group.first
        yield f"- {_code(first.rule)} ({first.weight}): {_words(first.title)}. Fails when {_code(first.condition)}"
    yield ""


def _names(title: str, findings: Iterable[Finding]) -> Iterator[str]:
    groups = sorted(by_rule(findings), key=lambda group: group.first.rule)
    if groups:
        yield from (f"## {title}", "")
        yield from (_named(group) for group in groups)
        yield ""


def _named(group: Group) -> str:
    count = f" ({len(group.subjects)})" if len(group.subjects) > 1 else ""
    return f"- {_code(group.first.rule)}{count}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        cells = (_code(cell).replace("|", "\\|") if cell else "" for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _code(value: str) -> str:
    """A value of the host as code: no character of it can end the code span."""
    return "`" + printable(value).replace("`", "'") + "`"


def _escaped(value: str) -> str:
    """A sentence with values of the host: nothing in it is markup."""
    return _SPECIAL.sub(lambda found: "\\" + found[0], printable(value))


def _words(value: str) -> str:
    """The words of a rule's author on one line; HTML is not let through."""
    return printable(" ".join(value.split())).replace("<", "\\<")
