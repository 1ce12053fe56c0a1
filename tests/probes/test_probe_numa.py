"""NUMA nodes are taken as they are: numbers with gaps, nodes without CPUs or memory."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes.numa import ORIGIN, read
from tests.trees import write_capture, write_tree


def node(number: int, cpus: str, kib: int, distances: str) -> dict[str, str]:
    """The files of one node."""
    folder = f"{ORIGIN}/node{number}"
    meminfo = f"Node {number} MemTotal:       {kib} kB\nNode {number} MemFree:         {kib // 2} kB\n"
    return {f"{folder}/cpulist": f"{cpus}\n", f"{folder}/meminfo": meminfo, f"{folder}/distance": f"{distances}\n"}


def test_nodes_have_cpus_memory_and_distances(tmp_path: Path) -> None:
    numa = read(write_tree(tmp_path, {**node(0, "0-1", 1024, "10 40"), **node(8, "2-3", 2048, "40 10")}))
    assert [(n.number, n.cpus, n.memory_bytes, n.free_bytes, n.distances) for n in numa.nodes or ()] == [
        (0, (0, 1), 1 << 20, 1 << 19, (10, 40)),
        (8, (2, 3), 2 << 20, 1 << 20, (40, 10)),
    ]
    assert numa.with_cpus == 2


def test_a_node_of_memory_only_has_no_cpus(tmp_path: Path) -> None:
    numa = read(write_tree(tmp_path, {**node(0, "0-1", 1024, "10 80"), **node(252, "", 4096, "80 10")}))
    assert [(n.number, n.cpus) for n in numa.nodes or ()] == [(0, (0, 1)), (252, ())]
    assert numa.with_cpus == 1


def test_a_node_of_cpus_only_has_no_memory(tmp_path: Path) -> None:
    (only,) = read(write_tree(tmp_path, node(1, "0", 0, "10"))).nodes or ()
    assert only.memory_bytes == 0


def test_a_kernel_before_lists_has_masks(tmp_path: Path) -> None:
    (only,) = read(write_tree(tmp_path, {f"{ORIGIN}/node0/cpumap": "0000000c\n"})).nodes or ()
    assert (only.cpus, evidence_path(only, "cpus")) == ((2, 3), f"{ORIGIN}/node0/cpumap")
    assert only.memory_bytes is None


@pytest.mark.parametrize("other", ["possible", "has_cpu", "power", "nodes"])
def test_other_names_are_no_nodes(tmp_path: Path, other: str) -> None:
    assert read(write_tree(tmp_path, {f"{ORIGIN}/{other}": "0\n"})).nodes == ()


def test_a_kernel_without_numa_has_no_nodes(tmp_path: Path) -> None:
    numa = read(write_capture(tmp_path, {"/sys/devices/system/cpu/online": "0\n"}))
    assert (numa.nodes, numa.with_cpus) == ((), 0)


def test_a_hidden_sys_says_nothing_of_nodes(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path, {})).nodes is None


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    numa = read(host)
    assert (numa.nodes, numa.with_cpus) == (None, None)
    assert host.gaps[ORIGIN] == "not captured"


@pytest.mark.parametrize(
    ("total_kb", "memory"),
    [(200, 100 * 1024), (220, 100 * 1024), (400, None)],
    ids=["adds up", "nearly adds up", "a balloon took half"],
)
def test_memory_of_nodes_is_told_only_where_it_adds_up(tmp_path: Path, total_kb: int, memory: int | None) -> None:
    files = {"/proc/meminfo": f"MemTotal: {total_kb} kB\n"}
    for number in (0, 1):
        files[f"{ORIGIN}/node{number}/meminfo"] = f"Node {number} MemTotal: 100 kB\nNode {number} MemFree: 10 kB\n"
        files[f"{ORIGIN}/node{number}/cpulist"] = f"{number}\n"
    host = write_tree(tmp_path, files)
    nodes = read(host).nodes
    assert nodes is not None
    assert [node.memory_bytes for node in nodes] == [memory, memory]
    assert (host.gaps.get(f"{ORIGIN}/node0/meminfo") == "unsupported") is (memory is None)
