"""NUMA nodes: their CPUs, memory and distances.

Node numbers may have gaps; a node may lack CPUs (HBM, CXL, GPU memory) or memory.
Format: https://docs.kernel.org/admin-guide/mm/numaperf.html and Documentation/ABI/stable/sysfs-devices-node
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Volatile
from advisor.probes._collected import Collected
from advisor.probes._cpulist import numbered, parse_cpumask, read_cpulist
from advisor.probes._meminfo import parse_meminfo

ORIGIN = "/sys/devices/system/node"
LEAST_SHARE = 0.9
"""Of the host's memory that its nodes have together, if their figures mean anything; on real hosts it is all of it."""


class Node(Facts):
    """One NUMA node, from its folder ``nodeN``."""

    number: int
    cpus: Annotated[tuple[int, ...] | None, File("cpulist"), "its CPUs; empty for a node of memory only"] = None
    memory_bytes: Annotated[int | None, File("meminfo"), "its memory; 0 for a node of CPUs only"] = None
    free_bytes: Annotated[int | None, File("meminfo"), Volatile(), "memory of it that is free"] = None
    distances: Annotated[
        tuple[int, ...] | None, File("distance"), "to each online node in the order of their numbers; 10 is itself"
    ] = None


class Numa(Facts):
    """The NUMA nodes; no nodes at all where the kernel knows nothing of NUMA: then the host is one node."""

    nodes: Annotated[tuple[Node, ...] | None, "online nodes by number"] = None
    with_cpus: Annotated[int | None, "nodes that have CPUs"] = None


COLLECTED = Collected(
    models=((f"{ORIGIN}/node[0-9]*", Node),),
    folders=((ORIGIN, ""), (f"{ORIGIN}/node[0-9]*", "cpumap"), ("/sys/devices/system", "")),
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
    return Numa(origin=ORIGIN, nodes=nodes, with_cpus=sum(bool(node.cpus) for node in nodes) if known else None)


def _trusted(host: Host, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes, without their memory where it does not add up to the host's.

    In a guest with a memory balloon the nodes' totals are much too small and move from minute to minute.
    """
    total = parse_meminfo(host.text("/proc/meminfo") or "").get("MemTotal")
    sizes = [node.memory_bytes for node in nodes]
    if total is None or None in sizes or sum(size or 0 for size in sizes) >= LEAST_SHARE * total:
        return nodes
    for node in nodes:
        host.missed(f"{node.origin}/meminfo", "unsupported")
    return tuple(node.model_copy(update={"memory_bytes": None, "free_bytes": None}) for node in nodes)


def _node(host: Host, number: int) -> Node:
    folder = f"{ORIGIN}/node{number}"
    given: dict[str, object] = {"number": number}
    meminfo = parse_meminfo(host.text(f"{folder}/meminfo") or "")
    given["memory_bytes"], given["free_bytes"] = meminfo.get("MemTotal"), meminfo.get("MemFree")
    if "cpulist" in (host.names(folder) or ()):
        given["cpus"] = read_cpulist(host, f"{folder}/cpulist")
    else:
        # Kernels before 2.6.30 have the mask only.
        given["cpus"] = read_cpulist(host, f"{folder}/cpumap", parse_cpumask)
        given["origins"] = {"cpus": f"{folder}/cpumap"}
    return read_fields(host, Node, folder, **given)
