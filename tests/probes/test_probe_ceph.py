"""Ceph's storage daemons."""

from pathlib import Path

from advisor.model.facts import evidence_path
from advisor.probes.ceph import ORIGIN, read
from tests.trees import write_capture, write_tree


def test_each_daemon_tells_how_it_keeps_its_data(tmp_path: Path) -> None:
    files = {
        f"{ORIGIN}/ceph-3/type": "filestore\n",
        f"{ORIGIN}/ceph-12/type": "bluestore\n",
        f"{ORIGIN}/lost+found/": "",
    }
    osds = read(write_tree(tmp_path, files)).osds or ()
    assert [(one.name, one.store) for one in osds] == [("ceph-12", "bluestore"), ("ceph-3", "filestore")]
    assert evidence_path(osds[1], "store") == "/var/lib/ceph/osd/ceph-3/type"


def test_one_that_does_not_say_is_not_known(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/ceph-0/type": "\n", f"{ORIGIN}/ceph-1/whoami": "1\n"}
    assert [one.store for one in read(write_tree(tmp_path, files)).osds or ()] == [None, None]


def test_most_hosts_have_none(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {})).osds == ()


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, {"/proc/version": "Linux\n"})).osds is None
