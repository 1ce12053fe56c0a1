"""growth() and rate() of counters in conditions, and in the examples of rules."""

from pathlib import Path
from typing import Annotated, Any

import pytest

from advisor.errors import RuleError
from advisor.model.facts import Counter, Facts, GapState, Volatile
from advisor.model.job import Job
from advisor.model.sample import Sample
from advisor.model.snapshot import Snapshot, Source, SourceKind
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import check_example, example_snapshot
from advisor.rulebook.language import Scope, compile_expression
from advisor.rulebook.language_compiler import Mistake
from advisor.rulebook.language_values import Run, Unknown
from advisor.rulebook.load import load_rules
from advisor.rulebook.rule import Sections


class Port(Facts):
    name: str
    errors: Annotated[int | None, Counter()] = None
    speed: int | None = None


class Hw(Facts):
    dropped: Annotated[int | None, Counter()] = None
    waiting: Annotated[int | None, Volatile()] = None
    ports: tuple[Port, ...] | None = None


SCOPE = Scope({"hw": Hw})
FACTS = Hw(origin="/hw", dropped=100, ports=(Port(name="a", errors=7), Port(name="b", errors=9)))
SAMPLE = Sample({"hw": 5.0}, {"hw.dropped": 20, "hw.ports[a].errors": 3}, {"hw.ports[b].errors": "started again"})


def answer(text: str, sample: Sample | None = SAMPLE, facts: Hw = FACTS, **source: Any) -> Any:
    gaps: dict[str, GapState] = {"/hw": "denied"} if facts.dropped is None else {}
    snapshot = Snapshot(Source(**source), {"hw": facts}, gaps, sample=sample)
    return compile_expression(text, SCOPE, lambda _: True).evaluate(Run(snapshot))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("growth(hw.dropped)", 20),
        ("rate(hw.dropped)", 4.0),
        ("growth(hw.dropped) > 10 and hw.dropped == 100", True),
        ("any(growth(p.errors) > 2 for p in hw.ports)", True),
        ("growth(hw.ports[0].errors)", 3),
        ("known(growth(hw.dropped))", True),
    ],
)
def test_what_grew(text: str, value: object) -> None:
    assert answer(text) == value


@pytest.mark.parametrize(
    ("text", "sample", "gap"),
    [
        ("growth(hw.dropped)", None, "not sampled"),
        ("rate(hw.dropped)", None, "not sampled"),
        ("sum(growth(p.errors) for p in hw.ports)", SAMPLE, "started again"),
        ("growth(hw.dropped)", Sample({"hw": 5.0}, {}), "not there again"),
    ],
)
def test_growth_that_is_not_known_is_unknown_with_its_reason(text: str, sample: Sample | None, gap: str) -> None:
    found = answer(text, sample)
    assert isinstance(found, Unknown)
    assert [missing.gap for missing in found.missing] == [gap]


def test_a_counter_that_could_not_be_read_says_so_rather_than_ask_for_a_sample() -> None:
    found = answer("growth(hw.dropped)", None, Hw(origin="/hw"))
    assert [(missing.expression, missing.gap) for missing in found.missing] == [("hw.dropped", "denied")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("growth(hw.waiting) > 1", "is no counter"),
        ("growth(hw.ports) > 1", "is no counter"),
        ("growth(1) > 1", "takes the name of one counter"),
        ("growth(hw.dropped + 1) > 1", "takes the name of one counter"),
        ("growth(hw.droped) > 1", "did you mean 'dropped'"),
        ("growth() > 1", "takes 1 arguments"),
    ],
)
def test_growth_is_of_one_counter(text: str, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        compile_expression(text, SCOPE)


RULE = """\
title: Packets are dropped
severity: warn
basis: kernel-doc
fails: growth(hw.dropped) > 10
says: "{growth(hw.dropped)} packets dropped, {rate(hw.dropped)} a second"
why: They are sent again.
fix: Raise the limit.
sources: [https://docs.kernel.org/x]
examples:
  - {name: grows, facts: {hw: {dropped: 500}}, growth: {hw.dropped: 20}, seconds: 10, expect: fails,
     message: "20 packets dropped, 2 a second"}
  - {name: old, facts: {hw: {dropped: 500}}, growth: {hw.dropped: 0}, expect: holds}
  - {name: read once, facts: {hw: {dropped: 500}}, expect: unknown}
  - {name: driver loaded anew, facts: {hw: {dropped: 500}}, growth: {}, expect: unknown}
"""
SECTIONS = Sections({"hw": Hw}, {"job": Job})


def loaded(folder: Path, text: str) -> Any:
    (folder / "net").mkdir()
    (folder / "net" / "drops.yaml").write_text(text)
    return load_rules([folder], SECTIONS, ["sysctl"])


def test_the_examples_of_a_rule_state_growth(tmp_path: Path) -> None:
    (rule,) = loaded(tmp_path, RULE)
    for example in rule.file.examples:
        report = evaluate([rule], example_snapshot(rule, example, SECTIONS, None))
        assert check_example(rule, example, report.findings) == [], example.name


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{hw.dropped: 20}", "{hw.droped: 20}", "no counter that the example's facts give; did you mean 'hw.dropped'"),
        ("{hw.dropped: 20}", "{'hw.ports[c].errors': 20}", "no counter that the example's facts give"),
        ("seconds: 10", "seconds: 0", "greater than 0"),
        ("set: []", "set: [{target: sysctl, key: a, value: 1}]", "must not rest on a fact that changes by itself"),
    ],
    ids=["spelling", "no such item", "no time", "a setting on growth"],
)
def test_a_wrong_example_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        loaded(tmp_path, (RULE + "set: []\n").replace(old, new, 1))


@pytest.mark.parametrize(
    ("kind", "sample", "settle"),
    [
        ("live", None, "run with --sample 5s"),
        ("facts", None, "run with --sample 5s"),
        ("capture", None, "capture it with --sample 5s: one reading does not tell what grows"),
        (
            "capture",
            Sample({"hw": 1.0}, {}, {"hw.dropped": "started again"}),
            "sample again: the counter of growth(hw.dropped) started again meanwhile",
        ),
        (
            "live",
            Sample({"hw": 1.0}, {}, {"hw.dropped": "at its limit"}),
            "clear the counter of growth(hw.dropped), which stands at its largest value and counts no further",
        ),
    ],
)
def test_what_would_settle_it(tmp_path: Path, kind: SourceKind, sample: Sample | None, settle: str) -> None:
    rules = loaded(tmp_path, RULE)
    (finding,) = evaluate(rules, Snapshot(Source(kind=kind), {"hw": FACTS}, {}, sample=sample)).findings
    assert (finding.verdict, finding.settle) == ("unknown", (settle,))


def test_growth_is_evidence_that_changes_by_itself(tmp_path: Path) -> None:
    rules = loaded(tmp_path, RULE)
    (finding,) = evaluate(rules, Snapshot(Source(), {"hw": FACTS}, {}, sample=SAMPLE)).findings
    evidence = finding.evidence[0]
    assert (evidence.expression, evidence.value, evidence.path) == ("growth(hw.dropped)", 20, "/hw")
    assert evidence.volatile
