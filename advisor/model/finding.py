"""What rules say: a verdict, its evidence, and what would settle it when it is unknown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from advisor.model.setting import Setting

Severity = Literal["critical", "warn", "info"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warn", "info")
DISPUTED = "disputed"
"""Stands in the place of a severity where authorities disagree."""
Basis = Literal["kernel-doc", "vendor-doc", "source", "measured", "field-report"]
Verdict = Literal["fails", "holds", "unknown", "not-applicable"]


@dataclass(frozen=True)
class Evidence:
    """One fact that a condition looked at."""

    expression: str
    """As in the rule with the item filled in: ``pci.devices[0000:3b:00.0].link_width``."""
    value: object
    """``None`` when the fact is missing."""
    path: str
    """The file or command it was read from; empty for a constant of the job."""
    gap: str | None = None
    """Why there is no value: a gap state."""
    volatile: bool = False


@dataclass(frozen=True)
class Position:
    """What one authority says of a matter on which another says otherwise."""

    says: str
    source: str
    decides: str
    """When this one is right."""


@dataclass(frozen=True)
class Waiver:
    """Someone's decision to live with a finding until a day."""

    rule: str
    scope: str
    """Pattern of the subjects it covers; ``*`` covers all, and the host."""
    reason: str
    owner: str
    expires: date
    """The last day on which it counts."""
    where: str
    """File and line."""


@dataclass(frozen=True)
class Finding:
    """One rule applied to one subject."""

    rule: str
    """Area and name: ``pcie/link-narrower-than-card``."""
    subject: str
    """The item of the rule's loop (a PCI address, a mount point ...), empty for a rule about the host."""
    verdict: Verdict
    severity: Severity
    basis: Basis
    title: str
    message: str
    evidence: tuple[Evidence, ...]
    settle: tuple[str, ...] = ()
    """For ``unknown``: what would settle it ("run as root: /sys/... was denied")."""
    why: str = ""
    fix: str = ""
    sources: tuple[str, ...] = ()
    positions: tuple[Position, ...] = ()
    """What authorities that differ say: then nothing is at fault, and a measurement on this host decides."""
    settings: tuple[Setting, ...] = ()
    """Of a finding that fails: what it asks for."""
    keeps: tuple[Setting, ...] = ()
    """Of a finding that holds: what must stay where an installed file of ours is the reason that it holds."""
    condition: str = ""
    """The rule's own words of what fails, with its thresholds: for files that must not hold volatile values."""
    waiver: Waiver | None = None
    """Of a finding that fails: the waiver that covers it."""

    @property
    def disputed(self) -> bool:
        """Whether authorities disagree about it, so that it is no fault."""
        return bool(self.positions)

    @property
    def weight(self) -> str:
        """The severity of a fault; "disputed" for what authorities disagree about."""
        return DISPUTED if self.disputed else self.severity


@dataclass(frozen=True)
class Report:
    """All findings of one host, in the order of their rules and subjects."""

    findings: tuple[Finding, ...]
    defects: tuple[str, ...] = ()
    """Rules that could not be computed, one sentence each; their findings are unknown."""

    def failing(self) -> tuple[Finding, ...]:
        """The faults: findings that fail and are not waived, worst first, then by rule and subject."""
        return _worst_first(f for f in self._open() if not f.disputed)

    def disputed(self) -> tuple[Finding, ...]:
        """What authorities disagree about on this host and is not waived, by rule and subject."""
        return _worst_first(f for f in self._open() if f.disputed)

    def waived(self) -> tuple[Finding, ...]:
        """The findings that fail and are waived, worst first, then by rule and subject."""
        return _worst_first(f for f in self.findings if f.waiver is not None)

    def _open(self) -> Iterator[Finding]:
        return (f for f in self.findings if f.verdict == "fails" and f.waiver is None)

    def of(self, verdict: Verdict) -> tuple[Finding, ...]:
        """The findings with this verdict."""
        return tuple(f for f in self.findings if f.verdict == verdict)


def _worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.rule, f.subject)))
