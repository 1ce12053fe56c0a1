"""Rules applied to a Snapshot. Pure; a rule that cannot be computed spoils its own finding only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from advisor.inputs import printable
from advisor.model.finding import Finding, Position, Report, Verdict
from advisor.model.setting import Reason, Setting
from advisor.model.snapshot import Snapshot
from advisor.rulebook.language import Expression
from advisor.rulebook.language_values import Defective, Run, Thing, Unknown, unknowns
from advisor.rulebook.rule import CompiledSetting, Rule
from advisor.rulebook.settle import settling
from advisor.rulebook.template import Template

_NAMED_MISSING = 3
"""Missing facts that the message of an unknown names."""


@dataclass(frozen=True)
class _Outcome:
    """A verdict on one subject, with all that follows from it."""

    verdict: Verdict
    message: str = ""
    settle: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    keeps: tuple[Setting, ...] = ()
    defect: str = ""


def evaluate(rules: Iterable[Rule], snapshot: Snapshot) -> Report:
    """The findings of all rules on one host, in the order of the rules and their subjects."""
    findings: list[Finding] = []
    defects: list[str] = []
    sections: dict[str, Thing | Unknown] = {}
    for rule in rules:
        for subject, run, outcome in _outcomes(rule, snapshot, sections):
            findings.append(_finding(rule, subject, run, outcome))
            if outcome.defect:
                defects.append(outcome.defect)
    return Report(tuple(findings), tuple(dict.fromkeys(defects)))


def _outcomes(
    rule: Rule, snapshot: Snapshot, sections: dict[str, Thing | Unknown]
) -> Iterator[tuple[str, Run, _Outcome]]:
    """Subject, what was looked at and the outcome, one for each item of the rule's loop."""
    run = Run(snapshot, sections=sections)
    if rule.each is None:
        yield "", run, _judged(rule, run)
        return
    try:
        items = rule.each.evaluate(run)
    except Defective as defect:
        yield "", run, _defective(rule, defect)
        return
    if isinstance(items, Unknown):
        yield "", run, _unknown(rule, items, snapshot)
    elif not items:
        yield "", run, _Outcome("not-applicable", f"there is nothing in {rule.each.text}")
    else:
        for number, item in enumerate(items):
            own = Run(snapshot, {rule.item: item}, sections=sections)
            yield _subject(item, number), own, _judged(rule, own)


def _subject(item: Any, number: int) -> str:
    if isinstance(item, Thing):
        return printable(item.label)
    return str(number) if isinstance(item, Unknown | tuple) else printable(item)


def _judged(rule: Rule, run: Run) -> _Outcome:
    """The outcome for one subject; what its condition looked at comes before what says that the rule applies."""
    try:
        with run.apart() as only:
            applies = True if rule.only is None else _decided(rule.only, run)
        if applies is True:
            outcome = _of_condition(rule, run)
        elif applies is False:
            outcome = _Outcome("not-applicable", "the rule does not apply here")
        else:
            outcome = _unknown(rule, applies, run.snapshot)
        run.seen = {**run.seen, **{key: one for key, one in only.items() if key not in run.seen}}
        return outcome
    except Defective as defect:
        return _defective(rule, defect)


def _of_condition(rule: Rule, run: Run) -> _Outcome:
    fails = _decided(rule.fails, run)
    if isinstance(fails, Unknown):
        return _unknown(rule, fails, run.snapshot)
    return _failing(rule, run) if fails else _Outcome("holds", keeps=_kept(rule, run))


def _decided(condition: Expression, run: Run) -> bool | Unknown:
    value = condition.evaluate(run)
    if not isinstance(value, bool | Unknown):
        raise Defective(f"{condition.text!r} must be true or false but is {value!r}")
    return value


def _unknown(rule: Rule, unknown: Unknown, snapshot: Snapshot) -> _Outcome:
    names = [printable(missing.expression) for missing in unknown.missing]
    more = f" and {len(names) - _NAMED_MISSING} more" if len(names) > _NAMED_MISSING else ""
    message = f"cannot be told without {', '.join(names[:_NAMED_MISSING])}{more}"
    settle = (*rule.file.settle, *settling(unknown.missing, snapshot))
    return _Outcome("unknown", message, tuple(dict.fromkeys(settle)))


def _defective(rule: Rule, defect: Defective) -> _Outcome:
    told = f"rule {rule.id} cannot be computed: {printable(defect)}"
    return _Outcome("unknown", told, (f"mend the rule in {rule.path}",), defect=told)


def _failing(rule: Rule, run: Run) -> _Outcome:
    settings: list[Setting] = []
    unmade: dict[str, None] = {}
    for setting in rule.settings:
        for made in _settings(rule, setting, run):
            if isinstance(made, Setting):
                settings.append(made)
            else:
                key = f"{setting.entry.target}:{setting.entry.key}"
                unmade |= dict.fromkeys(f"{key} is not set: {text}" for text in settling(made.missing, run.snapshot))
    return _Outcome("fails", rule.says.filled(run), tuple(unmade), tuple(settings))


def _kept(rule: Rule, run: Run) -> tuple[Setting, ...]:
    """What a holding rule would set: where an installed file of ours brought it about, it must not be dropped."""
    if not rule.settings:
        return ()
    fresh = Run(run.snapshot, run.items, sections=run.sections)  # so that the evidence stays that of the condition
    try:
        made = [one for setting in rule.settings for one in _settings(rule, setting, fresh)]
    except Defective:  # a value that only makes sense where the condition fails
        return ()
    return tuple(setting for setting in made if isinstance(setting, Setting))


def _settings(rule: Rule, setting: CompiledSetting, run: Run) -> Iterator[Setting | Unknown]:
    """What one entry asks for: nothing, one setting, or one for each item of its loop."""
    items = (None,) if setting.each is None else setting.each.evaluate(run)
    if isinstance(items, Unknown):
        yield items
        return
    for item in items:
        own = run if setting.each is None else replace(run, items={**run.items, setting.item: item})
        wanted = True if setting.only is None else _decided(setting.only, own)
        if isinstance(wanted, Unknown):
            yield wanted
        elif wanted:
            yield _setting(rule, setting, own)


def _setting(rule: Rule, setting: CompiledSetting, run: Run) -> Setting | Unknown:
    entry = setting.entry
    value = setting.value.evaluate(run) if isinstance(setting.value, Expression) else setting.value
    unknown = unknowns(value, *_values(setting.key, run))
    if unknown:
        return unknown
    text = setting.says.filled(run) if setting.says else rule.file.title
    return Setting(
        target=entry.target,
        key=setting.key.filled(run),
        value=value,
        reason=Reason("rule", rule.id, text, tuple(rule.file.sources)),
        risk=entry.risk,
        scope=entry.scope,
        takes_effect=entry.takes_effect,
        only_raise=entry.only_raise,
    )


def _values(template: Template, run: Run) -> list[Any]:
    return [expression.evaluate(run) for expression in template.expressions]


def _finding(rule: Rule, subject: str, run: Run, outcome: _Outcome) -> Finding:
    file = rule.file
    return Finding(
        rule=rule.id,
        subject=subject,
        verdict=outcome.verdict,
        severity=file.severity,
        basis=file.basis,
        title=file.title,
        message=outcome.message,
        evidence=run.evidence(),
        settle=outcome.settle,
        why=file.why,
        fix=file.fix,
        sources=tuple(file.sources),
        positions=tuple(Position(one.says, one.source, one.decides) for one in file.positions),
        settings=outcome.settings,
        keeps=outcome.keeps,
        condition=rule.condition,
    )
