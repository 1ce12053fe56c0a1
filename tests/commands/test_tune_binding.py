"""Trials run where job/launch.sh would start the rank that they stand for."""

import pytest

from advisor.commands._binding import Binding, binding
from advisor.commands._measured import resources
from advisor.derived._rank_places import NODE, SOCKET
from advisor.derived.budget import Budget
from advisor.derived.topology import GpuPlace, Topology
from advisor.model.facts import Facts
from advisor.model.setting import Reason, Setting
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.cpu import Cpu, LogicalCpu
from advisor.probes.numa import Node, Numa

ASKED = Setting("launch", "numa-binding", "node", Reason("source", "a rule", "why"))
ON_SOCKETS = Setting("launch", "numa-binding", "socket", Reason("operator", "--set", ""))
NODES = (0, 0, 1, 1)
FOUR_NODES = {0: tuple(range(0, 8)), 1: tuple(range(8, 16)), 2: tuple(range(16, 24)), 3: tuple(range(24, 32))}
"""Of two sockets, as with SNC-2 or NPS2: nodes 0 and 1, and 2 and 3, share one."""


def host(
    nodes: tuple[int | None, ...] = NODES, usable: tuple[int, ...] | None = tuple(range(16)), ranks: int = 4
) -> Snapshot:
    places = tuple(_place(number, node) for number, node in enumerate(nodes))
    facts: dict[str, Facts] = {
        "topology": Topology(origin="/sys", gpus=places),
        "budget": Budget(origin="/sys", usable=usable, ranks=ranks, cpus_per_rank=4.0),
    }
    return Snapshot(Source(kind="live"), facts, {})


def _place(number: int, node: int | None) -> GpuPlace:
    first = 8 * (node or 0)
    cpus = tuple(range(first, first + 8))
    return GpuPlace(origin="/sys", address=f"0000:{number}0:00.0", numa_node=node, cpus=cpus)


def test_a_rank_gets_its_share_of_the_cpus_of_its_node() -> None:
    found = binding(host(), [ASKED])
    assert found == Binding(NODE, tuple(range(8)), 2)
    assert found is not None
    assert found.each() == 4.0


def test_what_may_not_be_used_is_left_out_and_counted_after_binding() -> None:
    snapshot = host(usable=tuple(range(5, 16)))
    found = binding(snapshot, [ASKED])
    assert found == Binding(NODE, (5, 6, 7), 2)
    assert resources(snapshot.get(Budget), found).cpus == 1.5
    assert resources(snapshot.get(Budget)).cpus == 4.0


def two_sockets(
    gpus: tuple[int | None, ...] = (0, 1, 2, 3),
    nodes: dict[int, tuple[int, ...] | None] | None = None,
    packages: dict[int, int | None] | None = None,
    ranks: int = 4,
) -> Snapshot:
    """A host whose CPUs from 16 on are in the second socket; ``packages``: where it is otherwise."""
    snapshot = host(gpus, tuple(range(32)), ranks)
    cpus = tuple(
        LogicalCpu(origin="/sys", number=n, package=(packages or {}).get(n, n // 16), online=True) for n in range(32)
    )
    found = [Node(origin="/sys", number=number, cpus=cpus) for number, cpus in (nodes or FOUR_NODES).items()]
    facts: dict[str, Facts] = {
        **snapshot.facts,
        "cpu": Cpu(origin="/sys", cpus=cpus),
        "numa": Numa(origin="/sys", nodes=tuple(found)),
    }
    return Snapshot(snapshot.source, facts, {})


def test_on_sockets_a_rank_gets_its_share_of_all_nodes_of_the_socket() -> None:
    assert binding(two_sockets(), [ON_SOCKETS]) == Binding(SOCKET, tuple(range(16)), 2)
    assert binding(two_sockets(), [ASKED]) == Binding(NODE, tuple(range(8)), 1)
    assert binding(two_sockets(), [ASKED, ON_SOCKETS]) == Binding(SOCKET, tuple(range(16)), 2)


def test_the_socket_is_that_of_the_first_gpu_and_ranks_beyond_the_jobs_do_not_count() -> None:
    assert binding(two_sockets(gpus=(3, 3, 2, 0)), [ON_SOCKETS]) == Binding(SOCKET, tuple(range(16, 32)), 3)
    assert binding(two_sockets(gpus=(3, 3, 2, 0), ranks=2), [ON_SOCKETS]) == Binding(SOCKET, tuple(range(16, 32)), 2)


def test_a_node_without_cpus_belongs_to_no_socket() -> None:
    nodes = {**FOUR_NODES, 4: ()}
    assert binding(two_sockets(nodes=nodes), [ON_SOCKETS]) == Binding(SOCKET, tuple(range(16)), 2)  # type: ignore[arg-type]
    assert binding(two_sockets(gpus=(4, 0), nodes=nodes), [ON_SOCKETS]) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(host(), id="nodes-and-packages-not-known"),
        pytest.param(two_sockets(gpus=(None, 0)), id="node-of-the-first-gpu"),
        pytest.param(two_sockets(gpus=(0, None)), id="node-of-another-gpu"),
        pytest.param(two_sockets(gpus=(7, 0)), id="no-such-node"),
        pytest.param(two_sockets(nodes={**FOUR_NODES, 3: None}), id="cpus-of-a-node"),
        pytest.param(two_sockets(packages={0: None}), id="package-of-the-first-gpu"),
        pytest.param(two_sockets(packages={24: None}), id="package-of-another-node"),
    ],
)
def test_a_socket_that_is_not_known_binds_nothing(snapshot: Snapshot) -> None:
    assert binding(snapshot, [ON_SOCKETS]) is None


@pytest.mark.parametrize(
    ("snapshot", "settings"),
    [
        pytest.param(host(), [], id="not-asked-for"),
        pytest.param(host(nodes=(0, None)), [ASKED], id="a-node-not-known"),
        pytest.param(host(nodes=()), [ASKED], id="no-gpu"),
        pytest.param(host(usable=None), [ASKED], id="usable-not-known"),
        pytest.param(host(usable=(15,)), [ASKED], id="none-of-them-usable"),
    ],
)
def test_what_is_not_known_binds_nothing(snapshot: Snapshot, settings: list[Setting]) -> None:
    assert binding(snapshot, settings) is None
