"""NUMA nodes: their CPUs, memory and distances.

Node numbers may have gaps; a node may lack CPUs (HBM, CXL, GPU memory) or memory.
Format: https://docs.kernel.org/admin-guide/mm/numaperf.html and Documentation/ABI/stable/sysfs-devices-node
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File, Volatile

ORIGIN = "/sys/devices/system/node"


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


def read(host: Host) -> Numa:
    """The NUMA nodes of ``host``."""
    return Numa(origin=ORIGIN)
