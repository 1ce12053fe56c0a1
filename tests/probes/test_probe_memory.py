"""Memory, swap and huge pages as /proc and /sys print them."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._meminfo import parse_meminfo, parse_vmstat
from advisor.probes.memory import parse_swaps, read
from tests.trees import write_capture, write_tree

MEMINFO = """MemTotal:       16384 kB
MemFree:         1024 kB
MemAvailable:    8192 kB
Active(anon):      12 kB
SwapTotal:       4096 kB
SwapFree:        4096 kB
HugePages_Total:       3
HugePages_Free:        1
Hugepagesize:       2048 kB
"""
SWAPS = """Filename				Type		Size		Used		Priority
/dev/zram0                              partition	1024		512		100
/dev/sda2                               partition	2048		0		-2
/swap\\040file                           file		4096		8		-3
"""
THP = "/sys/kernel/mm/transparent_hugepage"


def test_sizes_are_bytes_and_counts_are_counts() -> None:
    found = parse_meminfo(MEMINFO)
    assert (found["MemTotal"], found["HugePages_Total"], found["Active(anon)"]) == (16 << 20, 3, 12 << 10)


def test_a_nodes_meminfo_is_read_alike() -> None:
    assert parse_meminfo("Node 1 MemTotal:  12 kB\nNode 1 HugePages_Total:     0\n") == {
        "MemTotal": 12 << 10,
        "HugePages_Total": 0,
    }


def test_lines_that_are_cut_are_left_out() -> None:
    assert parse_meminfo("MemTotal: 16\nMemFree: \nMemAvai\n") == {"MemTotal": 16}
    assert parse_vmstat("pswpin 3\npswpout\nx -1\n") == {"pswpin": 3}


def test_memory_is_read(tmp_path: Path) -> None:
    files = {
        "/proc/meminfo": MEMINFO,
        "/proc/swaps": SWAPS,
        "/proc/vmstat": "pswpin 7\npswpout 8\ncompact_stall 9\nnuma_pte_updates 0\noom_kill 1\n",
        f"{THP}/enabled": "always [madvise] never\n",
        f"{THP}/defrag": "always defer [defer+madvise] madvise never\n",
        "/sys/module/zswap/parameters/enabled": "Y\n",
    }
    memory = read(write_tree(tmp_path, files))
    assert (memory.total_bytes, memory.available_bytes) == (16 << 20, 8 << 20)
    assert (memory.hugepages_total, memory.hugepages_free, memory.hugepage_size_bytes) == (3, 1, 2 << 20)
    assert (memory.thp_enabled, memory.thp_defrag, memory.zswap_enabled) == ("madvise", "defer+madvise", True)
    assert (memory.swapped_in_pages, memory.swapped_out_pages, memory.oom_kills) == (7, 8, 1)
    assert evidence_path(memory, "thp_enabled") == f"{THP}/enabled"
    assert evidence_path(memory, "total_bytes") == "/proc/meminfo"


def test_swap_in_memory_is_not_swap_on_disk(tmp_path: Path) -> None:
    memory = read(write_tree(tmp_path, {"/proc/swaps": SWAPS}))
    assert [(s.name, s.kind, s.size_bytes, s.priority, s.in_memory) for s in memory.swaps or ()] == [
        ("/dev/zram0", "partition", 1 << 20, 100, True),
        ("/dev/sda2", "partition", 2 << 20, -2, False),
        ("/swap\\040file", "file", 4 << 20, -3, False),
    ]
    assert memory.disk_swap_bytes == 6 << 20


def test_a_heading_alone_is_no_swap() -> None:
    assert parse_swaps(SWAPS.split("\n")[0]) == ()


def test_without_swaps_the_disk_swap_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/meminfo": MEMINFO})
    memory = read(host)
    assert (memory.swaps, memory.disk_swap_bytes) == (None, None)
    assert host.gaps["/proc/swaps"] == "not captured"


def test_lines_that_a_kernel_lacks_are_gaps(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/meminfo": "MemTotal: 1 kB\n"})
    memory = read(host)
    assert (memory.total_bytes, memory.available_bytes) == (1024, None)
    assert host.gaps[evidence_path(memory, "available_bytes")] == "unsupported"


def test_huge_pages_of_every_size(tmp_path: Path) -> None:
    small, large = (f"/sys/kernel/mm/hugepages/hugepages-{kib}kB" for kib in (2048, 1048576))
    files = {f"{small}/nr_hugepages": "64\n", f"{small}/free_hugepages": "10\n", f"{small}/resv_hugepages": "3\n"}
    pools = read(write_tree(tmp_path, files | {f"{large}/nr_hugepages": "?\n"})).hugepage_pools or ()
    assert [(p.page_bytes, p.pages, p.free, p.promised) for p in pools] == [
        (2 << 20, 64, 10, 3),
        (1 << 30, None, None, None),
    ]


def test_huge_pages_that_the_kernel_makes_by_itself(tmp_path: Path) -> None:
    folder = "/sys/kernel/mm/transparent_hugepage"
    files = {
        f"{folder}/khugepaged/defrag": "1\n",
        f"{folder}/shmem_enabled": "always within_size advise [never] deny force\n",
        f"{folder}/hugepages-64kB/enabled": "always inherit madvise [never]\n",
        f"{folder}/hugepages-2048kB/enabled": "always [inherit] madvise never\n",
        f"{folder}/hugepages-8kB/shmem_enabled": "[never]\n",
    }
    memory = read(write_tree(tmp_path, files))
    assert (memory.thp_khugepaged_defrag, memory.thp_shmem) == (True, "never")
    assert [(size.page_bytes, size.enabled) for size in memory.thp_sizes or ()] == [
        (8 << 10, None),
        (64 << 10, "never"),
        (2 << 20, "inherit"),
    ]


@pytest.mark.parametrize(
    ("text", "stalls", "scanned"),
    [
        pytest.param("allocstall 7\npgscan_direct_normal 5\npgscan_direct_dma 1\n", 7, 6, id="old"),
        pytest.param(
            "allocstall_dma32 1\nallocstall_normal 2\nallocstall_movable 4\n"
            "pgscan_direct 9\npgscan_direct_throttle 3\n",
            *(7, 9),
            id="new",
        ),
        pytest.param("pgfault 1\n", None, None, id="neither"),
    ],
)
def test_counters_of_all_kinds_of_memory_are_summed(
    text: str, stalls: int | None, scanned: int | None, tmp_path: Path
) -> None:
    memory = read(write_tree(tmp_path, {"/proc/vmstat": text}))
    assert (memory.allocation_stalls, memory.direct_scanned_pages) == (stalls, scanned)


def test_a_kernel_without_huge_pages_has_no_pools(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/proc/meminfo": "MemTotal: 1 kB\nMlocked: 4 kB\n"})
    memory = read(host)
    assert (memory.hugepage_pools, memory.thp_sizes, memory.locked_bytes) == (None, None, 4096)
    assert host.gaps["/sys/kernel/mm/hugepages"] == "absent"
