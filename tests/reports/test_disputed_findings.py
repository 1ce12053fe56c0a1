"""What authorities disagree about is shown as a question to be measured: no fault, with all positions."""

import json
from dataclasses import replace
from datetime import date

import pytest

from advisor.model.finding import Evidence, Finding, Position, Report, Verdict, Waiver
from advisor.model.snapshot import Snapshot, Source
from advisor.reports import json as json_report
from advisor.reports import markdown
from advisor.reports import text as text_report
from advisor.reports._findings import counted, counts
from advisor.reports._look import Look

HOST = Snapshot(Source(kind="live"), {}, {})
ONE = Position("switch it <on>", "kernel documentation", "the data is read again")
OTHER = Position("leave it off", "a vendor's image", "nothing is read twice")


def finding(verdict: Verdict = "fails", rule: str = "memory/question", **more: object) -> Finding:
    made = Finding(
        rule=rule,
        subject="",
        verdict=verdict,
        severity="info",
        basis="kernel-doc",
        title="A switch is on",
        message="x is 1",
        evidence=(Evidence("memory.x", 1, "/proc/sys/vm/x"),),
        why="It costs and it helps.",
        fix="Run both and compare.",
        sources=("https://docs.kernel.org/page.html",),
        positions=(ONE, OTHER),
        condition="memory.x == 1",
    )
    return replace(made, **more)  # type: ignore[arg-type]


FAULT = finding(rule="a/fault", positions=(), severity="warn", title="Broken", fix="Mend it.")
MIXED = Report((finding(), FAULT, finding("holds", "z/fine")))


def test_it_is_no_fault() -> None:
    assert [found.rule for found in MIXED.failing()] == ["a/fault"]
    assert [found.rule for found in MIXED.disputed()] == ["memory/question"]


def test_it_is_counted_by_itself() -> None:
    assert counted(MIXED) == "3 rules: 0 critical, 1 warn, 0 info fail; 1 disputed; 0 unknown; 1 hold; 0 do not apply"
    assert (counts(MIXED)["disputed"], counts(MIXED)["info"]) == (1, 0)


def test_a_report_without_any_does_not_speak_of_it() -> None:
    report = Report((FAULT, finding("holds"), finding("unknown", "y/unknown")))
    for shown in (counted(report), text_report.text(report, HOST), markdown.text(report, HOST)):
        assert "disputed" not in shown.lower()
        assert "disagree" not in shown


def test_the_terminal_sees_it_after_the_faults_with_every_position() -> None:
    shown = text_report.text(MIXED, HOST)
    assert shown.index("WARN  a/fault") < shown.index("DISPUTED  memory/question  (authorities disagree)")
    block = shown[shown.index("DISPUTED") :].split("\n\n")[0]
    assert block.split("\n")[1:] == [
        "  A switch is on",
        "  - x is 1",
        "  seen: memory.x = 1 [/proc/sys/vm/x]",
        "  one says: switch it <on> [kernel documentation]",
        "    right when: the data is read again",
        "  one says: leave it off [a vendor's image]",
        "    right when: nothing is read twice",
        "  measure it: Run both and compare.",
    ]


def test_its_colour_is_no_severity() -> None:
    shown = text_report.text(MIXED, HOST, look=Look(color=True))
    assert "\x1b[34mDISPUTED\x1b[0m" in shown


def test_the_page_of_one_finding_says_so_only_where_the_condition_is_met() -> None:
    assert text_report.page(finding(), Look()).startswith("DISPUTED\n")
    assert text_report.page(finding("holds"), Look()).startswith("HOLDS")


def test_the_page_for_review_has_a_chapter_of_its_own() -> None:
    shown = markdown.text(MIXED, HOST)
    failing, disputed = shown.split("## Authorities disagree\n\n")
    assert "### Broken" in failing
    assert "A switch is on" not in failing
    assert disputed.startswith("No fault, and nothing is set: measure on your own job.\n\n### A switch is on\n")
    assert "- switch it \\<on> (kernel documentation); right when the data is read again\n" in disputed
    assert "- leave it off (a vendor's image); right when nothing is read twice\n" in disputed
    assert "Measure it: Run both and compare.\n" in disputed


def test_what_changes_by_itself_is_not_decided_in_the_page_for_review() -> None:
    moving = (Evidence("memory.x", 1, "/proc/sys/vm/x", volatile=True),)
    shown = markdown.text(Report((finding(evidence=moving),)), HOST)
    assert "`memory/question` (disputed): A switch is on. Fails when" in shown
    assert "## Authorities disagree" not in shown


def test_a_program_sees_the_positions() -> None:
    document = json.loads(json_report.text(MIXED, HOST))
    found = {one["rule"]: one for one in document["findings"]}
    assert found["memory/question"]["disputed"] is True
    assert found["memory/question"]["positions"][1] == {
        "says": "leave it off",
        "source": "a vendor's image",
        "decides": "nothing is read twice",
    }
    assert (found["a/fault"]["disputed"], found["a/fault"]["positions"]) == (False, [])
    assert document["counts"]["disputed"] == 1


@pytest.mark.parametrize("form", [text_report.text, markdown.text], ids=["text", "markdown"])
def test_a_waiver_takes_it_out(form: object) -> None:
    waiver = Waiver("memory/question", "*", "measured: on is faster", "us", date(2027, 1, 1), "w.yaml:1")
    report = Report((finding(waiver=waiver),))
    assert report.disputed() == ()
    shown = form(report, HOST)  # type: ignore[operator]
    assert "memory/question" in shown
    assert "(disputed)" in shown
    assert "one says" not in shown
    assert counts(report)["waived"] == 1
