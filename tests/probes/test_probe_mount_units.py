"""systemd's mount units."""

from pathlib import Path

from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._mount_units import parse_unit
from advisor.probes.mounts import Mounts, read
from tests.trees import write_capture, write_link, write_tree

ETC, LIB = "/etc/systemd/system", "/usr/lib/systemd/system"
DATA = "[Unit]\nWhat=no\n[Mount]\nWhat=filer.example:/export\nWhere=/data\nType=nfs\nOptions=ro,\\\nnconnect=8\n"


def test_units_are_read_in_their_precedence(tmp_path: Path) -> None:
    files = {
        f"{ETC}/data.mount": DATA,
        f"{LIB}/data.mount": "[Mount]\nWhat=/dev/sdz\nWhere=/data\nType=xfs\n",
        f"{LIB}/dev-hugepages.mount": "[Mount]\nWhat=hugetlbfs\nWhere=/dev/hugepages\nType=hugetlbfs\n",
        f"{LIB}/tmp.mount": "[Mount]\nWhat=tmpfs\nWhere=/tmp\nType=tmpfs\nOptions=mode=1777,size=50%\n",
        f"{ETC}/off.mount": "",
        f"{ETC}/x.service": "[Mount]\nWhere=/x\n",
    }
    units = read(write_tree(tmp_path, files)).units
    assert units is not None
    assert [(unit.name, unit.point, unit.fstype, unit.kind) for unit in units] == [
        ("data.mount", "/data", "nfs", "network"),
        ("off.mount", None, None, None),
        ("tmp.mount", "/tmp", "tmpfs", "memory"),
    ]
    data, off, _ = units
    assert (data.remote, data.source, data.options) == ("filer.example:/export", None, {"ro": "", "nconnect": "8"})
    assert data.origin == f"{ETC}/data.mount"
    assert (data.masked, off.masked) == (False, True)


def test_of_a_unit_that_cannot_be_read_nothing_is_told(tmp_path: Path) -> None:
    """A folder in its place: there is something, and no text of it."""
    units = read(write_tree(tmp_path, {f"{ETC}/data.mount/": ""})).units
    assert units is not None
    assert [(unit.name, unit.masked, unit.point) for unit in units] == [("data.mount", None, None)]


def test_a_unit_that_leads_to_dev_null_is_masked(tmp_path: Path) -> None:
    write_tree(tmp_path, {f"{ETC}/": "", "/dev/null": ""})
    write_link(tmp_path, f"{ETC}/tmp.mount", "/dev/null")
    units = read(write_tree(tmp_path, {})).units
    assert units is not None
    assert [(unit.name, unit.masked) for unit in units] == [("tmp.mount", True)]


def test_without_systemd_there_are_none_and_in_a_bare_tree_it_is_not_known(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "a", {})).units == ()
    host = write_tree(tmp_path / "b", {"/etc/fstab": ""})
    assert read(host).units is None
    assert host.gaps[ETC] == "not captured"


def test_servers_and_credentials_stay_out_of_committed_files(tmp_path: Path) -> None:
    unit = "[Mount]\nWhat=//filer.example/share\nWhere=/s\nType=cifs\nOptions=username=ann,password=tiger,ro\n"
    facts = read(write_tree(tmp_path, {f"{ETC}/s.mount": unit}))
    text = committed_json(Snapshot(Source(kind="tree"), {"mounts": facts}, {}))
    assert isinstance(facts, Mounts)
    assert not any(word in text for word in ("filer", "ann", "tiger"))


def test_only_the_section_of_mounts_counts_and_its_last_line() -> None:
    text = "Where=/a\n[Mount]\n# Where=/b\n;x=1\nWhere=/c\nWhere = /d\nOptions=\nnonsense\n[Install]\nWhere=/e\n"
    assert parse_unit(text) == {"Where": "/d"}
