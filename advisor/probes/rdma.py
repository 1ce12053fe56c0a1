"""RDMA devices (InfiniBand, RoCE, EFA), their ports and GID tables.

Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File, Private

ORIGIN = "/sys/class/infiniband"
NODES = "/dev/infiniband"


class Gid(Facts):
    """One entry in use of a port's GID table."""

    index: int
    gid: Annotated[str | None, Private(), "the address, eight groups of hex digits"] = None
    type: Annotated[str | None, "RoCE v2 or IB/RoCE v1"] = None
    netdev: Annotated[str | None, "the interface that the address belongs to"] = None
    ipv4_mapped: Annotated[bool | None, "made of an IPv4 address"] = None
    link_local: Annotated[bool | None, "fe80: made of the card's own address"] = None


class Port(Facts):
    """One port of an RDMA device, from its folder in sysfs."""

    number: int
    state: Annotated[int | None, File("state"), "4 is ACTIVE, which NCCL needs"] = None
    state_name: Annotated[str | None, File("state"), "DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER"] = None
    phys_state: Annotated[int | None, File("phys_state"), "5 is LinkUp"] = None
    phys_state_name: Annotated[str | None, File("phys_state"), "Polling, Disabled, LinkUp ..."] = None
    rate_gbps: Annotated[float | None, File("rate"), "signalling rate; a port that is down shows a default"] = None
    lanes: Annotated[int | None, File("rate"), "1, 2, 4, 8 or 12"] = None
    speed: Annotated[str | None, File("rate"), "SDR ... EDR, HDR, NDR, XDR, where the kernel says"] = None
    link_layer: Annotated[
        str | None, File("link_layer", unknown=("Unknown", "Unspecified")), "InfiniBand or Ethernet (RoCE)"
    ] = None
    gids: Annotated[tuple[Gid, ...] | None, File("gids"), "entries in use, by index"] = None


class RdmaDevice(Facts):
    """One RDMA device, from its folder in sysfs."""

    name: str
    node_type: Annotated[str | None, File("node_type"), "CA, switch, RNIC ..."] = None
    fw_version: Annotated[str | None, File("fw_ver"), "firmware"] = None
    board_id: Annotated[str | None, File("board_id"), "model of the card (PSID)"] = None
    hca_type: Annotated[str | None, File("hca_type"), "name of the chip"] = None
    node_guid: Annotated[str | None, File("node_guid"), Private()] = None
    driver: Annotated[str | None, File("device/driver"), "kernel driver"] = None
    pci_address: Annotated[str | None, File("device"), "of the card"] = None
    numa_node: Annotated[int | None, File("device/numa_node"), "of the card, else of the nearest parent"] = None
    ports: Annotated[tuple[Port, ...] | None, File("ports"), "by number"] = None


class Rdma(Facts):
    """The RDMA devices; none at all when no RDMA driver is loaded."""

    devices: Annotated[tuple[RdmaDevice, ...] | None, "by name"] = None
    active_ports: Annotated[int | None, "ports in state ACTIVE, over all devices"] = None
    uverbs: Annotated[int | None, "device nodes that programs open (/dev/infiniband/uverbs*)"] = None


def read(host: Host) -> Rdma:
    """The RDMA devices of ``host``."""
    return Rdma(origin=ORIGIN)
