"""Which GID NCCL takes on each RDMA port, and the path MTU that a RoCE port gets.

The choice follows NCCL 2.21 and later with no variable set; the MTU follows the kernel (include/rdma/ib_addr.h).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes.net import Interface, Net
from advisor.probes.rdma import ACTIVE, Gid, Port, Rdma, RdmaDevice
from advisor.probes.roce import path_mtu

ROCE_V2 = "RoCE v2"


class RdmaPort(Facts):
    """One port of one RDMA device."""

    name: Annotated[str, "device and port as NCCL_IB_HCA writes it: mlx5_0:1"]
    device: str
    port: int
    active: Annotated[bool | None, "in state ACTIVE"] = None
    roce: Annotated[bool | None, "Ethernet below; false for InfiniBand"] = None
    board_id: str | None = None
    rate_gbps: float | None = None
    gid_index: Annotated[int | None, "the entry that NCCL takes by itself"] = None
    gid_type: Annotated[str | None, "type of that entry"] = None
    gid_ipv4: Annotated[bool | None, "that entry is made of an IPv4 address"] = None
    netdev: Annotated[str | None, "interface of that entry, else of the first one"] = None
    netdev_mtu: Annotated[int | None, "MTU of the interface"] = None
    path_mtu: Annotated[int | None, "RoCE: largest of 256 ... 4096 that fits the interface's MTU less 96 bytes"] = None


class Gids(Facts):
    """What NCCL makes of the GID tables."""

    ports: Annotated[tuple[RdmaPort, ...] | None, "all ports by device and number"] = None
    active: Annotated[int | None, "ports in state ACTIVE"] = None
    common_gid_index: Annotated[int | None, "the entry that is right on every active RoCE port, if one is"] = None
    odd_ports: Annotated[
        tuple[str, ...] | None,
        "active ports of another link layer than most of the bandwidth, or of less than half the best rate",
    ] = None
    even_ports: Annotated[str | None, "the other active ports, as NCCL_IB_HCA takes them: =mlx5_0:1,mlx5_1:1"] = None


def derive(rdma: Rdma, net: Net | None) -> Gids:
    """The ports of ``rdma`` as NCCL would use them."""
    if rdma.devices is None:
        return Gids(origin=rdma.origin)
    interfaces = {interface.name: interface for interface in (net.interfaces if net is not None else None) or ()}
    ports = tuple(_port(device, port, interfaces) for device in rdma.devices for port in device.ports or ())
    active = [port for port in ports if port.active]
    indexes = {port.gid_index for port in active if port.roce}
    odd = _odd(ports)
    even = [port.name for port in active if odd is not None and port.name not in odd]
    return Gids(
        origin=rdma.origin,
        ports=ports,
        active=None if any(port.active is None for port in ports) else len(active),
        common_gid_index=next(iter(indexes)) if len(indexes) == 1 else None,
        odd_ports=odd,
        even_ports=f"={','.join(even)}" if even else None,
    )


def _odd(ports: Sequence[RdmaPort]) -> tuple[str, ...] | None:
    """The active ports that do not go with the rest; unknown where the state, layer or rate of one is."""
    active = [(port, port.roce, port.rate_gbps) for port in ports if port.active is not False]
    if any(port.active is None or roce is None or rate is None for port, roce, rate in active):
        return None
    rates = [(port.name, bool(roce), rate or 0.0) for port, roce, rate in active]
    of_roce = sum(rate for _, roce, rate in rates if roce)
    is_roce = of_roce * 2 > sum(rate for _, _, rate in rates)
    best = max((rate for _, roce, rate in rates if roce == is_roce), default=0.0)
    return tuple(name for name, roce, rate in rates if roce != is_roce or rate * 2 < best)


def _port(device: RdmaDevice, port: Port, interfaces: Mapping[str, Interface]) -> RdmaPort:
    roce = None if port.link_layer is None else port.link_layer == "Ethernet"
    chosen = chosen_gid(port.gids, roce)
    netdev = next((gid.netdev for gid in (chosen, *(port.gids or ())) if gid is not None and gid.netdev), None)
    interface = interfaces.get(netdev or "")
    mtu = interface.mtu if interface is not None else None
    return RdmaPort(
        origin=port.origin,
        name=f"{device.name}:{port.number}",
        device=device.name,
        port=port.number,
        active=None if port.state is None else port.state == ACTIVE,
        roce=roce,
        board_id=device.board_id,
        rate_gbps=port.rate_gbps,
        gid_index=chosen.index if chosen is not None else None,
        gid_type=chosen.type if chosen is not None else None,
        gid_ipv4=chosen.ipv4_mapped if chosen is not None else None,
        netdev=netdev,
        netdev_mtu=mtu,
        path_mtu=path_mtu(mtu) if roce and mtu is not None else None,
        origins={
            "active": f"{port.origin}/state",
            "roce": f"{port.origin}/link_layer",
            "board_id": f"{device.origin}/board_id",
            "rate_gbps": f"{port.origin}/rate",
            **{name: f"{port.origin}/gids" for name in ("gid_index", "gid_type", "gid_ipv4", "netdev")},
            **{name: f"{interface.origin}/mtu" for name in ("netdev_mtu", "path_mtu") if interface is not None},
        },
    )


def chosen_gid(gids: Sequence[Gid] | None, roce: bool | None) -> Gid | None:
    """The entry that NCCL 2.21 and later takes when no variable tells it otherwise.

    On InfiniBand the first. On RoCE it starts with entry 0 and goes through the table: an IPv4 address is taken where
    the one so far is none, and a later IPv4 address of RoCE v2 where the one so far is of another type.
    """
    if not gids or roce is None:
        return None
    best = next((gid for gid in gids if gid.index == 0), None)
    if not roce:
        return best
    if any(gid.ipv4_mapped and gid.type is None for gid in gids):
        return None
    for gid in gids:
        if not gid.ipv4_mapped or gid is best:
            continue
        if best is None or not best.ipv4_mapped or (gid.type == ROCE_V2 and best.type != ROCE_V2):
            best = gid
    return best
