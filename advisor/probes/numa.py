"""NUMA nodes: their CPUs, memory and distances.

Node numbers may have gaps; a node may lack CPUs (HBM, CXL, GPU memory) or memory.
Format: https://docs.kernel.org/admin-guide/mm/numaperf.html and Documentation/ABI/stable/sysfs-devices-node
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._cpulist import numbered, parse_cpumask, read_cpulist
from advisor.probes._hugepages import HugePool, read_pools
from advisor.probes._meminfo import parse_meminfo, parse_vmstat

ORIGIN = "/sys/devices/system/node"
TIERS = "/sys/devices/virtual/memory_tiering"
_NUMASTAT = {
    "allocated_pages": "numa_hit",
    "unwished_pages": "numa_miss",
    "diverted_pages": "numa_foreign",
    "local_pages": "local_node",
    "remote_pages": "other_node",
}
LEAST_SHARE = 0.9
"""Of the host's memory that its nodes have together, if their figures mean anything; on real hosts it is all of it."""


class Node(Facts):
    """One NUMA node, from its folder ``nodeN``."""

    number: int
    cpus: Annotated[tuple[int, ...] | None, File("cpulist"), "its CPUs; empty for a node of memory only"] = None
    memory_bytes: Annotated[int | None, File("meminfo"), "its memory; 0 for a node of CPUs only"] = None
    free_bytes: Annotated[int | None, File("meminfo"), Volatile(), "memory of it that is free"] = None
    distances: Annotated[
        tuple[int, ...] | None, File("distance"), "to each online node by number; 10 is itself, 255 out of reach"
    ] = None
    allocated_pages: Annotated[
        int | None, File("numastat"), Counter(), "pages taken here as wished (numa_hit), since boot"
    ] = None
    unwished_pages: Annotated[
        int | None, File("numastat"), Counter(), "pages taken here as another node had none (numa_miss)"
    ] = None
    diverted_pages: Annotated[
        int | None, File("numastat"), Counter(), "pages wished here and taken elsewhere (numa_foreign)"
    ] = None
    local_pages: Annotated[
        int | None, File("numastat"), Counter(), "pages taken here by tasks that ran here (local_node)"
    ] = None
    remote_pages: Annotated[
        int | None, File("numastat"), Counter(), "pages taken here by tasks that ran elsewhere (other_node)"
    ] = None
    hugepage_pools: Annotated[tuple[HugePool, ...] | None, File("hugepages"), "huge pages reserved on it"] = None


class MemoryTier(Facts):
    """Nodes with memory of about the same speed, from a folder ``memory_tierN``."""

    number: Annotated[int, "the lower, the faster"]
    nodes: Annotated[tuple[int, ...] | None, File("nodelist"), "nodes by number"] = None


class Numa(Facts):
    """The NUMA nodes; no nodes at all where the kernel knows nothing of NUMA: then the host is one node."""

    seen: ClassVar[Seen | None] = "host"
    nodes: Annotated[tuple[Node, ...] | None, "online nodes by number"] = None
    with_cpus: Annotated[int | None, "nodes that have CPUs"] = None
    nodes_with_cpus: Annotated[tuple[int, ...] | None, File("has_cpu"), "nodes that have CPUs, by number"] = None
    nodes_with_memory: Annotated[
        tuple[int, ...] | None, File("has_memory"), "nodes that have memory, by number; the others borrow it"
    ] = None
    memory_tiers: Annotated[tuple[MemoryTier, ...] | None, "kinds of memory by speed; Linux 6.1"] = None


COLLECTED = Collected(
    models=(
        (ORIGIN, Numa),
        (f"{ORIGIN}/node[0-9]*", Node),
        (f"{ORIGIN}/node[0-9]*/hugepages/*", HugePool),
        (f"{TIERS}/memory_tier[0-9]*", MemoryTier),
    ),
    folders=(
        *((ORIGIN, ""), (f"{ORIGIN}/node[0-9]*", "cpumap"), ("/sys/devices/system", "")),
        *((f"{ORIGIN}/node[0-9]*/hugepages", ""), (TIERS, "")),
    ),
)


def read(host: Host) -> Numa:
    """The NUMA nodes of ``host``."""
    names = host.names(ORIGIN)
    if names is None:
        # A kernel without NUMA support has no such folder; that is an answer only where the folder above is seen.
        nothing = host.gaps.get(ORIGIN) == "absent" and bool(host.names(ORIGIN.rpartition("/")[0]))
        return Numa(origin=ORIGIN, nodes=() if nothing else None, with_cpus=0 if nothing else None)
    nodes = _trusted(host, tuple(_node(host, number) for number in numbered(names, "node")))
    known = all(node.cpus is not None for node in nodes)
    return Numa(
        origin=ORIGIN,
        nodes=nodes,
        with_cpus=sum(bool(node.cpus) for node in nodes) if known else None,
        nodes_with_cpus=read_cpulist(host, f"{ORIGIN}/has_cpu") if "has_cpu" in names else None,
        nodes_with_memory=read_cpulist(host, f"{ORIGIN}/has_memory") if "has_memory" in names else None,
        memory_tiers=_tiers(host),
        origins={"memory_tiers": TIERS},
    )


def _tiers(host: Host) -> tuple[MemoryTier, ...] | None:
    names = host.names(TIERS)
    found = [(number, f"{TIERS}/memory_tier{number}") for number in numbered(names or (), "memory_tier")]
    tiers = tuple(MemoryTier(origin=at, number=n, nodes=read_cpulist(host, f"{at}/nodelist")) for n, at in found)
    return None if names is None else tiers


def _trusted(host: Host, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes, without their memory where it does not add up to the host's.

    In a guest with a memory balloon the nodes' totals are much too small and move from minute to minute.
    """
    total = parse_meminfo(host.text("/proc/meminfo") or "").get("MemTotal")
    sizes = [node.memory_bytes for node in nodes]
    if total is None or None in sizes or sum(size or 0 for size in sizes) >= LEAST_SHARE * total:
        return nodes
    for node in nodes:
        host.missed(f"{node.origin}/meminfo", "distrusted")
    return tuple(node.model_copy(update={"memory_bytes": None, "free_bytes": None}) for node in nodes)


def _numastat(host: Host, path: str) -> dict[str, int | None]:
    """Pages taken on a node. Sample lines: ``numa_hit 194606817``, ``other_node 0``"""
    text = host.text(path)
    found = parse_vmstat(text or "")
    values = {field: found.get(name) for field, name in _NUMASTAT.items()}
    if text is not None and None in values.values():
        host.missed(path, "unsupported")
    return values


def _node(host: Host, number: int) -> Node:
    folder = f"{ORIGIN}/node{number}"
    given: dict[str, object] = {"number": number}
    meminfo = parse_meminfo(host.text(f"{folder}/meminfo") or "")
    given["memory_bytes"], given["free_bytes"] = meminfo.get("MemTotal"), meminfo.get("MemFree")
    offered = host.names(folder) or ()
    given |= _numastat(host, f"{folder}/numastat") if "numastat" in offered else dict.fromkeys(_NUMASTAT)
    given["hugepage_pools"] = read_pools(host, f"{folder}/hugepages") if "hugepages" in offered else None
    if "cpulist" in offered:
        given["cpus"] = read_cpulist(host, f"{folder}/cpulist")
    else:
        # Kernels before 2.6.30 have the mask only.
        given["cpus"] = read_cpulist(host, f"{folder}/cpumap", parse_cpumask)
        given["origins"] = {"cpus": f"{folder}/cpumap"}
    return read_fields(host, Node, folder, **given)
