"""The report for programs: JSON with a schema version and a stable order."""

import json
import math
from dataclasses import asdict
from typing import Any

from advisor.model.finding import Evidence, Finding, Report, Waiver
from advisor.model.setting import Plan, Setting, Withheld
from advisor.model.snapshot import Snapshot
from advisor.reports._findings import counts
from advisor.reports._look import PLAIN, Look

SCHEMA_VERSION = 1


def text(report: Report, snapshot: Snapshot, plan: Plan | None = None, look: Look = PLAIN) -> str:
    """All findings, and the plan when there is one, with a final newline."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "source": snapshot.source.model_dump(),
        "counts": counts(report),
        "findings": [finding_document(f) for f in report.findings],
        "defects": list(report.defects),
    }
    if plan is not None:
        document["settings"] = [_setting(s) for target in plan.settings for s in plan.of(target)]
        document["withheld"] = [_withheld(w) for w in plan.withheld]
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n"


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding as JSON types."""
    return {
        "rule": finding.rule,
        "subject": finding.subject,
        "verdict": finding.verdict,
        "severity": finding.severity,
        "basis": finding.basis,
        "title": finding.title,
        "message": finding.message,
        "condition": finding.condition,
        "evidence": [_evidence(e) for e in finding.evidence],
        "settle": list(finding.settle),
        "why": finding.why,
        "fix": finding.fix,
        "sources": list(finding.sources),
        "disputed": finding.disputed,
        "positions": [asdict(position) for position in finding.positions],
        "settings": [_setting(s) for s in finding.settings],
        "waiver": None if finding.waiver is None else _waiver(finding.waiver),
    }


def _waiver(waiver: Waiver) -> dict[str, Any]:
    return {**asdict(waiver), "expires": str(waiver.expires)}


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "expression": evidence.expression,
        "value": _plain(evidence.value),
        "path": evidence.path,
        "gap": evidence.gap,
        "volatile": evidence.volatile,
    }


def _setting(setting: Setting) -> dict[str, Any]:
    reason = setting.reason
    return {
        "target": setting.target,
        "key": setting.key,
        "value": _plain(setting.value),
        "seen": setting.seen,
        "seen_path": setting.seen_path,
        "seen_note": setting.seen_note,
        "rank": reason.rank,
        "by": reason.by,
        "reason": reason.text,
        "sources": list(reason.sources),
        "risk": setting.risk,
        "scope": setting.scope,
        "takes_effect": setting.takes_effect,
        "only_raise": setting.only_raise,
        "suggested": setting.suggested,
    }


def _withheld(withheld: Withheld) -> dict[str, Any]:
    return {**_setting(withheld.setting), "why": withheld.why}


def _plain(value: object) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
