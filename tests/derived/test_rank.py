"""Where the ranks of a job run, and how many CPUs each has there."""

from collections.abc import Sequence

import pytest

from advisor.derived.budget import Budget
from advisor.derived.rank import Rank, derive
from advisor.derived.topology import GpuPlace, Topology
from advisor.model.job import Job
from advisor.probes.cpu import Cpu, LogicalCpu
from advisor.probes.gpu import Gpu, GpuDevice
from advisor.probes.numa import Node, Numa

NPS4 = tuple(tuple(range(first, first + 8)) for first in range(0, 64, 8))
"""Eight nodes of eight CPUs, four to a socket."""
HANGING = (1,) * 4 + (5,) * 4
"""Eight GPUs on one node of each socket."""


def rank(
    gpus: Sequence[int | None] = HANGING,
    nodes: Sequence[tuple[int, ...]] = NPS4,
    *,
    cpus: int = 64,
    usable: Sequence[int] | None = None,
    packages: bool = True,
    vendor: str = "nvidia",
    **job: int | bool | str | None,
) -> Rank:
    every = [number for node in nodes for number in node]
    half = len(nodes) // 2
    logical = [
        LogicalCpu(origin="/sys", number=number, package=at // half if packages else None, online=True)
        for at, node in enumerate(nodes)
        for number in node
    ]
    found = [Node(origin="/sys", number=number, cpus=node) for number, node in enumerate(nodes)]
    places = [GpuPlace(origin="/sys", address=f"{number:04x}:00:00.0", numa_node=at) for number, at in enumerate(gpus)]
    devices = tuple(GpuDevice(origin="/sys", index=number, vendor=vendor) for number in range(len(gpus)))
    return derive(
        Budget(origin="/sys", usable=tuple(every if usable is None else usable), cpus=cpus),
        Topology(origin="/sys", gpus=tuple(places)),
        Numa(origin="/sys", nodes=tuple(found), with_cpus=sum(bool(node) for node in nodes)),
        Cpu(origin="/sys", cpus=tuple(logical)),
        Gpu(origin="/sys", gpus=devices),
        Job.model_validate({"ranks": len(gpus), **job}),
    )


@pytest.mark.parametrize(
    ("workers", "binding", "where", "shared"),
    [
        (0, "node", "node", (4, 8, 2)),
        (1, "socket", "anywhere", (8, 64, 8)),
        (2, "socket", "anywhere", (8, 64, 8)),
        (7, "socket", "anywhere", (8, 64, 8)),
        (30, "socket", "anywhere", (8, 64, 8)),
        (None, "socket", "anywhere", (8, 64, 8)),
    ],
)
def test_a_node_with_too_few_cpus_for_its_gpus_is_left_for_the_socket(
    workers: int | None, binding: str, where: str, shared: tuple[int, int, int]
) -> None:
    found = rank(workers=workers)
    assert (found.binding, found.where) == (binding, where)
    assert (found.sharing, found.shared_cpus, found.whole_cpus) == shared


@pytest.mark.parametrize(
    ("gpus", "binding"),
    [
        ((0, 1, 2, 3, 4, 5, 6, 7), "node"),
        ((0, 0, 1, 2, 3, 4, 5, 6), "node"),
        ((0, 0, 2, 2, 4, 4, 6, 6), "socket"),
        ((0, 0, 0, 1, 2, 4, 5, 6), "socket"),
        ((0, 0, 0, 1, 4, 5), "socket"),
    ],
    ids=["one each", "two on one", "half of the nodes", "2.7 of 6.4", "2.7 of 8"],
)
def test_without_a_plan_of_workers_the_share_of_the_socket_is_the_measure(gpus: Sequence[int], binding: str) -> None:
    assert rank(gpus).binding == binding


@pytest.mark.parametrize(("workers", "binding"), [(7, "node"), (8, "socket")])
def test_a_node_that_gives_not_clearly_fewer_is_near_as_long_as_each_process_has_a_cpu(
    workers: int, binding: str
) -> None:
    assert (
        rank((0, 0, 1, 2, 2, 3), [tuple(range(at, at + 16)) for at in (0, 16, 32, 48)], workers=workers).binding
        == binding
    )


def test_where_the_socket_has_no_more_its_node_is_near() -> None:
    found = rank((0, 0, 0, 1), (tuple(range(32)), tuple(range(32, 64))), workers=15)
    assert (found.binding, found.where) == ("node", "node")
    assert (found.sharing, found.shared_cpus, found.whole_cpus) == (3, 32, 10)


def test_a_quota_below_the_node_leaves_no_need_for_the_socket() -> None:
    found = rank(cpus=16, workers=15)
    assert (found.binding, found.where, found.whole_cpus) == ("node", "anywhere", 2)


def test_cpus_that_the_job_may_not_use_do_not_count() -> None:
    assert rank(usable=[8, 9, 40, 41], cpus=4, workers=3).shared_cpus == 4
    found = rank((0, 4), usable=[0, 1, 2, 32], cpus=4, workers=0)
    assert (found.where, found.sharing, found.shared_cpus) == ("node", 1, 1)


def test_a_socket_that_is_not_known_is_not_chosen() -> None:
    found = rank(packages=False, workers=7)
    assert (found.binding, found.where, found.whole_cpus) == ("node", "node", 2)


@pytest.mark.parametrize(("told", "whole"), [("node", 2), ("socket", 8)])
def test_what_the_operator_or_a_measurement_says_counts(told: str, whole: int) -> None:
    assert (rank(workers=7, numa_binding=told).binding, rank(workers=7, numa_binding=told).whole_cpus) == (told, whole)
    assert rank(workers=0, numa_binding=told).binding == told


def test_the_operators_launcher_binds_to_nodes_wherever_the_gpus_are() -> None:
    assert rank((1, 1, 1, 1), bound=True).whole_cpus == 2
    assert rank((1, 1, 1, 1), bound=False).whole_cpus == 16


@pytest.mark.parametrize(
    ("gpus", "vendor"),
    [((1, 1), "nvidia"), ((1, None), "nvidia"), ((1, 5), "amd"), ((), "nvidia")],
    ids=["one node", "a node not known", "launch.sh cannot tell", "no GPU"],
)
def test_ranks_that_nobody_binds_run_anywhere(gpus: Sequence[int | None], vendor: str) -> None:
    found = rank(gpus, vendor=vendor, workers=1, ranks=2)
    assert (found.where, found.sharing, found.shared_cpus, found.whole_cpus) == ("anywhere", 2, 64, 32)


def test_only_the_first_gpus_have_ranks() -> None:
    assert rank((1, 1, 5, 5), ranks=2, workers=3, numa_binding="node").sharing == 2


def test_without_a_budget_or_a_number_of_ranks_nothing_is_known() -> None:
    assert derive(Budget(origin="/sys"), None, None, None, None, Job(ranks=2)).shared_cpus is None
    assert rank(ranks=None).whole_cpus is None
