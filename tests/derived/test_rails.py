"""Which RDMA devices carry a job's traffic, and their nodes."""

import pytest

from advisor.derived.rails import derive
from advisor.probes.modules import Module, Modules
from advisor.probes.rdma import Port, Rdma, RdmaDevice


def card(
    name: str, rate: float | None = 400.0, layer: str | None = "InfiniBand", state: int | None = 4, driver: str = "mlx5"
) -> RdmaDevice:
    port = Port(origin="/sys", number=1, state=state, rate_gbps=rate, link_layer=layer)
    node = f"uverbs{name.removeprefix('mlx5_')}"
    return RdmaDevice(origin="/sys", name=name, driver=driver, verbs_node=node, ports=(port,))


def found(*cards: RdmaDevice, modules: Modules | None = None) -> tuple[tuple[str, ...] | None, str | None]:
    rails = derive(Rdma(origin="/sys", devices=cards), modules)
    return rails.devices, rails.nodes


def test_cards_of_one_kind_and_rate_are_taken_with_their_nodes() -> None:
    slow, ethernet, down = card("mlx5_2", 100.0), card("mlx5_3", 400.0, "Ethernet"), card("mlx5_4", state=1)
    both = ("mlx5_0", "mlx5_1")
    assert found(card("mlx5_0"), card("mlx5_1", 200.0), slow, ethernet, down) == (both, "uverbs0,uverbs1")


@pytest.mark.parametrize(
    ("cards", "devices"),
    [
        pytest.param((card("mlx5_0", layer="Ethernet"), card("mlx5_1")), ("mlx5_1",), id="half each"),
        pytest.param(
            (card("mlx5_0", layer="Ethernet"), card("mlx5_1", 200.0), card("mlx5_2", 200.0, "other")),
            (),
            id="no majority",
        ),
        pytest.param((card("mlx5_0", state=1),), (), id="none in use"),
        pytest.param((), (), id="none"),
        pytest.param(
            (card("mlx5_0", 100.0, None, driver="efa"), card("mlx5_1", 50.0, "Ethernet")), ("mlx5_0",), id="EFA"
        ),
    ],
)
def test_the_kind_of_most_of_the_bandwidth_counts(cards: tuple[RdmaDevice, ...], devices: tuple[str, ...]) -> None:
    assert found(*cards)[0] == devices


@pytest.mark.parametrize(
    "unknown",
    [card("mlx5_1", None), card("mlx5_1", layer=None), card("mlx5_1", state=None)],
    ids=["rate", "kind", "state"],
)
def test_a_port_that_does_not_tell_makes_all_unknown(unknown: RdmaDevice) -> None:
    assert found(card("mlx5_0"), unknown) == (None, None)


def test_ports_that_are_not_known_make_all_unknown() -> None:
    assert found(card("mlx5_0"), RdmaDevice(origin="/sys", name="mlx5_1")) == (None, None)
    assert derive(Rdma(origin="/sys"), None).devices is None


def test_a_card_whose_node_is_not_known_leaves_the_nodes_unknown() -> None:
    without = card("mlx5_1").model_copy(update={"verbs_node": None})
    assert found(card("mlx5_0"), without) == (("mlx5_0", "mlx5_1"), None)
    assert found() == ((), None)


@pytest.mark.parametrize(("loaded", "nodes"), [(True, "uverbs0,rdma_cm"), (False, "uverbs0"), (None, "uverbs0")])
def test_connections_have_a_node_where_its_module_is_loaded(loaded: bool | None, nodes: str) -> None:
    modules = Modules(origin="/sys", modules=(Module(origin="/sys", name="rdma_ucm", loaded=loaded),))
    assert found(card("mlx5_0"), modules=modules) == (("mlx5_0",), nodes)
