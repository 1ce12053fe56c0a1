"""Findings in the order and groups in which every report shows them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from advisor.figures import cpulist_text, size_text
from advisor.inputs import printable
from advisor.model.finding import DISPUTED, SEVERITIES, Evidence, Finding, Report, Verdict
from advisor.model.setting import Setting

_WORST_FIRST: tuple[Verdict, ...] = ("fails", "unknown", "holds", "not-applicable")
_ITEMS_SHOWN = 8
_VALUE_LIMIT = 160
_LARGEST_SIZE = 2**70
"""Larger numbers of bytes are no sizes and do not fit a float."""


@dataclass(frozen=True)
class Group:
    """The findings of one rule that have one verdict."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """Title, severity, why, fix and sources are those of the rule, so of any of them."""
        return self.findings[0]

    @property
    def subjects(self) -> tuple[str, ...]:
        """What the rule speaks of; nothing for a rule about the host."""
        return tuple(f.subject for f in self.findings if f.subject)

    def evidence(self) -> tuple[Evidence, ...]:
        """What was looked at for any of them, each once."""
        return tuple({e.expression: e for f in self.findings for e in f.evidence}.values())


def by_rule(findings: Iterable[Finding]) -> tuple[Group, ...]:
    """Groups by rule, the worst severity first, then by rule; subjects in the order of the report."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.rule, []).append(finding)
    order = sorted(found.values(), key=lambda group: (SEVERITIES.index(group[0].severity), group[0].rule))
    return tuple(Group(tuple(group)) for group in order)


def by_settling(findings: Iterable[Finding]) -> Mapping[str, tuple[str, ...]]:
    """What would settle unknown findings, to the rules that it would help to decide; what helps most comes first."""
    helped: dict[str, dict[str, None]] = {}
    for finding in findings:
        for text in finding.settle:
            helped.setdefault(text, {})[finding.rule] = None
    order = sorted(helped, key=lambda text: (-len(helped[text]), text))
    return {text: tuple(sorted(helped[text])) for text in order}


def rests_on_volatile(finding: Finding) -> bool:
    """Whether a fact that changes by itself was looked at, so that the verdict may change from run to run."""
    return any(evidence.volatile for evidence in finding.evidence)


def counts(report: Report) -> dict[str, int]:
    """Number of rules: by severity (or as disputed) for those that fail and are not waived, else by worst verdict."""
    worst: dict[str, Finding] = {}
    for finding in report.findings:
        known = worst.setdefault(finding.rule, finding)
        if _badness(finding) < _badness(known):
            worst[finding.rule] = finding
    found: dict[str, int] = dict.fromkeys((*SEVERITIES, DISPUTED, "waived", *_WORST_FIRST[1:]), 0)
    for finding in worst.values():
        failing = finding.weight if finding.waiver is None else "waived"
        found[failing if finding.verdict == "fails" else finding.verdict] += 1
    return found


def _badness(finding: Finding) -> tuple[int, bool]:
    """Sorts the worst first: what fails and is not waived."""
    return _WORST_FIRST.index(finding.verdict), finding.waiver is not None


def counted(report: Report) -> str:
    """``46 rules: 1 critical, 2 warn, 0 info fail; 3 unknown; 10 hold; 30 do not apply``."""
    found = counts(report)
    failing = ", ".join(f"{found[severity]} {severity}" for severity in SEVERITIES)
    rest = f"{found['unknown']} unknown; {found['holds']} hold; {found['not-applicable']} do not apply"
    disputed = f"{found[DISPUTED]} disputed; " if found[DISPUTED] else ""
    waived = f"{found['waived']} waived; " if found["waived"] else ""
    return f"{sum(found.values())} rules: {failing} fail; {disputed}{waived}{rest}"


def waiver_text(finding: Finding) -> str:
    """``waived until 2027-06-30 by storage-team: nothing there is kept [advisor-waivers.yaml:2]``."""
    waiver = finding.waiver
    if waiver is None:
        return ""
    return printable(f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason} [{waiver.where}]")


def value_text(evidence: Evidence) -> str:
    """The value of a fact on one line, without control characters; why there is none, if there is none."""
    value = evidence.value
    if value is None:
        return f"unknown ({printable(evidence.gap or 'no value')})"
    text = _plain(value)
    if evidence.expression.endswith("_bytes") and isinstance(value, int) and 1024 <= value < _LARGEST_SIZE:
        text = f"{text} ({size_text(value)})"
    text = printable(text)
    return text if len(text) <= _VALUE_LIMIT else text[:_VALUE_LIMIT] + " ..."


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, tuple):
        return str(value)
    numbers = [item for item in value if isinstance(item, int)]
    if len(numbers) == len(value) > 4:
        return cpulist_text(numbers) if sorted(set(numbers)) == numbers else ", ".join(map(str, numbers))
    shown = ", ".join(_plain(item) for item in value[:_ITEMS_SHOWN])
    return shown + (f", ... ({len(value)} in all)" if len(value) > _ITEMS_SHOWN else "") if value else "none"


def setting_text(setting: Setting) -> str:
    """The value of a setting for a reader."""
    if setting.target == "mount" and isinstance(setting.value, bool):
        return "added" if setting.value else "removed"
    value = setting.value
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
