"""The three reports of findings: complete, safe to print, and for git the same bytes on an unchanged host."""

import json
from dataclasses import replace

import pytest

from advisor.model.finding import Evidence, Finding, Report, Severity, Verdict
from advisor.model.setting import Plan, Reason, Setting, Withheld
from advisor.model.snapshot import Snapshot, Source
from advisor.reports import json as json_report
from advisor.reports import markdown
from advisor.reports import text as text_report
from advisor.reports._findings import counted, value_text
from advisor.reports._look import Look

HOST = Snapshot(Source(kind="live"), {}, {})
SETTING = Setting("sysctl", "vm.x", 10, Reason("rule", "memory/bad", "why"), seen="60", seen_path="/proc/sys/vm/x")


def finding(
    verdict: Verdict = "fails",
    rule: str = "memory/bad",
    subject: str = "",
    severity: Severity = "warn",
    evidence: tuple[Evidence, ...] = (Evidence("memory.x", 60, "/proc/sys/vm/x"),),
    **more: object,
) -> Finding:
    made = Finding(
        rule=rule,
        subject=subject,
        verdict=verdict,
        severity=severity,
        basis="kernel-doc",
        title="Memory is bad",
        message="x is 60",
        evidence=evidence,
        why="Because.",
        fix="Mend it.",
        sources=("https://docs.kernel.org/some_page.html",),
        condition="memory.x > 30",
    )
    return replace(made, **more)  # type: ignore[arg-type]


MIXED = Report(
    (
        finding(rule="a/info", severity="info"),
        finding(rule="b/critical", severity="critical", subject="p0"),
        finding(rule="b/critical", severity="critical", subject="p1"),
        finding("unknown", "c/unknown", settle=("run as root: /x was denied",), message="cannot be told"),
        finding("unknown", "d/unknown", settle=("run as root: /x was denied", "install ethtool")),
        finding("holds", "e/fine"),
        finding("not-applicable", "f/elsewhere", subject="p0"),
        finding("holds", "f/elsewhere", subject="p1"),
        finding("not-applicable", "g/elsewhere"),
    )
)
COUNTS = "7 rules: 1 critical, 0 warn, 1 info fail; 2 unknown; 2 hold; 1 do not apply"


def test_rules_are_counted_by_their_worst_verdict() -> None:
    assert counted(MIXED) == COUNTS


def test_the_terminal_sees_the_worst_first_and_each_rule_once() -> None:
    shown = text_report.text(MIXED, HOST)
    assert shown.index("CRITICAL  b/critical") < shown.index("INFO  a/info") < shown.index("UNKNOWN  2 rules")
    assert shown.count("Mend it.") == 2
    assert "- p0: x is 60" in shown
    assert "seen: memory.x = 60 [/proc/sys/vm/x]" in shown
    assert shown.endswith(f"{COUNTS}\n")


def test_unknowns_are_grouped_by_what_would_settle_most() -> None:
    lines = text_report.text(MIXED, HOST).split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("UNKNOWN"))
    assert lines[start + 1 : start + 3] == [
        "  - run as root: /x was denied (c/unknown, d/unknown)",
        "  - install ethtool (d/unknown)",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_keep_to_the_width(width: int) -> None:
    long = finding(message="word " * 100, fix="more " * 100)
    lines = text_report.text(Report((long,)), HOST, look=Look(width=width)).split("\n")
    assert max(map(len, lines)) <= width
    assert len(lines) > 500 // width


def test_colours_come_only_when_asked_for() -> None:
    assert "\x1b[1;31mCRITICAL\x1b[0m" in text_report.text(MIXED, HOST, look=Look(color=True))
    assert "\x1b" not in text_report.text(MIXED, HOST)


def test_without_unicode_everything_is_ascii() -> None:
    shown = text_report.text(Report((finding(message="größer ≥ 5"),)), HOST, look=Look(unicode=False))
    assert shown.isascii()
    assert "gr\\xf6\\xdfer" in shown


EVIL = "x\x1b[31m\r\n| `rm` <script> [a](b) *b* \u202e"


@pytest.mark.parametrize(
    "report", [text_report.text, markdown.text, json_report.text], ids=["text", "markdown", "json"]
)
def test_nothing_of_the_host_reaches_the_terminal_raw(report: object) -> None:
    evidence = (Evidence(f"a[{EVIL}].b", EVIL, f"/sys/{EVIL}"), Evidence("c", (EVIL,), ""))
    one = finding(subject=EVIL, message=EVIL, evidence=evidence)
    two = finding("unknown", "c/d", subject=EVIL, settle=(f"capture {EVIL}",), message=EVIL)
    plan = Plan({"sysctl": (replace(SETTING, seen=EVIL, value=EVIL),)}, (Withheld(SETTING, EVIL),))
    shown = report(Report((one, two)), HOST, plan)  # type: ignore[operator]
    assert all(line.isprintable() for line in shown.split("\n"))


def test_markdown_takes_no_markup_from_the_host() -> None:
    evidence = (Evidence("a", EVIL, ""),)
    shown = markdown.text(Report((finding(subject=EVIL, message=EVIL, evidence=evidence),)), HOST)
    assert "\\<script\\>" in shown
    assert "\\[a\\](b)" in shown
    row = next(line for line in shown.split("\n") if line.startswith("| `a`"))
    assert row.count("`") == 4  # the fact and its value are one code span each
    assert row.replace("\\|", "").count("|") == 4


def test_the_page_for_review_has_every_part() -> None:
    withheld = Withheld(replace(SETTING, key="vm.y"), "already so")
    shown = markdown.text(MIXED, HOST, Plan({"sysctl": (SETTING,)}, (withheld,)))
    for part in (
        "## Failing",
        "critical, rule `b/critical`, basis: kernel-doc",
        "- `p1`: x is 60",
        "| `memory.x` | `60` | `/proc/sys/vm/x` |",
        "Why: Because.",
        "Fix: Mend it.",
        "- https://docs.kernel.org/some_page.html",
        "| `sysctl:vm.x` | `10` | `60` | `memory/bad` | `low` | `now` |",
        "| `sysctl:vm.y` | `10` | `memory/bad` | `already so` |",
        "- run as root: /x was denied: `c/unknown`, `d/unknown`",
        "## Holds\n\n- `e/fine`",
        "## Not applicable\n\n- `f/elsewhere`",
    ):
        assert part in shown, part


def moving(verdict: Verdict, value: object) -> Report:
    evidence = (Evidence("memory.free", value, "/proc/meminfo", None if value else "not captured", volatile=True),)
    told = {"message": f"free is {value}", "rule": "m/low", "condition": "memory.free < 5"}
    settle = ("wait",) if verdict == "unknown" else ()
    return Report((finding(verdict, evidence=evidence, settle=settle, **told), finding("holds", "n/fine")))  # type: ignore[arg-type]


def test_what_changes_by_itself_does_not_change_the_page_for_review() -> None:
    pages = {
        markdown.text(moving(v, n), HOST) for v, n in (("fails", 3), ("fails", 4), ("holds", 9), ("unknown", None))
    }  # type: ignore[arg-type]
    (shown,) = pages
    assert "`m/low` (warn): Memory is bad. Fails when `memory.free < 5`" in shown
    assert "free is" not in shown


def test_the_terminal_does_show_what_changes_by_itself() -> None:
    assert "free is 3" in text_report.text(moving("fails", 3), HOST)


def test_json_holds_all_findings_in_a_stable_order() -> None:
    document = json.loads(json_report.text(MIXED, HOST, Plan({"sysctl": (SETTING,)})))
    assert document["schema_version"] == 1
    assert [f["rule"] for f in document["findings"]] == [f.rule for f in MIXED.findings]
    assert document["counts"]["critical"] == 1
    assert document["findings"][0]["evidence"] == [
        {"expression": "memory.x", "value": 60, "path": "/proc/sys/vm/x", "gap": None, "volatile": False}
    ]
    assert document["settings"][0]["seen"] == "60"
    assert json_report.text(MIXED, HOST) == json_report.text(MIXED, HOST)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), (1, float("inf")), {"a": 1}])
def test_json_is_json_whatever_the_value(value: object) -> None:
    shown = json_report.text(Report((finding(evidence=(Evidence("a", value, ""),)),)), HOST)
    json.loads(shown, parse_constant=lambda name: pytest.fail(name))


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        (Evidence("a.x", None, "", "denied"), "unknown (denied)"),
        (Evidence("a.x", True, ""), "true"),
        (Evidence("a.limit_bytes", 65536, ""), "65536 (64 KiB)"),
        (Evidence("a.cpus", (0, 1, 2, 3, 4, 8), ""), "0-4,8"),
        (Evidence("a.x", (4096, 131072, 6291456), ""), "4096, 131072, 6291456"),
        (Evidence("a.x", (), ""), "none"),
        (Evidence("a.x", tuple("abcdefghij"), ""), "a, b, c, d, e, f, g, h, ... (10 in all)"),
    ],
)
def test_values_are_shown_as_people_read_them(evidence: Evidence, shown: str) -> None:
    assert value_text(evidence) == shown


@pytest.mark.parametrize("value", ["x" * 10_000, 10**1000], ids=["text", "number"])
def test_a_long_value_is_cut(value: object) -> None:
    assert len(value_text(Evidence("a.limit_bytes", value, ""))) < 200


def test_a_report_without_findings_is_still_a_report() -> None:
    empty = Report(())
    assert text_report.text(empty, HOST).startswith("0 rules")
    assert "Nothing that could be decided fails." in markdown.text(empty, HOST)
    assert json.loads(json_report.text(empty, HOST))["findings"] == []
