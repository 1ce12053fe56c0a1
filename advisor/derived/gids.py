"""Which GID NCCL takes on each RDMA port, and the path MTU that a RoCE port gets.

The choice follows NCCL 2.21 and later with no variable set; the MTU follows the kernel (include/rdma/ib_addr.h).
"""

from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes.net import Net
from advisor.probes.rdma import Rdma


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


def derive(rdma: Rdma, net: Net | None) -> Gids:
    """The ports of ``rdma`` as NCCL would use them."""
    return Gids(origin=rdma.origin)
