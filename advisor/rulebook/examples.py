"""The examples of a rule are its tests: each is a host in a few facts and the verdict that it must get."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from advisor.model.facts import Facts
from advisor.model.finding import Finding, Verdict
from advisor.model.job import Job
from advisor.model.sample import Sample, counters_of
from advisor.model.snapshot import Snapshot, Source
from advisor.rulebook.language_compiler import nearest
from advisor.rulebook.rule import Rule, Sections, Wrong
from advisor.rulebook.schema import Example, RuleFile
from advisor.rulebook.strict_yaml import Location

_WORST_FIRST: tuple[Verdict, ...] = ("fails", "unknown", "holds", "not-applicable")
Derive = Callable[[Snapshot, Job], Snapshot]


def wrong_facts(file: RuleFile, sections: Sections) -> list[Wrong]:
    """What the examples' facts lack to be facts."""
    return [wrong for number, example in enumerate(file.examples) for wrong in _wrong(example, number, sections)]


def _wrong(example: Example, number: int, sections: Sections) -> Iterator[Wrong]:
    here: Location = ("examples", number, "facts")
    for name, values in example.facts.items():
        if name not in sections.models or name == "job":
            known = sorted(set(sections.models) - {"job"})
            yield Wrong((*here, name, ""), f"there is no section {name!r}{nearest(name, known)}")
        else:
            yield from _mistakes(sections.models[name], values, (*here, name))
    yield from _wrong_growth(example, number, sections)
    yield from _mistakes(Job, example.job, ("examples", number, "job"))


def _wrong_growth(example: Example, number: int, sections: Sections) -> Iterator[Wrong]:
    """Growth of what is no counter with a value among the example's facts."""
    known: set[str] = set()
    for name, values in example.facts.items():
        if example.growth and name in sections.models:
            try:
                known.update(counters_of(_facts(sections.models[name], values), name))
            except ValidationError:
                return  # told of the facts
    for counter in example.growth or {}:
        if counter not in known:
            yield Wrong(
                ("examples", number, "growth"),
                f"{counter!r} is no counter that the example's facts give{nearest(counter, known)}",
            )


def _mistakes(model: type[Facts], values: Mapping[str, Any], here: Location) -> Iterator[Wrong]:
    try:
        _facts(model, values)
    except ValidationError as error:
        for detail in error.errors():
            name = ".".join(str(part) for part in detail["loc"])
            if detail["type"] == "extra_forbidden":
                yield Wrong((*here, *detail["loc"]), f"{name!r} is no fact{_near(model, detail['loc'])}")
            else:
                got = f", got {str(detail['input'])[:60]!r}" if detail["type"] != "missing" else ""
                yield Wrong((*here, *detail["loc"]), f"{name}: {detail['msg']}{got}")


def _near(model: type[Facts], loc: tuple[int | str, ...]) -> str:
    return nearest(str(loc[-1]), tuple(model.model_fields)) if len(loc) == 1 else ""


def _facts(model: type[Facts], values: Mapping[str, Any]) -> Facts:
    """Facts as from a file: JSON's strict types, so that a number in quotes is a mistake."""
    return model.model_validate_json(json.dumps(values), strict=True)


def example_snapshot(rule: Rule, example: Example, sections: Sections, derive: Derive | None) -> Snapshot:
    """The host of an example. What it does not give of the derived sections is derived from what it gives."""
    given = {name: _facts(sections.models[name], values) for name, values in example.facts.items()}
    job = Job.model_validate_json(json.dumps(example.job), strict=True)
    snapshot = Snapshot(
        source=Source(kind="capture", root_user=False),
        facts={name: facts for name, facts in given.items() if name in sections.probed},
        gaps=example.gaps,
        sample=None
        if example.growth is None
        else Sample(dict.fromkeys(example.facts, example.seconds), example.growth),
    )
    lacking = (rule.sections & set(sections.derived)) - set(given) - {"job"}
    derived = derive(snapshot, job).derived if derive and lacking else {"job": job}
    return snapshot.with_derived({**derived, **{n: f for n, f in given.items() if n not in sections.probed}})


def check_example(rule: Rule, example: Example, findings: tuple[Finding, ...]) -> list[str]:
    """What the findings have otherwise than the example wants; nothing when all is well."""
    wrong = list(_verdicts(example, findings))
    failing = [f for f in findings if f.verdict == "fails"]
    if example.message is not None and example.message not in [f.message for f in failing[:1]]:
        wrong.append(f"message must be {example.message!r} but is {failing[0].message if failing else 'none'!r}")
    if example.settings is not None:
        made = {f"{s.target}:{s.key}": s.value for f in failing for s in f.settings}
        if made != example.settings:
            wrong.append(f"settings must be {example.settings} but are {made}")
    return wrong


def _verdicts(example: Example, findings: tuple[Finding, ...]) -> Iterator[str]:
    found = {finding.subject: finding for finding in findings}
    if isinstance(example.expect, dict):
        for subject, verdict in example.expect.items():
            if subject not in found:
                yield f"there is no subject {subject!r}; there are {', '.join(map(repr, found))}"
            elif found[subject].verdict != verdict:
                yield _differs(found[subject], verdict)
        return
    worst = min(findings, key=lambda finding: _WORST_FIRST.index(finding.verdict))
    if worst.verdict != example.expect:
        yield _differs(worst, example.expect)


def _differs(finding: Finding, verdict: str) -> str:
    subject = f" for {finding.subject}" if finding.subject else ""
    because = f" ({'; '.join(finding.settle)})" if finding.verdict == "unknown" else ""
    seen = ", ".join(f"{e.expression}={e.value!r}" for e in finding.evidence[:8])
    return f"must be {verdict}{subject} but is {finding.verdict}{because}" + (f"; looked at {seen}" if seen else "")
