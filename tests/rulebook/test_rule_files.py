"""Loading rule files: strict YAML, every problem of all files at once with its place, only what lies in the folder."""

import os
from pathlib import Path
from typing import Annotated

import pytest

from advisor.errors import RuleError
from advisor.model.facts import Facts, File, Volatile
from advisor.model.job import Job
from advisor.model.schema import facts_schema
from advisor.rulebook.load import FILE_LIMIT_BYTES, load_rules
from advisor.rulebook.rule import Rule, Sections
from advisor.rulebook.schema import rule_schema
from advisor.rulebook.strict_yaml import DEPTH_LIMIT, parse_yaml


class Disk(Facts):
    name: str
    full: Annotated[bool | None, File("full")] = None
    size: int | None = None
    load: Annotated[int | None, Volatile()] = None


class Disks(Facts):
    disks: tuple[Disk, ...] | None = None


SECTIONS = Sections({"block": Disks}, {"job": Job})
GOOD = """\
title: A disk is full
severity: warn
basis: kernel-doc
each: disk in block.disks
fails: disk.full
says: "{disk.name} is full"
why: Nothing more can be written.
fix: Delete something.
sources: ["man 1 rm"]
set:
  - {target: sysctl, key: "vm.{disk.name}", value: 1}
examples:
  - {name: full, facts: {block: {disks: [{name: sda, full: true}]}}, expect: fails}
  - {name: room, facts: {block: {disks: [{name: sda, full: false}]}}, expect: holds}
  - {name: no say, facts: {block: {disks: [{name: sda}]}}, expect: unknown}
"""


def load(folder: Path, text: str, name: str = "storage/disk-full.yaml") -> tuple[Rule, ...]:
    path = folder / "rules" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return load_rules([folder / "rules"], SECTIONS, ("sysctl", "env"))


def problems(folder: Path, text: str, name: str = "storage/disk-full.yaml") -> list[str]:
    with pytest.raises(RuleError) as refused:
        load(folder, text, name)
    return [line.removeprefix(f"{folder}/rules/") for line in str(refused.value).split("\n")]


def test_a_rule_is_named_by_its_folder_and_file(tmp_path: Path) -> None:
    assert [rule.id for rule in load(tmp_path, GOOD)] == ["storage/disk-full"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("severity: warn", "severity: hot", ":2:11: severity: Input should be 'critical', 'warn' or 'info', got 'hot'"),
        ("why:", "whi:", ":7:6: unknown key 'whi'; did you mean 'why'?"),
        ("why: Nothing more can be written.\n", "", ":1:1: 'why' is missing"),
        ("basis: kernel-doc", "basis: field-report", ":1:1: a rule on the basis of a field-report is never above"),
        ("severity: warn", "severity: warn\nunverified: true", ":1:1: an unverified rule is never above severity info"),
        ("expect: unknown", "expect: holds", ":1:1: there must be an example of each of fails, holds, unknown"),
        ('["man 1 rm"]', "[]", ":9:10: sources: List should have at least 1 item"),
        ("title: A", "title: A\ntitle: A", ":2:1: duplicate key 'title' (first on line 1)"),
        ("severity: warn", "severity: &x warn", ":2:11: anchors and aliases are not allowed"),
        ("severity: warn", "severity: !!str warn", ":2:11: the tag 'tag:yaml.org,2002:str' is not allowed"),
        ("fails: disk.full", "fails: disk.ful", ":5:13: Disk has no field 'ful'; did you mean 'full'?"),
        ("fails: disk.full", 'fails: "disk.ful"', ":5:14: Disk has no field 'ful'"),
        ("fails: disk.full", "fails: disk.size", ":5:8: it must be true or false but is a whole number"),
        ("fails: disk.full", "only: disk.size > ''\nfails: disk.full", ":5:7: a whole number cannot be compared with"),
        ("fails: disk.full", "fails: true", ":5:8: fails: Input should be a valid string, got 'True'"),
        ("{disk.name} is", "{disk.nam} is", ":6:14: Disk has no field 'nam'"),
        ("{disk.name} is", "{disk.name:bites} is", ":6:19: there is no format 'bites'"),
        ("{disk.name} is", "{disk.name is", ":6:8: this '{' is not closed"),
        ("{disk.name} is", "[[{disk.name} is", ":6:8: this '[[' is not closed"),
        ("{disk.name} is", "[[{disk.name]] is", ":6:10: this '{' is not closed"),
        ("{disk.name} is", "{disk} is", ":6:9: Disk cannot be printed"),
        ("each: disk in block.disks", "each: disk block.disks", ":4:7: it must be 'name in list'"),
        ("each: disk in block.disks", "each: disk in block.discs", ":4:21: Disks has no field 'discs'; did you mean"),
        ("each: disk in block.disks", "each: block in block.disks", ":4:7: 'block' is a section"),
        ("each: disk in block.disks", "each: disk in block", ":4:15: it must run over a list but this is Disks"),
        ("target: sysctl", "target: sysctrl", ":11:14: there is no target 'sysctrl'; did you mean 'sysctl'?"),
        ("value: 1", "value: disk", ":11:52: a setting's value must be a number, text"),
        ("value: 1", "value: disk.size +", ":11:"),
        ("value: 1", "value: [1]", ":11:52: set.0.value: Input should be a valid"),
        ("value: 1", "value: 1, each: disk.size", ":11:61: it must be 'name in list'"),
        ("value: 1", "value: 1, each: block in block.disks", ":11:61: 'block' is a section"),
        ("value: 1", "value: 1, each: n in disk.size", ":11:66: it must run over a list but this is a whole number"),
        ("value: 1", "value: 1, only: disk.size", ":11:61: it must be true or false but is a whole number"),
        ("value: 1", "value: 1, only: disk.load > 1", ":11:5: a setting must not rest on a fact that changes"),
        ("value: 1", "value: n", ":11:52: nothing is called 'n' here"),
        ("fails: disk.full", "fails: disk.load > 1", ":11:5: a setting must not rest on a fact that changes by itself"),
        ("is full\"", "is full, {disk.load}\"", ":6:8: the message prints a fact that changes by itself"),
        ("{name: sda, full: true}", "{name: sda, full: 1}", ":13:60: disks.0.full: Input should be a valid boolean"),
        ("{name: sda, full: true}", "{full: true}", ":13:42: disks.0.name: Field required"),
        ("{block: {disks: [{name: sda, full: true}]}}", "{blocks: {}}", ":13:26: there is no section 'blocks'"),
        ("expect: fails", "expect: failed", ":13:78: examples.0.expect: Input should be 'fails'"),
        ("expect: fails", "gaps: {/x: gone}, expect: fails", ":13:81: examples.0.gaps./x: Input should be 'absent'"),
        ("expect: fails", "job: {rank: 1}, expect: fails", ":13:82: 'rank' is no fact; did you mean 'ranks'?"),
        ("title: A", "  title: A", ":2:1: not YAML"),
        ("A disk is full", '"a\\x1b[2J"', ""),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_line_and_column(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    if not message:
        # A control character in a rule's own words is let in and shown escaped by every report.
        assert load(tmp_path, GOOD.replace(old, new))[0].file.title == "a\x1b[2J"
        return
    found = problems(tmp_path, GOOD.replace(old, new, 1))
    assert any(line.startswith(f"storage/disk-full.yaml{message}") for line in found), found


def test_the_place_in_an_expression_is_shown_below_it(tmp_path: Path) -> None:
    found = problems(tmp_path, GOOD.replace("fails: disk.full", "fails: >-\n  disk.full\n  and disk.ful"))
    assert found == [
        "storage/disk-full.yaml:5:8: Disk has no field 'ful'; did you mean 'full'?",
        "    disk.full and disk.ful",
        "                       ^",
    ]


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    load(tmp_path, GOOD, "a/fine.yaml")
    two = GOOD.replace("disk.full", "disk.ful").replace('"{disk.name} is full"', '"{disk.nam}"')
    with pytest.raises(RuleError):
        load(tmp_path, two, "b/two.yaml")
    found = [line for line in problems(tmp_path, "a: [", "c/broken.yaml") if not line.startswith("    ")]
    assert [line.split(" ")[0] for line in found] == ["b/two.yaml:5:13:", "b/two.yaml:6:14:", "c/broken.yaml:2:1:"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("flat.yaml", "flat.yaml: a rule lies one folder down"),
        ("storage/Disk_Full.yaml", "storage/Disk_Full.yaml: area and name must be small letters"),
        ("storage/disk-full.yml", "storage/disk-full.yml: area and name must be small letters"),
        ("STORAGE/disk-full.yaml", "STORAGE/disk-full.yaml: area and name"),
        ("storage/deep/disk-full.yaml", "storage/deep: a rule lies in <area>/, not deeper"),
    ],
)
def test_a_misplaced_file_is_refused(tmp_path: Path, name: str, message: str) -> None:
    assert problems(tmp_path, GOOD, name)[0].startswith(message)


@pytest.mark.parametrize("name", ["storage/README.md", ".git/x.yaml", "storage/.x.yaml", "README.md"])
def test_other_files_are_no_rules(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, "not: [a rule", name) == ()


@pytest.mark.parametrize("name", ["storage", "storage/linked.yaml"])
def test_a_link_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "rule.yaml").write_text(GOOD)
    link = tmp_path / "rules" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / ("away" if name == "storage" else "away/rule.yaml"))
    with pytest.raises(RuleError, match="the link leads out of the folder of rules"):
        load_rules([tmp_path / "rules"], SECTIONS, ("sysctl",))


@pytest.mark.parametrize("target", ["storage", "gone"], ids=["to itself", "to nothing"])
def test_an_area_that_is_a_link_to_nowhere_does_not_lose_its_rules_silently(tmp_path: Path, target: str) -> None:
    (tmp_path / "storage").symlink_to(target)
    with pytest.raises(RuleError, match="storage: the link leads nowhere"):
        load_rules([tmp_path], SECTIONS, ("sysctl", "env"))


def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    load(tmp_path, GOOD, "..data/disk-full.yaml")
    (tmp_path / "rules" / "storage").mkdir()
    (tmp_path / "rules" / "storage" / "disk-full.yaml").symlink_to("../..data/disk-full.yaml")
    assert [rule.id for rule in load_rules([tmp_path / "rules"], SECTIONS, ("sysctl",))] == ["storage/disk-full"]


def test_a_name_may_be_used_once(tmp_path: Path) -> None:
    load(tmp_path, GOOD)
    load(tmp_path / "site", GOOD)
    with pytest.raises(RuleError, match="there is a rule storage/disk-full already"):
        load_rules([tmp_path / "rules", tmp_path / "site" / "rules"], SECTIONS, ("sysctl",))


@pytest.mark.parametrize("kind", ["missing", "fifo", "large", "bytes"])
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rules" / "storage" / "x.yaml"
    path.parent.mkdir(parents=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "large":
        path.write_text("#" * (FILE_LIMIT_BYTES + 1))
    elif kind == "bytes":
        path.write_bytes(b"title: \xff")
    folder = tmp_path / ("nowhere" if kind == "missing" else "rules")
    with pytest.raises(RuleError) as refused:
        load_rules([folder], SECTIONS, ("sysctl",))
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("no", "no"), ("on", "on"), ("Yes", "Yes"), ("True", "True"), ("0755", "0755"), ("0x1f", "0x1f")),
        *(("0o17", "0o17"), ("12:30:00", "12:30:00"), ("2024-01-01", "2024-01-01"), ("1_000", "1_000")),
        *((".inf", ".inf"), ("<<", "<<"), ("=", "="), ("true", True), ("false", False), ("null", None), ("~", None)),
        *(("", None), ("15", 15), ("-3", -3), ("1.5", 1.5), ("1e3", 1000.0), ('"5"', "5"), ("0", 0)),
    ],
)
def test_nothing_in_yaml_is_a_surprise(text: str, value: object) -> None:
    document = parse_yaml(f"key: {text}")
    assert document.problems == ()
    assert document.data == {"key": value}
    assert type(document.data["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: " + "[" * (DEPTH_LIMIT + 1), "nested deeper"),
        ("1: a", "a key must be text"),
        ("true: a", "a key must be text"),
        ("[a]: b", "a key must be text"),
        ("a: 1\n---\nb: 2", "another document"),
        ("a: *b", "anchors and aliases"),
        ("a: !!python/object/apply:os.system [id]", "the tag"),
        ("a: !!timestamp 2024-01-01", "the tag"),
        ("a: \x00", "not YAML"),
        ("", "the file is empty"),
        ("a: 'b", "not YAML"),
    ],
)
def test_yaml_that_could_surprise_is_refused(text: str, message: str) -> None:
    assert [message in problem.message for problem in parse_yaml(text).problems] == [True]


def test_a_thousand_problems_are_not_all_printed(tmp_path: Path) -> None:
    examples = "\n".join(f"  - {{name: x, facts: {{nowhere{n}: {{}}}}, expect: fails}}" for n in range(1000))
    found = problems(tmp_path, GOOD + examples)
    assert len(found) == 201
    assert found[-1] == "... and 800 more problems"


def test_the_schemas_name_every_key_and_fact() -> None:
    rule = rule_schema()
    assert {"title", "each", "fails", "set", "examples"} <= set(rule["properties"])
    assert rule["additionalProperties"] is False
    facts = facts_schema(SECTIONS.probed)
    assert list(facts["properties"]["facts"]["properties"]) == ["block"]
    assert "load" in facts["$defs"]["Disk"]["properties"]
