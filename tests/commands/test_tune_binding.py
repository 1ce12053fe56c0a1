"""Trials run where job/launch.sh would start the rank that they stand for."""

import pytest

from advisor.commands._binding import Binding, binding
from advisor.commands._measured import resources
from advisor.derived.budget import Budget
from advisor.derived.topology import GpuPlace, Topology
from advisor.model.facts import Facts
from advisor.model.setting import Reason, Setting
from advisor.model.snapshot import Snapshot, Source

ASKED = Setting("launch", "numa-binding", "node", Reason("source", "a rule", "why"))
NODES = (0, 0, 1, 1)


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
    assert found == Binding(tuple(range(8)), 2)
    assert found is not None
    assert found.each() == 4.0


def test_what_may_not_be_used_is_left_out_and_counted_after_binding() -> None:
    snapshot = host(usable=tuple(range(5, 16)))
    found = binding(snapshot, [ASKED])
    assert found == Binding((5, 6, 7), 2)
    assert resources(snapshot.get(Budget), found).cpus == 1.5
    assert resources(snapshot.get(Budget)).cpus == 4.0


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
