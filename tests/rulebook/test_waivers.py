"""Waivers: what they cover, until when, and what is said of those that expired or cover nothing."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.errors import InputError
from advisor.model.finding import Finding, Report, Verdict
from advisor.rulebook.waivers import parse_waivers, waived
from tests.trees import write_capture

TODAY = date(2027, 3, 1)
ONE = """\
waivers:
  - rule: storage/soft
    scope: /scratch*
    reason: nothing there is kept
    owner: storage-team
    expires: 2027-03-01
"""


def finding(subject: str = "/scratch", verdict: Verdict = "fails") -> Finding:
    return Finding("storage/soft", subject, verdict, "warn", "kernel-doc", "Soft", "it is soft", ())


def judged(report: Report, text: str = ONE, today: date = TODAY) -> Report:
    return waived(report, parse_waivers(text, "w.yaml"), ["storage/soft", "storage/other"], today)


def told(report: Report) -> list[tuple[str, str]]:
    return [(found.rule, found.message) for found in report.findings if found.rule.startswith("waivers/")]


def test_a_covered_finding_stays_and_is_marked() -> None:
    report = judged(Report((finding(), finding("/data"))))
    assert [found.subject for found in report.failing()] == ["/data"]
    assert [(found.subject, found.waiver and found.waiver.where) for found in report.waived()] == [
        ("/scratch", "w.yaml:2")
    ]
    assert told(report) == []


def test_it_counts_to_the_end_of_its_day_and_then_is_a_finding() -> None:
    report = judged(Report((finding(),)), today=TODAY + timedelta(days=1))
    assert [found.rule for found in report.failing()] == ["storage/soft", "waivers/expired"]
    assert told(report) == [("waivers/expired", "the waiver of storage/soft by storage-team ended on 2027-03-01")]


@pytest.mark.parametrize(
    ("verdict", "old", "new", "message"),
    [
        pytest.param("holds", "", "", "storage/soft does not fail for /scratch*, so there is nothing", id="holds"),
        pytest.param(
            *("not-applicable", "/scratch*", '"*"', "storage/soft does not fail, so there is nothing to waive"),
            id="does not apply",
        ),
        pytest.param(
            *("fails", "e/soft", "e/sofd", "there is no rule storage/sofd; did you mean 'storage/soft'?"),
            id="no such rule",
        ),
        pytest.param(
            *("fails", "/scratch*", "/s", "storage/soft does not fail for /s, so there is nothing to waive"),
            id="another subject",
        ),
    ],
)
def test_a_waiver_that_covers_nothing_is_a_finding(verdict: Verdict, old: str, new: str, message: str) -> None:
    report = judged(Report((finding(verdict=verdict),)), ONE.replace(old, new))
    assert [(rule, text[: len(message)]) for rule, text in told(report)] == [("waivers/needless", message)]
    assert report.waived() == ()


def test_what_cannot_be_told_is_neither_waived_nor_needless() -> None:
    report = judged(Report((finding(verdict="unknown"),)))
    assert (report.waived(), told(report)) == ((), [])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("03-01", "02-30", "6:14: expires must be a day as in 2027-06-30 but is", id="no such day"),
        pytest.param("2027-03-01", "never", "6:14: expires must be a day as in 2027-06-30 but", id="no day"),
        pytest.param("    owner: storage-team\n", "", "2:5: waivers.0.owner is missing", id="no owner"),
        pytest.param("owner:", "ownr:", "5:11: unknown key 'ownr'; did you mean 'owner'?", id="misspelt"),
        pytest.param("storage/soft", "Storage", "2:11: waivers.0.rule: String should match", id="no rule's name"),
        pytest.param("nothing there is kept", "x", "4:13: waivers.0.reason: String should have", id="no reason"),
        pytest.param("waivers:", "waivers: {", "2:3: not YAML", id="no yaml"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_waivers(ONE.replace(old, new), "w.yaml")
    assert any(line.startswith(f"w.yaml:{message}") for line in str(caught.value).split("\n")), str(caught.value)


@pytest.fixture
def node(tmp_path: Path) -> str:
    write_capture(tmp_path / "node", {"/proc/self/mountinfo": "36 1 0:25 / /dev/shm rw - tmpfs tmpfs rw,size=64m\n"},
                  statvfs={"/dev/shm": [4096, 16384, 16384, 1000, 1000]})  # fmt: skip
    return str(tmp_path / "node")


WAIVER = ONE.replace("storage/soft", "memory/shm-too-small").replace("    scope: /scratch*\n", "")


def test_check_shows_waived_findings_and_does_not_fail_on_them(
    node: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(WAIVER.replace("2027-03-01", "9999-12-31"))
    assert run(["check", "--root", node, "--quiet"]) == 1
    assert run(["check", "--root", node, "--waivers", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "memory/shm-too-small (critical): /dev/shm holds 64 MiB" in shown
    assert f"waived until 9999-12-31 by storage-team: nothing there is kept [{file}:2]" in shown
    assert "1 waived" in shown


def test_the_file_in_the_working_folder_counts_and_reaches_the_report(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "advisor-waivers.yaml").write_text(WAIVER.replace("2027-03-01", "9999-12-31"))
    assert run(["render", "--root", node, "--out", "out", "--quiet"]) == 0
    report = (tmp_path / "out/report.md").read_text()
    assert (
        "- `memory/shm-too-small` (critical): /dev/shm holds 64 MiB; waived until 9999-12-31 by storage-team" in report
    )


def test_a_file_that_is_wrong_stops_before_the_host_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("waivers: [{rule: a/b}]\n")
    assert run(["check", "--waivers", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"advisor: {file}:1:")
