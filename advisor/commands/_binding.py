"""Where a trial runs: on the CPUs that job/launch.sh gives the rank it stands for."""

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.derived.budget import Budget
from advisor.derived.topology import GpuPlace, Topology
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.probes.cpu import Cpu
from advisor.probes.numa import Numa

NODE, SOCKET = "node", "socket"


@dataclass(frozen=True)
class Binding:
    """The CPUs that a rank is bound to, and how many of this job's ranks they are shared by."""

    cpus: tuple[int, ...]
    ranks: int

    def each(self) -> float:
        """CPUs of one rank."""
        return len(self.cpus) / self.ranks


@dataclass(frozen=True)
class _Place:
    """What the first rank is bound to."""

    nodes: frozenset[int]
    cpus: frozenset[int]


def binding(snapshot: Snapshot, settings: Iterable[Setting]) -> Binding | None:
    """Of the first rank, when ``settings`` ask for ranks on the nodes or sockets of their GPUs; ``None``: anywhere.

    Also ``None`` where the node of the first GPU, its CPUs or those that may be used are not known, or for a socket
    which nodes are on it: a trial that is bound more narrowly than the job would mislead.
    """
    asked = [s.value for s in settings if (s.target, s.key) == ("launch", "numa-binding")]
    topology, budget = snapshot.get(Topology), snapshot.get(Budget)
    if not asked or topology is None or not topology.gpus or budget is None or budget.usable is None:
        return None
    first, *others = topology.gpus
    place_of = {NODE: _node, SOCKET: _socket}.get(str(asked[-1]))
    place = place_of(first, snapshot) if place_of is not None else None
    if place is None or any(other.numa_node is None for other in others):
        return None
    cpus = tuple(sorted(place.cpus & set(budget.usable)))
    if not cpus:
        return None
    ours = topology.gpus[: budget.ranks or 1]
    return Binding(cpus, sum(other.numa_node in place.nodes for other in ours))


def _node(first: GpuPlace, snapshot: Snapshot) -> _Place | None:
    if first.numa_node is None:
        return None
    return _Place(frozenset({first.numa_node}), frozenset(first.cpus or ()))


def _socket(first: GpuPlace, snapshot: Snapshot) -> _Place | None:
    """The nodes whose first CPU is in the package of the first CPU of the GPU's node, as job/launch.sh finds them."""
    numa, cpu = snapshot.get(Numa), snapshot.get(Cpu)
    nodes = numa.nodes if numa is not None else None
    if first.numa_node is None or nodes is None or cpu is None or any(node.cpus is None for node in nodes):
        return None
    packages = {one.number: one.package for one in cpu.cpus or ()}
    of_node = {node.number: packages.get(min(node.cpus)) for node in nodes if node.cpus}
    package = of_node.get(first.numa_node)
    if package is None or None in of_node.values():
        return None
    together = frozenset(number for number, other in of_node.items() if other == package)
    return _Place(together, frozenset(one for node in nodes if node.number in together for one in node.cpus or ()))
