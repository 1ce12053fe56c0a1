"""The report for a terminal: what fails, worst first; what is unknown and what would settle it; the counts."""

import textwrap
from collections.abc import Iterable, Iterator

from advisor.inputs import printable
from advisor.model.finding import Finding, Position, Report
from advisor.model.setting import Plan
from advisor.model.snapshot import Snapshot
from advisor.reports._findings import Group, by_rule, by_settling, counted, setting_text, value_text, waiver_text
from advisor.reports._look import PLAIN, Look

_COLORS = {"critical": "1;31", "warn": "33", "info": "36", "disputed": "34", "unknown": "35", "waived": "2"}
_NARROWEST = 40
_EVIDENCE_SHOWN = 6
_SETTLING_SHOWN = 12
_RULES_SHOWN = 6


def text(report: Report, snapshot: Snapshot, plan: Plan | None = None, look: Look = PLAIN) -> str:
    """The whole report, with a final newline."""
    lines = [*_failing(report, look), *_disputed(report, look), *_waived(report, look)]
    lines += [*_unknown(report, look), *_summary(report, plan, look)]
    shown = "\n".join(line.rstrip() for line in lines) + "\n"
    return shown if look.unicode else shown.encode("ascii", "backslashreplace").decode("ascii")


def page(finding: Finding, look: Look) -> str:
    """One finding in full: verdict, message, all evidence, why, fix, sources."""
    subject = f" {printable(finding.subject)}" if finding.subject else ""
    verdict = finding.weight if finding.verdict == "fails" and finding.disputed else finding.verdict
    lines = [f"{_painted(verdict, finding.weight, look)}{subject}"]
    lines += _wrapped(finding.message, look, "  ") if finding.message else []
    lines += _wrapped(waiver_text(finding), look, "  ") if finding.waiver else []
    lines += _evidence(Group((finding,)), look, limit=None)
    lines += [line for text in finding.settle for line in _wrapped(text, look, "  to settle: ")]
    lines += [line for setting in _settings(finding) for line in _wrapped(setting, look, "  set: ")]
    return "\n".join(line.rstrip() for line in lines)


def _failing(report: Report, look: Look) -> Iterator[str]:
    for group in by_rule(report.failing()):
        yield from _headed(group, group.first.basis, look)
        yield from _wrapped(group.first.fix, look, "  fix: ")
        settings = dict.fromkeys(setting for finding in group.findings for setting in _settings(finding))
        yield from (line for setting in settings for line in _wrapped(setting, look, "  set: "))
        yield ""


def _headed(group: Group, aside: str, look: Look) -> Iterator[str]:
    """What a group is about and what was seen."""
    first = group.first
    yield f"{_painted(first.weight, first.weight, look)}  {first.rule}  ({aside})"
    yield from _wrapped(first.title, look, "  ")
    for finding in group.findings:
        subject = f"{finding.subject}: " if finding.subject and finding.subject not in finding.message else ""
        yield from _wrapped(f"{subject}{finding.message}", look, "  - ")
    yield from _evidence(group, look, _EVIDENCE_SHOWN)


def _disputed(report: Report, look: Look) -> Iterator[str]:
    for group in by_rule(report.disputed()):
        yield from _headed(group, "authorities disagree", look)
        yield from _positions(group.first.positions, look)
        yield from _wrapped(group.first.fix, look, "  measure it: ")
        yield ""


def _positions(found: Iterable[Position], look: Look) -> Iterator[str]:
    """What each authority says, and when it is right."""
    for position in found:
        yield from _wrapped(f"{position.says} [{position.source}]", look, "  one says: ")
        yield from _wrapped(position.decides, look, "    right when: ")


def _evidence(group: Group, look: Look, limit: int | None) -> Iterator[str]:
    evidence = group.evidence()
    for one in evidence[:limit]:
        where = f" [{printable(one.path)}]" if one.path else ""
        yield from _wrapped(f"{printable(one.expression)} = {value_text(one)}{where}", look, "  seen: ")
    if limit is not None and len(evidence) > limit:
        yield f"  seen: {len(evidence) - limit} more facts (advisor explain {group.first.rule})"


def _settings(finding: Finding) -> list[str]:
    return [f"{s.target}:{s.key} = {setting_text(s)} (risk {s.risk}, {s.takes_effect})" for s in finding.settings]


def _waived(report: Report, look: Look) -> Iterator[str]:
    findings = report.waived()
    if not findings:
        return
    yield f"{_painted('waived', 'waived', look)}  {len(findings)} {_plural('finding', len(findings))}:"
    for finding in findings:
        yield from _wrapped(f"{finding.rule} ({finding.weight}): {finding.message}", look, "  - ")
        yield from _wrapped(waiver_text(finding), look, "      ")
    yield ""


def _unknown(report: Report, look: Look) -> Iterator[str]:
    unknown = report.of("unknown")
    if not unknown:
        return
    rules = len({finding.rule for finding in unknown})
    yield f"{_painted('unknown', 'unknown', look)}  {rules} {_plural('rule', rules)} could not be decided; to settle:"
    groups = by_settling(unknown)
    for settling, helped in list(groups.items())[:_SETTLING_SHOWN]:
        more = f" and {len(helped) - _RULES_SHOWN} more" if len(helped) > _RULES_SHOWN else ""
        yield from _wrapped(f"{settling} ({', '.join(helped[:_RULES_SHOWN])}{more})", look, "  - ")
    if len(groups) > _SETTLING_SHOWN:
        yield f"  - {len(groups) - _SETTLING_SHOWN} more (advisor check --format json)"
    yield ""


def _summary(report: Report, plan: Plan | None, look: Look) -> Iterator[str]:
    yield from _wrapped(counted(report), look, "")
    if plan is not None:
        settings = sum(len(plan.of(target)) for target in plan.settings)
        yield f"{settings} {_plural('setting', settings)}, {len(plan.withheld)} withheld"


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _painted(word: str, kind: str, look: Look) -> str:
    return f"\x1b[{_COLORS[kind]}m{word.upper()}\x1b[0m" if look.color else word.upper()


def _wrapped(words: str, look: Look, lead: str) -> list[str]:
    """Lines of at most the look's width; paths and other long words are not cut."""
    return textwrap.wrap(
        printable(" ".join(words.split())),
        max(look.width, _NARROWEST),
        initial_indent=lead,
        subsequent_indent=" " * max(len(lead) - len(lead.lstrip()) + 2, 0) if lead else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
