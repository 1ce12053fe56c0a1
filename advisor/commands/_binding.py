"""Where a trial runs: on the CPUs that job/launch.sh gives the rank it stands for."""

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.derived.budget import Budget
from advisor.derived.topology import Topology
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot

NODE = "node"


@dataclass(frozen=True)
class Binding:
    """The CPUs of a rank's NUMA node, and how many of this job's ranks they are shared by."""

    cpus: tuple[int, ...]
    ranks: int

    def each(self) -> float:
        """CPUs of one rank."""
        return len(self.cpus) / self.ranks


def binding(snapshot: Snapshot, settings: Iterable[Setting]) -> Binding | None:
    """Of the first rank, when ``settings`` ask for ranks on the nodes of their GPUs; ``None``: it runs anywhere.

    Also ``None`` where the node of the first GPU, its CPUs or those that may be used are not known: a trial that is
    bound more narrowly than the job would mislead.
    """
    asked = [s.value for s in settings if (s.target, s.key) == ("launch", "numa-binding")]
    topology, budget = snapshot.get(Topology), snapshot.get(Budget)
    if asked[-1:] != [NODE] or topology is None or not topology.gpus or budget is None or budget.usable is None:
        return None
    first, *others = topology.gpus
    cpus = tuple(sorted(set(first.cpus or ()) & set(budget.usable)))
    if not cpus or first.numa_node is None or any(place.numa_node is None for place in others):
        return None
    ours = topology.gpus[: budget.ranks or 1]
    return Binding(cpus, sum(place.numa_node == first.numa_node for place in ours))
