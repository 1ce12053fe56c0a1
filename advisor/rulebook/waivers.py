"""Waivers: findings that the owners of a host have looked at and live with, until a day that they named.

A file of them lies beside the generated files in git::

    waivers:
      - rule: storage/nfs-soft-mount-written
        scope: /scratch*
        reason: nothing there is kept, and a hung filer must not hang the job
        owner: storage-team
        expires: 2027-06-30
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from advisor.errors import InputError
from advisor.inputs import printable
from advisor.model.finding import Evidence, Finding, Report, Waiver
from advisor.rulebook.language_compiler import nearest
from advisor.rulebook.strict_yaml import Document, Location, parse_yaml

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    rule: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+/[a-z0-9-]+$")]
    scope: Annotated[str, StringConstraints(min_length=1, max_length=500)] = "*"
    reason: Words
    owner: Words
    expires: str


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    waivers: list[_Entry]


def parse_waivers(text: str, where: str) -> tuple[Waiver, ...]:
    """The waivers of one file, which ``where`` names. Raises InputError, one line for each thing that is wrong."""
    document = parse_yaml(text)
    wrong = [f"{where}:{p.line}:{p.column}: {printable(p.message)}" for p in document.problems]
    entries: list[_Entry] = []
    if not wrong:
        try:
            entries = _File.model_validate(document.data).waivers
        except ValidationError as error:
            wrong = [_told(document, where, detail) for detail in error.errors()]
    found = []
    for number, entry in enumerate(entries):
        line = document.place(("waivers", number)).line
        day = _day(entry.expires)
        if day is None:
            place = document.place(("waivers", number, "expires"))
            message = f"expires must be a day as in 2027-06-30 but is {entry.expires[:40]!r}"
            wrong.append(f"{where}:{place.line}:{place.column}: {printable(message)}")
        else:
            found.append(Waiver(entry.rule, entry.scope, entry.reason, entry.owner, day, f"{where}:{line}"))
    if wrong:
        raise InputError("\n".join(wrong))
    return tuple(found)


def _told(document: Document, where: str, detail: Any) -> str:
    location: Location = detail["loc"]
    place = document.place(location)
    name = ".".join(map(str, location)) or "the file"
    if detail["type"] == "extra_forbidden":
        keys = _Entry.model_fields if len(location) > 1 else _File.model_fields
        message = f"unknown key {location[-1]!r}{nearest(str(location[-1]), list(keys))}"
    elif detail["type"] == "missing":
        message = f"{name} is missing"
    else:
        message = f"{name}: {detail['msg']}, got {str(detail['input'])[:60]!r}"
    return f"{where}:{place.line}:{place.column}: {printable(message)}"


def _day(text: str) -> date | None:
    found = _DAY.fullmatch(text)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def waived(report: Report, waivers: Sequence[Waiver], rules: Iterable[str], today: date) -> Report:
    """``report`` with its waived findings marked, and findings about waivers that are expired or not needed.

    ``rules`` are the names of all rules. A waiver counts to the end of its day.
    """
    valid = [waiver for waiver in waivers if waiver.expires >= today]
    findings = tuple(_marked(finding, valid) for finding in report.findings)
    told = [found for waiver in waivers for found in _about(waiver, report, set(rules), today)]
    return replace(report, findings=(*findings, *told))


def _covers(waiver: Waiver, finding: Finding) -> bool:
    return waiver.rule == finding.rule and fnmatchcase(finding.subject, waiver.scope)


def _marked(finding: Finding, waivers: Sequence[Waiver]) -> Finding:
    if finding.verdict != "fails":
        return finding
    waiver = next((waiver for waiver in waivers if _covers(waiver, finding)), None)
    return finding if waiver is None else replace(finding, waiver=waiver)


def _about(waiver: Waiver, report: Report, rules: set[str], today: date) -> Iterator[Finding]:
    """What is to be said of the waiver itself."""
    covered = [finding for finding in report.findings if _covers(waiver, finding)]
    failing = any(finding.verdict == "fails" for finding in covered)
    if waiver.rule not in rules:
        near = nearest(waiver.rule, sorted(rules))
        yield _finding(waiver, "needless", f"there is no rule {waiver.rule}{near}")
    elif not failing and not any(finding.verdict == "unknown" for finding in covered):
        scope = "" if waiver.scope == "*" else f" for {waiver.scope}"
        yield _finding(waiver, "needless", f"{waiver.rule} does not fail{scope}, so there is nothing to waive")
    elif failing and waiver.expires < today:
        yield _finding(waiver, "expired", f"the waiver of {waiver.rule} by {waiver.owner} ended on {waiver.expires}")


def _finding(waiver: Waiver, kind: str, message: str) -> Finding:
    titles = {"needless": "A waiver covers nothing", "expired": "A waiver has expired"}
    fixes = {
        "needless": "Take it out, so that the next failure of this rule is seen.",
        "expired": "Mend what it waived, or look at it again and set a new day.",
    }
    whys = {
        "needless": "It would hide a failure that nobody has looked at.",
        "expired": "Its owner meant to look again by that day.",
    }
    return Finding(
        rule=f"waivers/{kind}",
        subject=waiver.where,
        verdict="fails",
        severity="warn" if kind == "expired" else "info",
        basis="source",
        title=titles[kind],
        message=message,
        evidence=(Evidence(f"waivers[{waiver.rule}].expires", str(waiver.expires), waiver.where),),
        why=whys[kind],
        fix=fixes[kind],
        sources=(waiver.where,),
        condition="the waiver covers no finding that fails" if kind == "needless" else "its day is over",
    )
