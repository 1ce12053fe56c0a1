"""Memory, swap and huge pages.

Formats: https://docs.kernel.org/filesystems/proc.html (meminfo, swaps, vmstat) and
https://docs.kernel.org/admin-guide/mm/transhuge.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File, Volatile

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
    swapped_in_pages: Annotated[int | None, File("proc/vmstat"), Volatile(), "since boot"] = None
    swapped_out_pages: Annotated[int | None, File("proc/vmstat"), Volatile(), "since boot"] = None
    compact_stalls: Annotated[int | None, File("proc/vmstat"), Volatile(), "waits for compaction since boot"] = None
    numa_pte_updates: Annotated[int | None, File("proc/vmstat"), Volatile(), "NUMA balancing's work since boot"] = None
    oom_kills: Annotated[int | None, File("proc/vmstat"), Volatile(), "tasks killed for want of memory"] = None


def read(host: Host) -> Memory:
    """The memory of ``host``."""
    return Memory(origin="/")
