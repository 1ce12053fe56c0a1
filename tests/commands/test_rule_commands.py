"""``check``, ``explain`` and ``rules`` whole: arguments in; output, exit status out."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.data import rules_folder
from tests.trees import write_tree

RULE = """\
title: A test machine swaps
severity: {severity}
basis: kernel-doc
fails: sysctl.vm_swappiness > 10
says: "vm.swappiness is {{sysctl.vm_swappiness}}"
why: It is a test.
fix: Set it to 10.
sources: ["a page"]
set: [{{target: sysctl, key: vm.swappiness, value: 10}}]
examples:
  - {{name: much, facts: {{sysctl: {{vm_swappiness: 60}}}}, expect: fails}}
  - {{name: little, facts: {{sysctl: {{vm_swappiness: 10}}}}, expect: {little}}}
  - {{name: no say, facts: {{}}, expect: unknown}}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return write(tmp_path, "critical")


def write(folder: Path, severity: str, little: str = "holds") -> Path:
    path = folder / "rules" / "site" / "test-swappiness.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULE.format(severity=severity, little=little))
    return folder / "rules"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "machine" / "proc" / "sys" / "vm" / "swappiness"
    path.parent.mkdir(parents=True)
    path.write_text("60\n")
    return tmp_path / "machine"


def test_check_reports_a_captured_machine(site: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", str(root), "--rules", str(site)]) == 1
    shown = capsys.readouterr().out
    assert "CRITICAL  site/test-swappiness" in shown
    assert "seen: sysctl.vm_swappiness = 60 [/proc/sys/vm/swappiness]" in shown
    assert "set: sysctl:vm.swappiness = 10" in shown
    assert "to settle:" in shown


@pytest.mark.parametrize(
    ("severity", "fail_on", "status"),
    [
        ("critical", "critical", 1),
        ("critical", "info", 1),
        ("critical", "never", 0),
        ("warn", "critical", 0),
        ("warn", "warn", 1),
        ("info", "warn", 0),
        ("info", "info", 1),
    ],
)
def test_the_status_follows_fail_on(tmp_path: Path, root: Path, severity: str, fail_on: str, status: int) -> None:
    site = write(tmp_path, severity)
    assert run(["check", "--quiet", "--root", str(root), "--rules", str(site), "--fail-on", fail_on]) == status


def test_quiet_prints_nothing(site: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--quiet", "--root", str(root), "--rules", str(site)])
    assert capsys.readouterr() == ("", "")


def test_check_speaks_json_and_markdown(site: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--root", str(root), "--rules", str(site), "--format", "json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [f["message"] for f in findings if f["rule"] == "site/test-swappiness"] == ["vm.swappiness is 60"]
    run(["check", "--root", str(root), "--rules", str(site), "--format", "markdown"])
    assert "### A test machine swaps" in capsys.readouterr().out


def test_check_reads_the_facts_of_an_earlier_run(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps({"schema_version": 1, "facts": {"sysctl": {"vm_swappiness": 5}}}))
    assert run(["check", "--facts", str(facts), "--rules", str(site), "--format", "json"]) == 0
    found = {f["rule"]: f["verdict"] for f in json.loads(capsys.readouterr().out)["findings"]}
    assert found["site/test-swappiness"] == "holds"
    assert found["memory/shm-too-small"] == "unknown"


def test_a_rule_that_cannot_be_computed_is_told_with_status_3(
    site: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = site / "site" / "test-swappiness.yaml"
    path.write_text(path.read_text().replace("> 10", "> 10 / (sysctl.vm_swappiness - 60)"))
    assert run(["check", "--root", str(root), "--rules", str(site)]) == 3
    assert "advisor: rule site/test-swappiness cannot be computed: division by zero" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["check"], ["explain", "x"], ["rules", "list"]], ids=lambda c: c[0])
def test_a_wrong_rule_stops_before_anything_is_read(
    site: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = site / "site" / "test-swappiness.yaml"
    path.write_text(path.read_text().replace("fails: sysctl.vm_swappiness", "fails: sysctl.vm_swapiness"))
    assert run([*command, "--rules", str(site)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{path}:4:15: Sysctl has no field 'vm_swapiness'; did you mean 'vm_swappiness'?" in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--facts", "/nowhere/facts.json"],
        ["check", "--root", "/nowhere"],
        ["check", "--root", "/", "--facts", "x"],
        ["check", "--rules", "/nowhere"],
        ["check", "--fail-on", "sometimes"],
        ["check", "--format", "xml"],
        ["check", "--ranks", "0"],
        ["explain", "memory/swappines", "--facts", "{facts}"],
        ["rules", "test", "/nowhere"],
    ],
    ids=" ".join,
)
def test_wrong_input_is_told_with_status_2(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([a.format(facts=tmp_path / "facts.json") for a in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err


@pytest.mark.parametrize("name", ["site/test-swappiness", "test-swappiness"])
def test_explain_shows_a_rule_with_this_hosts_values(
    name: str, site: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", name, "--root", str(root), "--rules", str(site)]) == 0
    shown = capsys.readouterr().out
    for part in (
        "site/test-swappiness  (critical, kernel-doc)",
        "fails when: sysctl.vm_swappiness > 10",
        "Why: It is a test.",
        "Fix: Set it to 10.",
        "Sets: sysctl:vm.swappiness = 10 (risk low, now)",
        "Source: a page",
        "FAILS",
        "vm.swappiness is 60",
        "seen: sysctl.vm_swappiness = 60 [/proc/sys/vm/swappiness]",
    ):
        assert part in shown, part


@pytest.mark.parametrize("name", ["vm.swappiness", "sysctl:vm.swappiness"])
def test_explain_shows_a_key_and_every_rule_that_sets_it(
    name: str, site: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", name, "--root", str(root), "--rules", str(site), "--format", "json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["key"] == {
        "target": "sysctl",
        "name": "vm.swappiness",
        "seen": "60",
        "path": "/proc/sys/vm/swappiness",
        "note": "",
        "setters": [],
        "wins": None,
        "drifted": None,
        "exists": None,
    }
    assert "site/test-swappiness" in [rule["id"] for rule in page["rules"]]


def test_explain_tells_who_sets_a_key_and_who_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "/proc/sys/vm/swappiness": "60\n",
        "/usr/lib/sysctl.d/10-x.conf": "vm.swappiness=30\n",
        "/etc/sysctl.d/50-\x1b[31m.conf": "# x\nvm.swappiness=1\n",
    }
    write_tree(tmp_path, files)
    assert run(["explain", "vm.swappiness", "--root", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "  /usr/lib/sysctl.d/10-x.conf:1 sets 30\n" in shown
    assert ".conf:2 sets 1, wins\nThe value in force is another one" in shown
    assert "\x1b" not in shown
    run(["explain", "sysctl:vm.swappiness", "--root", str(tmp_path), "--format", "json"])
    key = json.loads(capsys.readouterr().out)["key"]
    assert (key["wins"], key["drifted"], [one["value"] for one in key["setters"]]) == (1, True, ["30", "1"])


@pytest.mark.parametrize("name", ["nvme.io_queue_depth", "modprobe:nvme.io_queue_depth"])
def test_explain_takes_a_key_that_no_rule_but_this_host_sets(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tmp_path, {"/etc/modprobe.d/a.conf": "options nvme io_queue_depth=512\n"})
    assert run(["explain", name, "--root", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "  /etc/modprobe.d/a.conf:1 sets 512, wins\n" in shown
    assert "No rule of advisor sets it." in shown


def test_an_unknown_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "vm.swapiness"]) == 2
    assert "did you mean 'vm.swappiness'?" in capsys.readouterr().err


def test_rules_list_names_every_rule(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list", "--rules", str(site)]) == 0
    lines = capsys.readouterr().out.splitlines()
    shipped = sorted(f"{p.parent.name}/{p.stem}" for p in rules_folder().glob("*/*.yaml"))
    assert [line.split()[1] for line in lines] == sorted([*shipped, "site/test-swappiness"])
    run(["rules", "list", "--format", "json"])
    assert [rule["id"] for rule in json.loads(capsys.readouterr().out)["rules"]] == shipped


def test_rules_test_says_which_example_fails_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", str(write(tmp_path, "warn"))]) == 0
    assert capsys.readouterr().out == "rules: 1, examples: 3, differences: 0\n"
    path = tmp_path / "rules" / "site" / "test-swappiness.yaml"
    path.write_text(path.read_text().replace("vm_swappiness: 10", "vm_swappiness: 11"))
    assert run(["rules", "test", str(tmp_path / "rules")]) == 1
    assert "example 'little': must be holds but is fails; looked at sysctl.vm_swappiness=11" in capsys.readouterr().out


def test_the_rules_of_a_site_must_have_names_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = next(rules_folder().glob("*/*.yaml"))
    copy = tmp_path / "rules" / shipped.parent.name / shipped.name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(shipped.read_bytes())
    assert run(["rules", "test", str(tmp_path / "rules")]) == 2
    assert f"there is a rule {shipped.parent.name}/{shipped.stem} already" in capsys.readouterr().err


def test_a_folder_without_rules_is_no_passed_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no rule: nothing was tested" in said.err
