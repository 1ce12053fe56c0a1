"""Network interfaces of this network namespace.

Listed are interfaces with hardware, bonds, bridges, VLANs and the like; the many ends of container links only where
no hardware is visible (inside a container).
Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File
from advisor.probes._collected import Collected
from advisor.probes._interfaces import NET, device_of, interface_names
from advisor.probes._sysfs import link_name, near_numa_node, pci_chain, quiet_text

ORIGIN = NET


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


COLLECTED = Collected(
    models=((f"{ORIGIN}/*", Interface),),
    folders=((ORIGIN, "*"), (f"{ORIGIN}/*", "device"), (f"{ORIGIN}/*/device", "numa_node")),
)


def read(host: Host) -> Net:
    """The network interfaces of ``host``."""
    names = interface_names(host)
    if names is None:
        return Net(origin=ORIGIN)
    reals = {name: host.real(f"{ORIGIN}/{name}") or "" for name in names}
    devices = {name: device_of(host, name, real) for name, real in reals.items()}
    any_hardware = any(devices.values())
    interfaces = []
    for name in reals:
        kind = None if devices[name] else parse_kind(quiet_text(host, f"{ORIGIN}/{name}/uevent") or "")
        if devices[name] or kind or name == "lo" or not any_hardware:
            interfaces.append(_interface(host, name, kind, devices[name]))
    return Net(origin=ORIGIN, interfaces=tuple(interfaces))


def parse_kind(uevent: str) -> str | None:
    """What a virtual interface is. Sample: ``DEVTYPE=bond``, ``INTERFACE=bond0``, one a line"""
    return next((line[len("DEVTYPE=") :] for line in uevent.split("\n") if line.startswith("DEVTYPE=")), None)


def _interface(host: Host, name: str, kind: str | None, device: str | None) -> Interface:
    folder = f"{ORIGIN}/{name}"
    given = _hardware(host, folder, device) if device else _no_hardware(host, folder)
    queues = host.names(f"{folder}/queues")
    return read_fields(
        host,
        Interface,
        folder,
        **given,
        name=name,
        physical=device is not None,
        kind=kind,
        rx_queues=_queues(queues, "rx-"),
        tx_queues=_queues(queues, "tx-"),
        master=link_name(host, f"{folder}/master"),
        bond_mode=_bond_mode(host, folder) if kind == "bond" else None,
    )


def _hardware(host: Host, folder: str, device: str) -> dict[str, object]:
    chain = pci_chain(device)
    node, near = near_numa_node(host, f"{folder}/device/numa_node", device)
    names = host.names(f"{folder}/device") or ()
    return {
        "driver": link_name(host, f"{folder}/device/driver"),
        "pci_address": chain[-1] if chain else None,
        "numa_node": node,
        "rdma_devices": (host.names(f"{folder}/device/infiniband") if "infiniband" in names else ()) if names else None,
        "virtual_function": "physfn" in names if names else None,
        "origins": {"numa_node": near},
    }


def _no_hardware(host: Host, folder: str) -> dict[str, object]:
    host.link(f"{folder}/device")  # leaves the gap that says why the rest is missing
    return dict.fromkeys(("driver", "pci_address", "numa_node", "rdma_devices", "virtual_function"))


def _queues(names: tuple[str, ...] | None, prefix: str) -> int | None:
    return None if names is None else sum(name.startswith(prefix) for name in names)


def _bond_mode(host: Host, folder: str) -> str | None:
    """The name of the mode. Sample: ``802.3ad 4``"""
    text = host.text(f"{folder}/bonding/mode")
    return text.split()[0] if text and text.split() else None
