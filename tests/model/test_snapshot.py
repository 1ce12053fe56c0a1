"""A Snapshot keeps its facts through JSON, and keeps to itself what git must not see."""

import json
from typing import Annotated

import pytest

from advisor.errors import SourceError
from advisor.model.facts import Facts, File, HostName, Private, Volatile, evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json, full_json, parse_snapshot


class Disk(Facts):
    name: str
    size_bytes: Annotated[int | None, File("size", scale=512)] = None
    reads: Annotated[int | None, File("stat/reads"), Volatile()] = None
    serial: Annotated[str | None, File("serial"), Private()] = None


class Disks(Facts):
    origin: str = "/sys/block"
    disks: tuple[Disk, ...] | None = None


MODELS = {"disks": Disks}


def snapshot() -> Snapshot:
    disk = Disk(origin="/sys/block/sda", name="sda", size_bytes=4096, reads=7, serial="S3CR3T")
    return Snapshot(
        source=Source(kind="live", root_user=False),
        facts={"disks": Disks(disks=(disk, Disk(origin="/sys/block/sdb", name="sdb")))},
        gaps={"/sys/block/sdb/size": "denied"},
    )


def test_json_round_trip_keeps_facts_and_gaps() -> None:
    read = parse_snapshot(full_json(snapshot()), MODELS, "facts.json")
    section = read.section("disks")
    assert isinstance(section, Disks)
    assert section.disks is not None
    assert section.disks[0] == Disk(origin="/sys/block/sda", name="sda", size_bytes=4096, reads=7)
    assert section.disks[1].size_bytes is None
    assert read.gap("/sys/block/sdb/size") == "denied"
    assert read.source.kind == "facts"


def test_committed_facts_have_no_volatile_and_no_private_values() -> None:
    text = committed_json(snapshot())
    assert "S3CR3T" not in text
    assert '"reads"' not in text
    assert "S3CR3T" not in full_json(snapshot())
    assert text.endswith("}\n")


def test_committed_facts_are_the_same_bytes_each_time() -> None:
    assert committed_json(snapshot()) == committed_json(snapshot())


def test_evidence_is_the_file_below_the_origin_unless_said_otherwise() -> None:
    disk = Disk(origin="/sys/block/sda", name="sda", origins={"serial": "command: nvme id-ctrl"})
    assert evidence_path(disk, "size_bytes") == "/sys/block/sda/size"
    assert evidence_path(disk, "serial") == "command: nvme id-ctrl"
    assert evidence_path(disk, "name") == "/sys/block/sda"


def test_a_gap_of_a_folder_covers_what_lies_below_it() -> None:
    found = Snapshot(source=Source(kind="tree"), facts={}, gaps={"/sys/block": "not captured"})
    assert found.gap("/sys/block/sda/size") == "not captured"
    assert found.gap("/proc/meminfo") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "facts.json:1: not JSON"),
        ("[]", "must hold a JSON object but holds list"),
        ('{"schema_version": 99}', "schema_version must be 1 but is 99"),
        ('{"schema_version": 1, "extra": 1}', "unknown key 'extra'"),
        ('{"schema_version": 1, "facts": []}', "facts must be an object but is list"),
        ('{"schema_version": 1, "facts": {"disk": {}}}', "unknown section 'disk'; known are disks"),
        ('{"schema_version": 1, "facts": {"disks": {"disks": [{"name": 3}]}}}', "disks.0.name"),
        ('{"schema_version": 1, "gaps": {"/x": "gone"}}', "gaps./x"),
        ("[" * 100000, "nested too deep"),
        ('{"schema_version": true}', "schema_version must be 1 but is True"),
        ('{"schema_version": 1, "source": {"kind": "lore"}}', "source.kind: "),
        ('{"schema_version": 1, "facts": {}, "facts": {}}', "the key 'facts' stands twice in one object"),
        ('{"schema_version": 1, "facts": {"disks": {"disks": [{"name": "a", "size_bytes": "1"}]}}}', "got '1'"),
        ('{"schema_version": 1, "facts": {"disks": {"disks": [{"name": "a", "size_bytes": true}]}}}', "got 'True'"),
        ('{"schema_version": 1' + "0" * 5000 + "}", "integer string conversion"),
    ],
    ids=[
        "cut",
        "list",
        "version",
        "key",
        "facts",
        "section",
        "type",
        "gap state",
        "bomb",
        "version true",
        "source",
        "a key twice",
        "number in quotes",
        "true for a number",
        "thousands of digits",
    ],
)
def test_what_is_not_a_snapshot_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse_snapshot(text, MODELS, "facts.json")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("facts.json")


@pytest.mark.parametrize(
    "document",
    [
        {"schema_version": "x" * 100000},
        {"schema_version": 1, "x" * 100000: 1},
        {"schema_version": 1, "facts": {"x" * 100000: 1}},
        {"schema_version": 1, "facts": {"disks": {"x" * 100000: 1}}},
    ],
    ids=["version", "key", "section", "field"],
)
def test_a_long_wrong_value_is_not_repeated_in_full(document: dict[str, object]) -> None:
    with pytest.raises(SourceError) as caught:
        parse_snapshot(json.dumps(document), MODELS, "facts.json")
    assert len(str(caught.value)) < 400


def test_key_order_is_stable() -> None:
    document = json.loads(committed_json(snapshot()))
    assert list(document) == sorted(document)


def test_names_of_fields_stay_when_the_host_is_called_so() -> None:
    class Named(Facts):
        numa_node: int | None = None
        host: Annotated[str | None, HostName()] = None
        point: str = ""

    facts = Named(numa_node=1, host="numa", point="/data/numa-sets")
    text = committed_json(Snapshot(Source(kind="live"), {"mounts": facts}, {"/data/numa-sets": "denied"}))
    assert json.loads(text)["facts"]["mounts"] == {"numa_node": 1, "point": "/data/HOSTNAME-sets"}
    assert json.loads(text)["gaps"] == {"/data/HOSTNAME-sets": "denied"}
