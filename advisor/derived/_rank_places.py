"""The CPUs near a GPU that job/launch.sh binds its rank to, and how many ranks share them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from advisor.derived.topology import GpuPlace
from advisor.probes.cpu import Cpu
from advisor.probes.numa import Numa

NODE, SOCKET = "node", "socket"


@dataclass(frozen=True)
class Place:
    """What a rank is bound to."""

    nodes: frozenset[int]
    cpus: frozenset[int]


@dataclass(frozen=True)
class Share:
    """Usable CPUs, and the ranks that run on them."""

    cpus: int
    ranks: int

    def each(self) -> float:
        """CPUs of one rank."""
        return self.cpus / self.ranks


def place_of(mode: str, gpu: GpuPlace, numa: Numa | None, cpu: Cpu | None) -> Place | None:
    """Where a rank with ``gpu`` runs when it is bound by ``mode``; ``None`` where that is not known."""
    return {NODE: _node, SOCKET: _socket}[mode](gpu, numa, cpu)


def shares(
    mode: str, gpus: Sequence[GpuPlace], usable: Collection[int], numa: Numa | None, cpu: Cpu | None
) -> tuple[Share, ...] | None:
    """The share of the rank of each GPU; unknown where a place is. No CPUs: the launcher cannot bind that rank."""
    found = [place_of(mode, gpu, numa, cpu) for gpu in gpus]
    places = [place for place in found if place is not None]
    if len(places) < len(found):
        return None
    together = [sum(gpu.numa_node in place.nodes for gpu in gpus) for place in places]
    return tuple(Share(len(place.cpus & set(usable)), n) for place, n in zip(places, together, strict=True))


def _node(gpu: GpuPlace, numa: Numa | None, cpu: Cpu | None) -> Place | None:
    nodes = (numa.nodes if numa is not None else None) or ()
    cpus = next((node.cpus for node in nodes if node.number == gpu.numa_node), None)
    near = gpu.cpus if cpus is None else cpus
    if gpu.numa_node is None or near is None:
        return None
    return Place(frozenset({gpu.numa_node}), frozenset(near))


def _socket(gpu: GpuPlace, numa: Numa | None, cpu: Cpu | None) -> Place | None:
    """The nodes whose first CPU is in the package of the first CPU of the GPU's node, as job/launch.sh finds them."""
    nodes = numa.nodes if numa is not None else None
    if gpu.numa_node is None or nodes is None or cpu is None or any(node.cpus is None for node in nodes):
        return None
    packages = {one.number: one.package for one in cpu.cpus or ()}
    of_node = {node.number: packages.get(min(node.cpus)) for node in nodes if node.cpus}
    package = of_node.get(gpu.numa_node)
    if package is None or None in of_node.values():
        return None
    together = frozenset(number for number, other in of_node.items() if other == package)
    return Place(together, frozenset(one for node in nodes if node.number in together for one in node.cpus or ()))
