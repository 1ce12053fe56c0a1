"""A rule about what authorities disagree about: what its file must hold, and what becomes of its failures."""

from pathlib import Path

import pytest

from advisor.errors import RuleError
from advisor.model.finding import Position
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.sysctl import Sysctl
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.load import load_rules
from advisor.rulebook.rule import Rule, Sections

GOOD = """\
title: A switch is on
severity: info
basis: kernel-doc
fails: sysctl.vm_zone_reclaim_mode == 1
says: "the switch is {sysctl.vm_zone_reclaim_mode}"
why: It costs and it helps.
fix: Run both and compare.
sources: ["a page"]
positions:
  - {says: "on", source: page one, decides: data is read once}
  - {says: "off", source: page two, decides: data is read again}
examples:
  - {name: "on", facts: {sysctl: {vm_zone_reclaim_mode: 1}}, expect: fails}
  - {name: "off", facts: {sysctl: {vm_zone_reclaim_mode: 0}}, expect: holds}
  - {name: no say, facts: {}, expect: unknown}
"""
SECTIONS = Sections({"sysctl": Sysctl})


def load(folder: Path, text: str) -> Rule:
    path = folder / "rules" / "memory" / "switch-on.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    (rule,) = load_rules([folder / "rules"], SECTIONS, ("sysctl",))
    return rule


@pytest.mark.parametrize(("value", "verdict"), [(1, "fails"), (0, "holds")])
def test_its_findings_carry_the_positions(tmp_path: Path, value: int, verdict: str) -> None:
    snapshot = Snapshot(Source(kind="live"), {"sysctl": Sysctl(vm_zone_reclaim_mode=value)}, {})
    (finding,) = evaluate([load(tmp_path, GOOD)], snapshot).findings
    assert (finding.verdict, finding.disputed, finding.weight) == (verdict, True, "disputed")
    assert finding.positions == (
        Position("on", "page one", "data is read once"),
        Position("off", "page two", "data is read again"),
    )


SECOND = '  - {says: "off", source: page two, decides: data is read again}\n'
SETTING = "set: [{target: sysctl, key: vm.zone_reclaim_mode, value: 0}]\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (SECOND, "", ":10:3: one position is no disagreement: give two or more, or say it under 'why'"),
        ('says: "off"', 'says: "on"', ":10:3: two positions say the same: put their sources into one"),
        ("severity: info", "severity: warn", ":1:1: what authorities disagree about is never above severity info"),
        ("severity: info", "severity: critical", ":1:1: what authorities disagree about is never above severity info"),
        ("examples:", f"{SETTING}examples:", ":1:1: nothing is set where authorities disagree: a measurement decides"),
        (", decides: data is read again", "", ":11:5: 'positions.1.decides' is missing"),
        ("source: page two", "sauce: page two", "unknown key 'positions.1.sauce'; did you mean 'source'?"),
        ("source: page two", 'source: ""', ":11:28: positions.1.source: String should have at least 1 character"),
        ("positions:", "disagree:", ":10:3: unknown key 'disagree'"),
    ],
    ids=["one", "same", "warn", "critical", "set", "no decides", "misspelt", "empty", "old key"],
)
def test_what_is_no_disagreement_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(RuleError) as refused:
        load(tmp_path, GOOD.replace(old, new))
    assert message in str(refused.value)
