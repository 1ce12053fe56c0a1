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
    assert (host.gaps.get(f"{ORIGIN}/node0/meminfo") == "distrusted") is (memory is None)


def test_pages_taken_on_a_node_and_huge_pages_reserved_on_it(tmp_path: Path) -> None:
    folder = f"{ORIGIN}/node0"
    numastat = "numa_hit 100\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 90\nother_node 12\n"
    pool = f"{folder}/hugepages/hugepages-2048kB"
    files = {f"{folder}/numastat": numastat, f"{pool}/nr_hugepages": "512\n", f"{pool}/free_hugepages": "12\n"}
    (one,) = read(write_tree(tmp_path, node(0, "0-3", 1024, "10") | files)).nodes or ()
    assert (one.allocated_pages, one.unwished_pages, one.diverted_pages) == (100, 2, 3)
    assert (one.local_pages, one.remote_pages) == (90, 12)
    assert [(p.page_bytes, p.pages, p.free, p.promised) for p in one.hugepage_pools or ()] == [(2 << 20, 512, 12, None)]


def test_counts_of_nonsense_are_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, node(0, "0-3", 1024, "10") | {f"{ORIGIN}/node0/numastat": "numa_hit many\n"})
    (one,) = read(host).nodes or ()
    assert (one.allocated_pages, host.gaps[f"{ORIGIN}/node0/numastat"]) == (None, "unsupported")


def test_nodes_without_memory_and_nodes_without_cpus_are_told(tmp_path: Path) -> None:
    files = node(0, "0-3", 1024, "10 20 255") | node(1, "4-7", 0, "20 10 255") | node(2, "", 1024, "255 255 10")
    tier = "/sys/devices/virtual/memory_tiering/memory_tier"
    files |= {f"{ORIGIN}/has_cpu": "0-1\n", f"{ORIGIN}/has_memory": "0,2\n"}
    files |= {f"{tier}4/nodelist": "0\n", f"{tier}22/nodelist": "2\n", f"{tier}4/uevent": ""}
    numa = read(write_tree(tmp_path, files))
    assert (numa.nodes_with_cpus, numa.nodes_with_memory, numa.with_cpus) == ((0, 1), (0, 2), 2)
    assert [(one.number, one.nodes) for one in numa.memory_tiers or ()] == [(4, (0,)), (22, (2,))]
    assert [one.distances for one in numa.nodes or ()][2] == (255, 255, 10)


def test_an_old_kernel_lists_no_kinds_of_nodes(tmp_path: Path) -> None:
    numa = read(write_tree(tmp_path, node(0, "0-3", 1024, "10")))
    assert (numa.nodes_with_cpus, numa.nodes_with_memory, numa.memory_tiers) == (None, None, None)
