"""LVM's volumes as lvs reports them."""

import json
from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._lvm import LVS, LVS_ORIGIN, mapper_name, parse_volumes
from advisor.probes.block import read
from tests.trees import write_capture

DM = "/sys/block/dm-0/dm"
ROW = {
    "lv_name": "data",
    "vg_name": "my-vg",
    "segtype": "striped",
    "stripes": "4",
    "stripe_size": "65536",
    "lv_attr": "-wi-ao----",
}
FILES = {f"{DM}/name": "my--vg-data\n", f"{DM}/uuid": "LVM-Rkq7\n"}


def report(*rows: object) -> str:
    return json.dumps({"report": [{"lv": rows}]})


def test_root_is_told_how_a_volume_is_laid_out(tmp_path: Path) -> None:
    host = write_capture(tmp_path, FILES, outputs={LVS: report(ROW)})
    host.root_user = True
    block = read(host)
    assert block.lvm is not None
    (volume,) = block.lvm
    assert (volume.group, volume.name, volume.device) == ("my-vg", "data", "dm-0")
    assert (volume.segment_type, volume.stripes, volume.stripe_bytes) == ("striped", 4, 65536)
    assert evidence_path(volume, "stripes") == LVS_ORIGIN


def test_without_root_it_is_not_known(tmp_path: Path) -> None:
    host = write_capture(tmp_path, FILES)
    assert read(host).lvm is None
    assert host.gaps[LVS_ORIGIN] == "denied"


def test_lvs_is_not_asked_where_nothing_is_of_lvm(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {f"{DM}/name": "crypt\n", f"{DM}/uuid": "CRYPT-LUKS2-0a\n"})
    assert read(host).lvm == ()
    assert LVS_ORIGIN not in host.gaps


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", "{}", '{"report": 3}', '{"report": [3]}', '{"report": [{"lv": 1}]}']
)
def test_what_is_no_report_tells_nothing(text: str, tmp_path: Path) -> None:
    assert parse_volumes(text, {}) is None
    host = write_capture(tmp_path, FILES, outputs={LVS: text})
    host.root_user = True
    assert read(host).lvm is None
    assert host.gaps[LVS_ORIGIN] == "unsupported"


@pytest.mark.parametrize("row", [3, None, {}, {"lv_name": "a", "stripes": "x", "stripe_size": [], "segtype": ""}])
def test_odd_rows_invent_nothing(row: object) -> None:
    assert all((v.stripes, v.stripe_bytes) == (None, None) for v in parse_volumes(report(row), {}) or ())


def test_dashes_are_doubled_in_mapper_names() -> None:
    assert mapper_name("a-b", "c-d") == "a--b-c--d"
