"""What authorities disagree about, through the commands: told by itself, never a failure, never set."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._rules import loaded
from tests.trees import write_tree

RULE = "numa/zone-reclaim-on"
FILES = {
    "/proc/sys/vm/zone_reclaim_mode": "1\n",
    **{f"/sys/devices/system/node/node{n}/cpulist": f"{n}\n" for n in (0, 1)},
    **{f"/sys/devices/system/node/node{n}/meminfo": f"Node {n} MemTotal: 1000000 kB\n" for n in (0, 1)},
}


@pytest.fixture
def root(tmp_path: Path) -> str:
    write_tree(tmp_path / "machine", FILES)
    return str(tmp_path / "machine")


@pytest.mark.parametrize("fail_on", ["critical", "warn", "info"])
def test_check_tells_it_and_does_not_fail_for_it(root: str, fail_on: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", root, "--fail-on", fail_on]) == 0
    shown = capsys.readouterr().out
    assert f"DISPUTED  {RULE}  (authorities disagree)" in shown
    assert "one says: 1 [TuneD, profiles/hpc-compute/tuned.conf" in shown
    assert "1 disputed; " in shown


def test_nothing_is_generated_for_it(root: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["render", "--quiet", "--root", root, "--out", str(out)]) == 0
    assert "## Authorities disagree" in (out / "report.md").read_text()
    generated = [
        path for path in out.rglob("*") if path.is_file() and path.relative_to(out).parts[0] in ("host", "job")
    ]
    assert not any("zone_reclaim" in path.read_text() for path in generated)


def test_explain_shows_all_positions(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", RULE, "--root", root]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{RULE}  (disputed, kernel-doc)\n")
    assert shown.count("one says: ") == shown.count("right when: ") == 2
    assert (
        "\n      right when: the job reads files again that the page cache could hold, in\n        every epoch\n"
        in shown
    )
    assert "  Measure it: " in shown
    assert "  Fix: " not in shown
    assert "  On this host:\n  DISPUTED\n" in shown


def test_explain_tells_a_program(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", RULE, "--root", root, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [sorted(one) for one in document["rules"][0]["positions"]] == [["decides", "says", "source"]] * 2


def test_the_list_names_it_as_disputed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if f" {RULE} " in line] == ["disputed"]


def test_shipped_rules_set_nothing_that_another_calls_disputed() -> None:
    """What authorities disagree about in general may be clear in a case of its own, and only there be set."""
    disputed = {rule.id for rule in loaded() if rule.file.positions}
    assert {"memory/thp-never", "memory/dirty-limit-during-stalls", "network/bbr-without-fq", RULE} <= disputed
    setting = {entry.key for rule in loaded() for entry in rule.file.settings}
    assert setting.isdisjoint({"vm.zone_reclaim_mode", "vm.min_free_kbytes", "vm.dirty_ratio", "vm.dirty_bytes"})
    assert setting.isdisjoint({"net.core.busy_poll", "net.core.busy_read", "net.ipv4.tcp_congestion_control"})
