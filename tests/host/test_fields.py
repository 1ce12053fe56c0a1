"""A field's declaration is its reading: values, units, words that mean "not known", and what does not parse."""

import json
from pathlib import Path
from typing import Annotated

import pytest

from advisor.host.fields import parse_value, read_fields
from advisor.host.tree import Tree
from advisor.model.facts import Facts, File, evidence_path


class Interface(Facts):
    """A network interface."""

    name: str
    mtu: Annotated[int | None, File("mtu")] = None
    speed_mbps: Annotated[int | None, File("speed", unknown=("-1",))] = None
    read_ahead_bytes: Annotated[int | None, File("read_ahead_kb", scale=1024)] = None
    scheduler: Annotated[str | None, File("scheduler", bracketed=True)] = None
    cpus: Annotated[tuple[int, ...] | None, File("cpus")] = None


@pytest.fixture
def host(tmp_path: Path) -> Tree:
    folder = tmp_path / "sys/eth0"
    folder.mkdir(parents=True)
    texts = {"mtu": "9000\n", "speed": "-1\n", "read_ahead_kb": "128\n", "scheduler": "none [mq-deadline] bfq\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return Tree.in_folder(tmp_path)


def test_each_field_is_read_from_its_file(host: Tree) -> None:
    facts = read_fields(host, Interface, "/sys/eth0", name="eth0")
    assert facts == Interface(
        origin="/sys/eth0", name="eth0", mtu=9000, read_ahead_bytes=131072, scheduler="mq-deadline"
    )
    assert evidence_path(facts, "mtu") == "/sys/eth0/mtu"


def test_what_is_not_known_has_its_gap(host: Tree) -> None:
    read_fields(host, Interface, "/sys/eth0", name="eth0")
    assert host.gaps == {"/sys/eth0/speed": "unsupported", "/sys/eth0/cpus": "not captured"}


def test_what_does_not_parse_is_unsupported(host: Tree, tmp_path: Path) -> None:
    (tmp_path / "sys/eth0/mtu").write_text("many\n")
    assert read_fields(host, Interface, "/sys/eth0", name="eth0").mtu is None
    assert host.gaps["/sys/eth0/mtu"] == "unsupported"


def test_a_given_value_wins_over_the_file(host: Tree) -> None:
    assert read_fields(host, Interface, "/sys/eth0", name="eth0", mtu=1).mtu == 1


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", int, 12),
        ("0x10de", int, 0x10DE),
        ("-3", int, -3),
        ("Y", bool, True),
        ("0", bool, False),
        ("maybe", bool, None),
        ("1.5", float, 1.5),
        ("4096 131072 6291456", tuple, (4096, 131072, 6291456)),
        ("", int, None),
        ("", str, ""),
    ],
)
def test_texts_become_values(text: str, kind: type, value: object) -> None:
    assert parse_value(text, File("x"), kind) == value


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("many", int),
        ("1 2", int),
        ("9" * 5000, int),
        ("9" * 40, int),
        ("1 " + "9" * 40, tuple),
        ("nan", float),
        ("inf", float),
        ("1 x", tuple),
    ],
)
def test_other_texts_are_no_values(text: str, kind: type) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_value(text, File("x"), kind)


def test_every_name_and_text_fits_into_json(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys/model").write_bytes(b"disk\xff\n\0\0")
    host = Tree.in_folder(tmp_path)
    assert json.loads(json.dumps(host.text("/sys/model"))) == "disk\ufffd"
