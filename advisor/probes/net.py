"""Network interfaces of this network namespace.

Listed are interfaces with hardware, bonds, bridges, VLANs and the like; the many ends of container links only where
no hardware is visible (inside a container).
Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File

ORIGIN = "/sys/class/net"


class Interface(Facts):
    """One network interface, from its folder in sysfs."""

    name: str
    physical: Annotated[bool, "has hardware, real or a hypervisor's, in this namespace"]
    type: Annotated[int | None, File("type"), "1 Ethernet, 32 InfiniBand (IPoIB), 772 loopback"] = None
    kind: Annotated[str | None, File("uevent"), "for a virtual one: bond, bridge, vlan, vxlan ..."] = None
    speed_mbps: Annotated[
        int | None, File("speed", unknown=("-1", "0", "65535", "4294967295")), "nominal; many cloud cards do not say"
    ] = None
    mtu: Annotated[int | None, File("mtu"), "bytes"] = None
    operstate: Annotated[str | None, File("operstate", unknown=("unknown",)), "up, down, lowerlayerdown ..."] = None
    carrier: Annotated[bool | None, File("carrier"), "a link is seen"] = None
    duplex: Annotated[str | None, File("duplex", unknown=("unknown",)), "full or half"] = None
    driver: Annotated[str | None, File("device/driver"), "kernel driver"] = None
    rx_queues: Annotated[int | None, File("queues"), "receive queues"] = None
    tx_queues: Annotated[int | None, File("queues"), "transmit queues"] = None
    pci_address: Annotated[str | None, File("device"), "of the card, also through virtio"] = None
    numa_node: Annotated[int | None, File("device/numa_node"), "of the card, else of the nearest parent"] = None
    master: Annotated[str | None, File("master"), "the bond or bridge it belongs to"] = None
    bond_mode: Annotated[str | None, File("bonding/mode"), "balance-rr, active-backup, 802.3ad ..."] = None
    rdma_devices: Annotated[tuple[str, ...] | None, File("device/infiniband"), "RDMA devices of the same card"] = None
    virtual_function: Annotated[bool | None, File("device/physfn"), "part of an SR-IOV card; a VM cannot tell"] = None


class Net(Facts):
    """The network interfaces."""

    interfaces: Annotated[tuple[Interface, ...] | None, "those listed above, by name"] = None


def read(host: Host) -> Net:
    """The network interfaces of ``host``."""
    return Net(origin=ORIGIN)
