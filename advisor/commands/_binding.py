"""Where a trial runs: on the CPUs that job/launch.sh gives the rank it stands for."""

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.derived._rank_places import NODE, SOCKET, place_of
from advisor.derived.budget import Budget
from advisor.derived.topology import Topology
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.probes.cpu import Cpu
from advisor.probes.numa import Numa


@dataclass(frozen=True)
class Binding:
    """The CPUs that a rank is bound to, and how many of this job's ranks they are shared by."""

    mode: str
    """``node`` or ``socket``: of its GPU."""
    cpus: tuple[int, ...]
    ranks: int

    def each(self) -> float:
        """CPUs of one rank."""
        return len(self.cpus) / self.ranks


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
    mode = str(asked[-1])
    place = place_of(mode, first, snapshot.get(Numa), snapshot.get(Cpu)) if mode in (NODE, SOCKET) else None
    if place is None or any(other.numa_node is None for other in others):
        return None
    cpus = tuple(sorted(place.cpus & set(budget.usable)))
    if not cpus:
        return None
    ours = topology.gpus[: budget.ranks or 1]
    return Binding(mode, cpus, sum(other.numa_node in place.nodes for other in ours))
