"""Memory, swap and huge pages.

Formats: https://docs.kernel.org/filesystems/proc.html (meminfo, swaps, vmstat) and
https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

import re
from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Volatile
from advisor.probes._collected import Collected
from advisor.probes._meminfo import parse_meminfo, parse_vmstat

MEMINFO = "/proc/meminfo"
SWAPS = "/proc/swaps"
VMSTAT = "/proc/vmstat"
_MEMINFO_NAMES = {
    "total_bytes": "MemTotal",
    "available_bytes": "MemAvailable",
    "free_bytes": "MemFree",
    "cached_bytes": "Cached",
    "shmem_bytes": "Shmem",
    "dirty_bytes": "Dirty",
    "commit_limit_bytes": "CommitLimit",
    "committed_bytes": "Committed_AS",
    "swap_total_bytes": "SwapTotal",
    "swap_free_bytes": "SwapFree",
    "hugepages_total": "HugePages_Total",
    "hugepages_free": "HugePages_Free",
    "hugepage_size_bytes": "Hugepagesize",
}
_VMSTAT_NAMES = {
    "swapped_in_pages": "pswpin",
    "swapped_out_pages": "pswpout",
    "compact_stalls": "compact_stall",
    "numa_pte_updates": "numa_pte_updates",
    "oom_kills": "oom_kill",
}
_THP = "sys/kernel/mm/transparent_hugepage"


class Swap(Facts):
    """One line of ``/proc/swaps``."""

    name: Annotated[str, "device or file"]
    kind: Annotated[str | None, "partition or file"] = None
    size_bytes: int | None = None
    used_bytes: Annotated[int | None, Volatile()] = None
    priority: int | None = None
    in_memory: Annotated[bool | None, "zram: compressed memory, no disk"] = None


class Memory(Facts):
    """Memory of the whole host; a container's share is in section cgroup."""

    total_bytes: Annotated[int | None, File("proc/meminfo"), "memory the kernel manages"] = None
    available_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "can be had without swapping"] = None
    free_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "used for nothing"] = None
    cached_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "page cache and shared memory"] = None
    shmem_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "shared memory and tmpfs"] = None
    dirty_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "waiting to be written to disk"] = None
    commit_limit_bytes: Annotated[int | None, File("proc/meminfo"), "binds with overcommit_memory=2"] = None
    committed_bytes: Annotated[int | None, File("proc/meminfo"), Volatile(), "address space promised"] = None
    swap_total_bytes: Annotated[int | None, File("proc/meminfo"), "all swap, zram included"] = None
    swap_free_bytes: Annotated[int | None, File("proc/meminfo"), Volatile()] = None
    swaps: Annotated[tuple[Swap, ...] | None, File("proc/swaps"), "what is swapped to"] = None
    disk_swap_bytes: Annotated[int | None, File("proc/swaps"), "swap that is not zram"] = None
    zswap_enabled: Annotated[bool | None, File("sys/module/zswap/parameters/enabled"), "compresses before disk"] = None
    hugepages_total: Annotated[int | None, File("proc/meminfo"), "reserved huge pages of the default size"] = None
    hugepages_free: Annotated[int | None, File("proc/meminfo"), Volatile(), "of them, used by nobody"] = None
    hugepage_size_bytes: Annotated[int | None, File("proc/meminfo"), "the default size"] = None
    thp_enabled: Annotated[str | None, File(f"{_THP}/enabled", bracketed=True), "always, madvise or never"] = None
    thp_defrag: Annotated[
        str | None, File(f"{_THP}/defrag", bracketed=True), "always, defer, defer+madvise, madvise or never"
    ] = None
    thp_shmem: Annotated[str | None, File(f"{_THP}/shmem_enabled", bracketed=True), "huge pages for tmpfs"] = None
    swapped_in_pages: Annotated[int | None, File("proc/vmstat"), Counter(), "since boot"] = None
    swapped_out_pages: Annotated[int | None, File("proc/vmstat"), Counter(), "since boot"] = None
    compact_stalls: Annotated[int | None, File("proc/vmstat"), Counter(), "waits for compaction since boot"] = None
    numa_pte_updates: Annotated[int | None, File("proc/vmstat"), Counter(), "NUMA balancing's work since boot"] = None
    oom_kills: Annotated[int | None, File("proc/vmstat"), Counter(), "tasks killed for want of memory"] = None


COLLECTED = Collected(
    folders=(("/sys/module/zswap/parameters", "enabled"), (f"/{_THP}", "enabled defrag shmem_enabled")),
    files=("/proc/swaps",),
    large_files=("/proc/meminfo", "/proc/vmstat"),
)


def read(host: Host) -> Memory:
    """The memory of ``host``."""
    swaps = _swaps(host)
    disk = None if swaps is None else sum(swap.size_bytes or 0 for swap in swaps if not swap.in_memory)
    return read_fields(
        host,
        Memory,
        "/",
        **_named(host, MEMINFO, parse_meminfo(host.text(MEMINFO) or ""), _MEMINFO_NAMES),
        **_named(host, VMSTAT, parse_vmstat(host.text(VMSTAT) or ""), _VMSTAT_NAMES),
        swaps=swaps,
        disk_swap_bytes=disk,
    )


def _named(host: Host, path: str, found: dict[str, int], names: dict[str, str]) -> dict[str, int | None]:
    """Values by field name. Lines that this kernel's file lacks are ``unsupported``: names come and go."""
    values = {field: found.get(name) for field, name in names.items()}
    if None in values.values():
        host.gaps.setdefault(path, "unsupported")
    return values


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
