"""The GID that NCCL takes by itself, and the MTU of RoCE paths."""

import pytest

from advisor.derived.gids import chosen_gid, derive
from advisor.model.facts import evidence_path
from advisor.probes.net import Interface, Net
from advisor.probes.rdma import Gid, Port, Rdma, RdmaDevice


def table(*rows: str) -> tuple[Gid, ...]:
    """A GID table: ``L1`` is link-local v1, ``G2`` a global IPv6 v2, ``I2`` IPv4 v2, ``I?`` of unknown type, ``-``
    empty."""
    types = {"1": "IB/RoCE v1", "2": "RoCE v2", "?": None}
    return tuple(
        Gid(index=index, type=types[row[1]], ipv4_mapped=row[0] == "I", link_local=row[0] == "L", netdev="ens1")
        for index, row in enumerate(rows)
        if row != "-"
    )


@pytest.mark.parametrize(
    ("rows", "roce", "index"),
    [
        (("L1", "L2", "I1", "I2"), True, 3),
        (("L2", "I2"), True, 1),
        (("L1", "L2", "G1", "G2", "I1", "I2"), True, 5),
        (("L1", "L2"), True, 0),
        (("I2", "I2"), True, 0),
        (("L1", "-", "-", "I2"), True, 3),
        (("L1", "L2", "I?", "I2"), True, None),
        (("L1", "L1"), False, 0),
        (("L1",), None, None),
        ((), True, None),
    ],
    ids=[
        "classic table",
        "v2 only",
        "global IPv6 before IPv4",
        "no IP address",
        "the first of two",
        "holes",
        "unknown type",
        "InfiniBand",
        "unknown link layer",
        "empty",
    ],
)
def test_the_entry_that_nccl_takes(rows: tuple[str, ...], roce: bool | None, index: int | None) -> None:
    chosen = chosen_gid(table(*rows), roce)
    assert (chosen.index if chosen else None) == index


def rdma(*link_layers: str, rows: tuple[str, ...] = ("L1", "L2", "I1", "I2"), state: int | None = 4) -> Rdma:
    devices = [
        RdmaDevice(
            name=f"mlx5_{number}",
            ports=(Port(origin=f"/ib/{number}", number=1, state=state, link_layer=layer, gids=table(*rows)),),
        )
        for number, layer in enumerate(link_layers)
    ]
    return Rdma(origin="/sys/class/infiniband", devices=tuple(devices))


def test_a_roce_port_gets_the_mtu_of_its_interface() -> None:
    net = Net(interfaces=(Interface(origin="/net/ens1", name="ens1", physical=True, mtu=9000),))
    gids = derive(rdma("Ethernet"), net)
    (port,) = gids.ports or ()
    assert (port.name, port.active, port.roce, port.gid_index, port.gid_type) == ("mlx5_0:1", True, True, 3, "RoCE v2")
    assert (port.netdev, port.netdev_mtu, port.path_mtu) == ("ens1", 9000, 4096)
    assert evidence_path(port, "path_mtu") == "/net/ens1/mtu"
    assert (gids.active, gids.common_gid_index) == (1, 3)


def test_an_infiniband_port_has_no_mtu_of_an_interface() -> None:
    net = Net(interfaces=(Interface(name="ens1", physical=True, mtu=1500),))
    (port,) = derive(rdma("InfiniBand"), net).ports or ()
    assert (port.roce, port.path_mtu) == (False, None)


def test_ports_that_are_down_do_not_count() -> None:
    gids = derive(rdma("Ethernet", "Ethernet", state=1), None)
    assert (gids.active, gids.common_gid_index) == (0, None)


def test_an_unknown_state_leaves_the_sum_open() -> None:
    assert derive(rdma("Ethernet", state=None), None).active is None


def test_ports_with_different_entries_have_none_in_common() -> None:
    both = (*(rdma("Ethernet").devices or ()), *(rdma("Ethernet", rows=("L2", "I2")).devices or ()))
    assert derive(Rdma(devices=both), None).common_gid_index is None


def ports(*told: tuple[str, float | None, int]) -> Rdma:
    """Devices with one port each: link layer, rate and state."""
    devices = [
        RdmaDevice(
            name=f"mlx5_{number}",
            ports=(Port(number=1, state=state, link_layer=layer or None, rate_gbps=rate),),
        )
        for number, (layer, rate, state) in enumerate(told)
    ]
    return Rdma(devices=tuple(devices))


IB, ROCE = "InfiniBand", "Ethernet"


@pytest.mark.parametrize(
    ("told", "odd", "even"),
    [
        ([(IB, 400, 4), (IB, 400, 4), (ROCE, 100, 4)], ("mlx5_2:1",), "=mlx5_0:1,mlx5_1:1"),
        ([(ROCE, 400, 4), (ROCE, 25, 4)], ("mlx5_1:1",), "=mlx5_0:1"),
        ([(ROCE, 400, 4), (ROCE, 200, 4)], (), "=mlx5_0:1,mlx5_1:1"),
        ([(IB, 400, 4), (ROCE, 100, 1)], (), "=mlx5_0:1"),
        ([(IB, 100, 4), (ROCE, 100, 4)], ("mlx5_1:1",), "=mlx5_0:1"),
        ([(IB, 400, 4), ("", 100, 4)], None, None),
        ([(IB, 400, 4), (IB, None, 4)], None, None),
        ([], (), None),
    ],
    ids=["mixed", "slow", "half as fast", "not active", "as many of both", "layer unknown", "rate unknown", "none"],
)
def test_ports_that_do_not_go_with_the_rest(
    told: list[tuple[str, float | None, int]], odd: tuple[str, ...] | None, even: str | None
) -> None:
    gids = derive(ports(*told), None)
    assert (gids.odd_ports, gids.even_ports) == (odd, even)


def test_devices_that_are_not_known_have_no_ports() -> None:
    assert derive(Rdma(), None).ports is None
