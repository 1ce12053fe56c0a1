"""Memory, swap and huge pages.

Formats: https://docs.kernel.org/filesystems/proc.html (meminfo, swaps, vmstat) and
https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._hugepages import HugePool, ThpSize, read_pools, read_thp_sizes
from advisor.probes._meminfo import parse_meminfo, parse_vmstat

MEMINFO = "/proc/meminfo"
SWAPS = "/proc/swaps"
VMSTAT = "/proc/vmstat"
_MEMINFO_NAMES = {
    "total_bytes": "MemTotal",
    "available_bytes": "MemAvailable",
    "free_bytes": "MemFree",
    "buffers_bytes": "Buffers",
    "cached_bytes": "Cached",
    "shmem_bytes": "Shmem",
    "dirty_bytes": "Dirty",
    "writeback_bytes": "Writeback",
    "anonymous_huge_bytes": "AnonHugePages",
    "locked_bytes": "Mlocked",
    "commit_limit_bytes": "CommitLimit",
    "committed_bytes": "Committed_AS",
    "swap_total_bytes": "SwapTotal",
    "swap_free_bytes": "SwapFree",
    "hugepages_total": "HugePages_Total",
    "hugepages_free": "HugePages_Free",
    "hugepages_promised": "HugePages_Rsvd",
    "hugepage_size_bytes": "Hugepagesize",
}
_VMSTAT_NAMES = {
    "swapped_in_pages": "pswpin",
    "swapped_out_pages": "pswpout",
    "compact_stalls": "compact_stall",
    "numa_pte_updates": "numa_pte_updates",
    "oom_kills": "oom_kill",
    "compact_fails": "compact_fail",
    "thp_faults": "thp_fault_alloc",
    "thp_fallbacks": "thp_fault_fallback",
    "numa_migrated_pages": "numa_pages_migrated",
}
_NEWER_NAMES = {"zswap_bytes": "Zswap"}
"""Lines that most kernels' files lack: no gap then."""
POOLS = "/sys/kernel/mm/hugepages"
_THP = "sys/kernel/mm/transparent_hugepage"


class Swap(Facts):
    """One line of ``/proc/swaps``."""

    read_from: ClassVar[str] = "/proc/swaps"
    name: Annotated[str, "device or file"]
    kind: Annotated[str | None, "partition or file"] = None
    size_bytes: int | None = None
    used_bytes: Annotated[int | None, Volatile()] = None
    priority: int | None = None
    in_memory: Annotated[bool | None, "zram: compressed memory, no disk"] = None


class Memory(Facts):
    """Memory of the whole host; a container's share is in section cgroup."""

    read_from: ClassVar[str] = "/"
    seen: ClassVar[Seen | None] = "host"
    total_bytes: Annotated[int | None, File("proc/meminfo"), "memory the kernel manages"] = None
    available_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "can be had without swapping"] = None
    free_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "used for nothing"] = None
    buffers_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "cache of block devices"] = None
    cached_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "page cache and shared memory"] = None
    shmem_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "shared memory and tmpfs"] = None
    dirty_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "waiting to be written to disk"] = None
    writeback_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "being written to disk"] = None
    anonymous_huge_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "of programs in huge pages"] = None
    locked_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "locked with mlock(2)"] = None
    zswap_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "compressed swap in memory"] = None
    commit_limit_bytes: Annotated[int | None, File("proc/meminfo"), "binds with overcommit_memory=2"] = None
    committed_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "address space promised"] = None
    swap_total_bytes: Annotated[int | None, File("proc/meminfo"), "all swap, zram included"] = None
    swap_free_bytes: Annotated[int | None, File("proc/meminfo"), Volatile()] = None
    swaps: Annotated[tuple[Swap, ...] | None, File("proc/swaps"), "what is swapped to"] = None
    disk_swap_bytes: Annotated[int | None, File("proc/swaps"), "swap that is not zram"] = None
    zswap_enabled: Annotated[bool | None, File("sys/module/zswap/parameters/enabled"), "compresses before disk"] = None
    hugepages_total: Annotated[int | None, File("proc/meminfo"), "reserved huge pages of the default size"] = None
    hugepages_free: Annotated[int | None, File("proc/meminfo"), Volatile(), "of them, used by nobody"] = None
    hugepages_promised: Annotated[int | None, File("proc/meminfo"), Volatile(), "of the free, promised"] = None
    hugepage_pools: Annotated[
        tuple[HugePool, ...] | None, File("sys/kernel/mm/hugepages"), "reserved huge pages of every size"
    ] = None
    hugepage_size_bytes: Annotated[int | None, File("proc/meminfo"), "the default size"] = None
    thp_enabled: Annotated[str | None, File(f"{_THP}/enabled", bracketed=True), "always, madvise or never"] = None
    thp_defrag: Annotated[
        str | None, File(f"{_THP}/defrag", bracketed=True), "always, defer, defer+madvise, madvise or never"
    ] = None
    thp_shmem: Annotated[str | None, File(f"{_THP}/shmem_enabled", bracketed=True), "huge pages for tmpfs"] = None
    thp_khugepaged_defrag: Annotated[
        bool | None, File(f"{_THP}/khugepaged/defrag"), "khugepaged may compact memory for huge pages"
    ] = None
    thp_sizes: Annotated[tuple[ThpSize, ...] | None, File(_THP), "sizes with a switch of their own; Linux 6.8"] = None
    thp_faults: Annotated[int | None, File("proc/vmstat"), Counter(), "huge pages made at first use"] = None
    thp_fallbacks: Annotated[int | None, File("proc/vmstat"), Counter(), "times there was none to be had"] = None
    swapped_in_pages: Annotated[int | None, File("proc/vmstat"), Counter(), "since boot"] = None
    swapped_out_pages: Annotated[int | None, File("proc/vmstat"), Counter(), "since boot"] = None
    compact_stalls: Annotated[int | None, File("proc/vmstat"), Counter(), "waits for compaction since boot"] = None
    compact_fails: Annotated[int | None, File("proc/vmstat"), Counter(), "of them, in vain"] = None
    allocation_stalls: Annotated[
        int | None, File("proc/vmstat"), Counter(), "times that a task had to free memory first, since boot"
    ] = None
    direct_scanned_pages: Annotated[
        int | None, File("proc/vmstat"), Counter(), "pages that tasks looked at to free memory, since boot"
    ] = None
    numa_migrated_pages: Annotated[
        int | None, File("proc/vmstat"), Counter(), "pages that NUMA balancing moved since boot"
    ] = None
    numa_pte_updates: Annotated[int | None, File("proc/vmstat"), Counter(), "NUMA balancing's work since boot"] = None
    oom_kills: Annotated[int | None, File("proc/vmstat"), Counter(), "tasks killed for want of memory"] = None


COLLECTED = Collected(
    models=((f"{POOLS}/*", HugePool), (f"/{_THP}/hugepages-*", ThpSize)),
    folders=(
        ("/sys/module/zswap/parameters", "enabled"),
        (f"/{_THP}", "enabled defrag shmem_enabled"),
        (f"/{_THP}/khugepaged", "defrag"),
        (POOLS, ""),
    ),
    files=("/proc/swaps",),
    large_files=("/proc/meminfo", "/proc/vmstat"),
)


def read(host: Host) -> Memory:
    """The memory of ``host``."""
    swaps = _swaps(host)
    meminfo = parse_meminfo(host.text(MEMINFO) or "")
    vmstat = parse_vmstat(host.text(VMSTAT) or "")
    disk = None if swaps is None else sum(swap.size_bytes or 0 for swap in swaps if not swap.in_memory)
    return read_fields(
        host,
        Memory,
        "/",
        **_named(host, MEMINFO, meminfo, _MEMINFO_NAMES),
        **_named(host, VMSTAT, vmstat, _VMSTAT_NAMES),
        **{field: meminfo.get(name) for field, name in _NEWER_NAMES.items()},
        allocation_stalls=zones(vmstat, "allocstall"),
        direct_scanned_pages=zones(vmstat, "pgscan_direct"),
        hugepage_pools=read_pools(host, POOLS),
        thp_sizes=read_thp_sizes(host, f"/{_THP}"),
        swaps=swaps,
        disk_swap_bytes=disk,
    )


def _named(host: Host, path: str, found: dict[str, int], names: dict[str, str]) -> dict[str, int | None]:
    """Values by field name. Lines that this kernel's file lacks are ``unsupported``: names come and go."""
    values = {field: found.get(name) for field, name in names.items()}
    if None in values.values():
        host.gaps.setdefault(path, "unsupported")
    return values


_ZONES = ("", "_dma", "_dma32", "_normal", "_high", "_movable", "_device")
"""Ends of a counter's name, one for each kind of memory; some kernels count all kinds as one."""


def zones(vmstat: dict[str, int], name: str) -> int | None:
    """A counter over all kinds of memory. Sample lines: ``allocstall_normal 12``, ``allocstall_movable 3``"""
    counts = [vmstat[name + zone] for zone in _ZONES if name + zone in vmstat]
    return sum(counts) if counts else None


def _swaps(host: Host) -> tuple[Swap, ...] | None:
    text = host.text(SWAPS)
    return None if text is None else parse_swaps(text)


def parse_swaps(text: str) -> tuple[Swap, ...]:
    """The lines of ``/proc/swaps`` after its heading.

    Sample: ``/dev/sda2  partition  8388604  0  -2``, sizes in KiB, blanks in names as ``\\040``
    """
    return tuple(swap for line in text.split("\n")[1:] if (swap := _swap(line)) is not None)


def _swap(line: str) -> Swap | None:
    words = line.split()
    if len(words) != 5 or not all(re.fullmatch(r"-?\d{1,15}", word, re.ASCII) for word in words[2:]):
        return None
    size, used, priority = (int(word) for word in words[2:])
    return Swap(
        origin=SWAPS,
        name=words[0],
        kind=words[1],
        size_bytes=size * 1024,
        used_bytes=used * 1024,
        priority=priority,
        in_memory=words[0].rpartition("/")[2].startswith("zram"),
    )
