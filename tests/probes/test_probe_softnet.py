"""softnet_stat: columns of old and new kernels, sums, and whose row is whose."""

from pathlib import Path

import pytest

from advisor.host.live import LiveHost
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.softnet import ONLINE, ORIGIN, parse_softnet, read
from tests.trees import write_capture, write_tree

OUTPUTS = Path(__file__).resolve().parents[3] / "shared/hosts/insights-core/softnet_stat"


def row(*numbers: int) -> str:
    return " ".join(f"{number:08x}" for number in numbers) + "\n"


NEW = row(500, 2, 3, 0, 0, 0, 0, 0, 0, 7, 1, 4, 8, 4, 0) + row(100, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0)
OLD = row(500, 2, 3, 0, 0, 0, 0, 0, 0, 7) + row(100, 0, 255, 0, 0, 0, 0, 0, 0, 0)


def test_rows_name_their_cpus_on_newer_kernels(tmp_path: Path) -> None:
    softnet = read(write_tree(tmp_path, {ORIGIN: NEW}))
    first, second = softnet.cpus or ()
    assert (first.cpu, first.processed, first.dropped, first.time_squeeze) == (8, 500, 2, 3)
    assert (first.received_rps, first.flow_limit_drops, first.backlog_packets) == (7, 1, 4)
    assert (second.cpu, second.time_squeeze) == (2, 255)
    assert (softnet.processed, softnet.dropped, softnet.time_squeeze, softnet.flow_limit_drops) == (600, 2, 258, 1)


def test_rows_of_older_kernels_are_those_of_online_cpus(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {ORIGIN: OLD, ONLINE: "0,5\n"})
    softnet = read(host)
    assert [cpu.cpu for cpu in softnet.cpus or ()] == [0, 5]
    assert evidence_path((softnet.cpus or ())[1], "cpu") == ONLINE
    assert (softnet.dropped, softnet.flow_limit_drops) == (2, None)
    assert host.gaps[evidence_path(softnet, "flow_limit_drops")] == "unsupported"


@pytest.mark.parametrize(
    ("text", "online"),
    [(OLD, "0-2\n"), (NEW.replace("00000008", "00000002"), "0-1\n"), (OLD, "some\n")],
    ids=["another number of CPUs", "one CPU twice", "no list"],
)
def test_a_row_whose_cpu_is_not_known_keeps_its_counters(tmp_path: Path, text: str, online: str) -> None:
    host = write_tree(tmp_path, {ORIGIN: text, ONLINE: online})
    cpus = read(host).cpus or ()
    assert [(cpu.cpu, cpu.processed) for cpu in cpus] == [(None, 500), (None, 100)]
    assert host.gaps[evidence_path(cpus[0], "cpu")] == "unsupported"


@pytest.mark.parametrize("text", ["", "one two three\n", "00000001\n", row(1, 2, 3) + "0000\n"])
def test_what_is_no_table_is_a_gap(tmp_path: Path, text: str) -> None:
    host = write_tree(tmp_path, {ORIGIN: text})
    assert read(host).cpus is None
    assert host.gaps[ORIGIN] == "unsupported"


def test_a_missing_file_is_a_gap(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {})
    assert read(host).processed is None
    assert host.gaps[ORIGIN] == "absent"


def test_no_counter_is_in_a_committed_file(tmp_path: Path) -> None:
    softnet = read(write_tree(tmp_path, {ORIGIN: NEW}))
    text = committed_json(Snapshot(Source(kind="tree"), {"softnet": softnet}, {}))
    assert "processed" not in text
    assert "cpus" not in text


def test_the_live_host_has_a_row_for_each_online_cpu() -> None:
    host = LiveHost.here()
    softnet = read(host)
    if softnet.cpus is not None:
        known = [cpu.cpu for cpu in softnet.cpus]
        assert len(set(known)) == len(known)


@pytest.mark.shared
@pytest.mark.skipif(not OUTPUTS.is_dir(), reason="needs the captured outputs beside the checkout")
def test_real_tables_are_understood(tmp_path: Path) -> None:
    old = (OUTPUTS / "SOFTNET_STAT.txt").read_text()
    softnet = read(write_tree(tmp_path, {ORIGIN: old, ONLINE: "0-3\n"}))
    assert [cpu.dropped for cpu in softnet.cpus or ()] == [0x12, 0xFF, 0, 1]
    assert softnet.time_squeeze == 1 + 2 + 3 + 4
    newer = parse_softnet((OUTPUTS / "SOFTNET_STAT_3.txt").read_text())
    assert [len(row) for row in newer] == [13] * 5
    assert newer[3][12] == 3
