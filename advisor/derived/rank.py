"""Where the ranks of a job run, and with how many others each shares how many CPUs.

Anywhere that the job may run, or on the node or the socket of its GPU. A node of several in a socket (NPS4, SNC) may
have too few CPUs for the GPUs that hang on it, while the other nodes of the socket idle: then the socket is meant.
"""

from typing import Annotated

from advisor.derived._rank_places import NODE, SOCKET, Share, shares
from advisor.derived.budget import Budget
from advisor.derived.topology import GpuPlace, Topology
from advisor.model.facts import Facts, evidence_path
from advisor.model.job import Job
from advisor.probes.cpu import Cpu
from advisor.probes.gpu import Gpu, others_only
from advisor.probes.numa import Numa

ANYWHERE = "anywhere"
CLEARLY_FEWER = 0.5
"""A node that gives a rank at most this part of what its socket gives is left for the socket..."""
CPUS_OF_A_CORE = 2
"""...unless the rank and each of its workers, where they are told, have a core of two hardware threads there."""


class Rank(Facts):
    """The CPUs of one rank, there where the fewest are left for each."""

    binding: Annotated[str | None, "node or socket: what job/launch.sh is told"] = None
    sharing: Annotated[int | None, "ranks that share CPUs, with what is planned"] = None
    shared_cpus: Annotated[int | None, "those CPUs"] = None
    where: Annotated[str | None, "where they are: anywhere that the job may run, or on one node or socket"] = None
    whole_cpus: Annotated[int | None, "for each of them, rounded down, at least 1"] = None


def derive(
    budget: Budget, topology: Topology | None, numa: Numa | None, cpu: Cpu | None, gpu: Gpu | None, job: Job
) -> Rank:
    """The CPUs of a rank of ``job``, bound as the operator's launcher or job/launch.sh does it."""
    gpus = ((topology.gpus if topology is not None else None) or ())[: job.ranks]
    near = {mode: shares(mode, gpus, budget.usable or (), numa, cpu) or () for mode in (NODE, SOCKET)}
    whole = Share(budget.cpus, job.ranks) if budget.cpus is not None and job.ranks else None
    binding = job.numa_binding or _chosen(near[NODE], near[SOCKET], whole, job.workers) if gpus else None
    bound_to = _bound_to(binding, job, _spread(topology, numa, budget), others_only(gpu))
    evidence = evidence_path(budget, "cpus")
    tightest = whole
    if whole is not None and bound_to != ANYWHERE:
        tightest = min((whole, *(one for one in near[bound_to] if one.cpus)), key=Share.each)
        evidence = evidence if tightest == whole or numa is None else evidence_path(numa, "nodes")
    return Rank(
        origin=budget.origin,
        binding=binding,
        sharing=tightest.ranks if tightest else None,
        shared_cpus=tightest.cpus if tightest else None,
        where=None if tightest is None else ANYWHERE if tightest == whole else bound_to,
        whole_cpus=max(1, int(tightest.each())) if tightest else None,
        origins=dict.fromkeys(("sharing", "shared_cpus", "where", "whole_cpus"), evidence if job.ranks else job.origin),
    )


def _chosen(by_node: tuple[Share, ...], by_socket: tuple[Share, ...], whole: Share | None, workers: int | None) -> str:
    """The socket where a node has too few CPUs for the ranks of its GPUs and the socket has more."""
    for node, socket in zip(by_node, by_socket, strict=False):
        even = socket.each() if whole is None else min(socket.each(), whole.each())
        processes = None if workers is None else workers + 1
        plenty = processes is not None and node.each() >= CPUS_OF_A_CORE * processes
        short = processes is not None and node.each() < min(processes, even)
        clearly_fewer = node.each() <= even * CLEARLY_FEWER and not plenty
        if (short or clearly_fewer) and socket.each() > node.each():
            return SOCKET
    return NODE


def _bound_to(binding: str | None, job: Job, spread: bool, others: bool) -> str:
    if job.bound:
        return NODE
    planned = job.numa_binding is not None or spread
    return binding if binding is not None and planned and not others else ANYWHERE


def _spread(topology: Topology | None, numa: Numa | None, budget: Budget) -> bool:
    """Whether there are GPUs on several nodes whose CPUs the job may use: as numa/ranks-not-bound-to-nodes has it."""
    gpus: tuple[GpuPlace, ...] = (topology.gpus if topology is not None else None) or ()
    with_gpus = {place.numa_node for place in gpus}
    if numa is None or numa.with_cpus is None or numa.with_cpus < 2 or None in with_gpus:
        return False
    usable = set(budget.usable or ())
    return sum(node.number in with_gpus and bool(usable & set(node.cpus or ())) for node in numa.nodes or ()) >= 2
