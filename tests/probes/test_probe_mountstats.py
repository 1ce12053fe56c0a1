"""What the NFS client counts for each mount."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.model.sample import sample_of
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._mountstats import MOUNTSTATS, parse_mountstats
from advisor.probes.mounts import read
from tests.trees import write_tree

TEXT = """device proc mounted on /proc with fstype proc
device filer:/export mounted on /my\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,hard,proto=tcp,nconnect=2
\tage:\t13968
\tcaps:\tcaps=0xfff7
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726
\txprt:\ttcp 833 0 1 0 11 6428 6428 0 12154 0 24 26 5726
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 1298 1301 2 207680 1210292152 6 79386 79407 1
\t       WRITE: 10 10 0 4096 100 1 20 30 0
\t      ACCESS: 5 4 0 1 1 0 1 1 0
device other:/x mounted on /x with fstype nfs statvers=1.1
"""
MOUNTINFO = (
    "60 20 0:50 / /my\\040data rw - nfs4 filer:/export rw,vers=4.2,hard,proto=tcp,nconnect=2\n"
    "61 20 0:51 / /x rw - nfs other:/x rw,vers=3,hard,proto=tcp\n"
)


def test_counters_of_each_mount_are_read(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {"/proc/self/mountinfo": MOUNTINFO, MOUNTSTATS: TEXT}))
    assert facts.mounts is not None
    data, silent = facts.mounts
    use = data.nfs_use
    assert use is not None
    assert (use.age_seconds, use.transports) == (13968, ("tcp", "tcp"))
    assert use.reads is not None
    assert (use.reads.operations, use.reads.retransmissions, use.reads.timeouts) == (1298, 3, 2)
    assert (use.reads.received_bytes, use.reads.round_trip_ms, use.reads.execution_ms) == (1210292152, 79386, 79407)
    assert use.writes is not None
    assert (use.writes.sent_bytes, use.writes.errors) == (4096, 0)
    assert use.all_operations is not None
    assert (use.all_operations.operations, use.all_operations.retransmissions) == (1314, 3)
    assert evidence_path(data, "nfs_use") == MOUNTSTATS
    assert silent.nfs_use is None


def test_counters_never_reach_committed_files(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {"/proc/self/mountinfo": MOUNTINFO, MOUNTSTATS: TEXT}))
    assert "1298" not in committed_json(Snapshot(Source(kind="tree"), {"mounts": facts}, {}))


def test_mountstats_is_not_read_without_nfs(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/self/mountinfo": "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n"})
    read(host)
    assert MOUNTSTATS not in host.gaps


def test_sums_below_zero_are_not_told(tmp_path: Path) -> None:
    text = TEXT.replace(" 6 79386 ", " 18446743919241604546 79386 ")
    host = write_tree(tmp_path, {"/proc/self/mountinfo": MOUNTINFO, MOUNTSTATS: text})
    (data, _) = read(host).mounts or ()
    assert data.nfs_use is not None
    assert data.nfs_use.reads is not None
    assert (data.nfs_use.reads.queue_ms, data.nfs_use.reads.round_trip_ms) == (None, 79386)
    assert host.gaps[MOUNTSTATS] == "unsupported"


@pytest.mark.parametrize("kept", range(0, len(TEXT), 37))
def test_a_text_cut_anywhere_is_read_as_far_as_it_goes(kept: int) -> None:
    for use in parse_mountstats(TEXT[:kept]).values():
        assert use.age_seconds in (None, 1, 13, 139, 1396, 13968)
        assert use.reads is None or use.reads.operations == 1298


def test_what_is_sent_again_between_two_readings_is_growth(tmp_path: Path) -> None:
    texts = (TEXT, TEXT.replace("READ: 1298 1301 2", "READ: 1398 1406 3"))
    first, second = (
        read(write_tree(tmp_path / str(n), {"/proc/self/mountinfo": MOUNTINFO, MOUNTSTATS: text}))
        for n, text in enumerate(texts)
    )
    grown = sample_of({"mounts": first}, {"mounts": second}, {"mounts": 5.0}).growth
    reads = {name.rpartition(".")[2]: growth for name, growth in grown.items() if ".reads." in name}
    assert (reads["operations"], reads["retransmissions"], reads["timeouts"], reads["sent_bytes"]) == (100, 5, 1, 0)
