"""Network interfaces of this network namespace: hardware, state, what they are made of, and counters.

Listed are interfaces with hardware, bonds, bridges, VLANs and the like; the many ends of container links only where
no hardware is visible (inside a container).
Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Root, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._interfaces import NET, device_of, interface_names
from advisor.probes._links import BONDING, STATISTICS, LinkStatistics, parse_vlans, read_bond, read_statistics
from advisor.probes._rdma_netdevs import INFINIBAND, rdma_devices_of
from advisor.probes._sysfs import link_name, near_numa_node, pci_chain, quiet_text

ORIGIN = NET
VLANS = "/proc/net/vlan/config"
LOWER = "lower_"
_MADE_UP = re.compile(r"(?:veth|cali|lxc|vnet|tap|fwbr|fwln|fwpr).*|.*(?=[a-z]*\d)[0-9a-f]{6,}(?:_[ch])?")
"""Names that change with every container: those of links and taps, and those that end in a random number."""
_OF_BONDS = ("bond_mode", "bond_members", "bond_hash_policy", "bond_active_member", "bond_lacp_rate")
_PROMISCUOUS = 0x100
UP = 0x1
"""Of ``flags``: somebody has set it up (IFF_UP)."""


class Interface(Facts):
    """One network interface, from its folder in sysfs."""

    seen: ClassVar[Seen | None] = "own"

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
    administratively_up: Annotated[bool | None, File("flags"), "somebody has set it up; a link is another thing"] = None
    promiscuous: Annotated[bool | None, File("flags"), Volatile(), "takes packets for others too"] = None
    tx_queue_len: Annotated[int | None, File("tx_queue_len"), "packets that may wait to be sent"] = None
    carrier_changes: Annotated[int | None, File("carrier_changes"), Counter(), "times the link came or went"] = None
    statistics: Annotated[LinkStatistics | None, File(STATISTICS), Volatile(), "packets, errors and drops"] = None
    driver: Annotated[str | None, File("device/driver"), "kernel driver"] = None
    rx_queues: Annotated[int | None, File("queues"), "receive queues"] = None
    tx_queues: Annotated[int | None, File("queues"), "transmit queues"] = None
    pci_address: Annotated[str | None, File("device"), "of the card, also through virtio"] = None
    numa_node: Annotated[int | None, File("device/numa_node"), "of the card, else of the nearest parent"] = None
    master: Annotated[str | None, File("master"), "the bond or bridge it belongs to"] = None
    lower: Annotated[tuple[str, ...] | None, "interfaces it is made of: members of a bond, what a VLAN lies on"] = None
    vlan_id: Annotated[int | None, Root(), "number of a VLAN"] = None
    bond_mode: Annotated[str | None, File(f"{BONDING}/mode"), "balance-rr, active-backup, 802.3ad ..."] = None
    bond_members: Annotated[tuple[str, ...] | None, File(f"{BONDING}/slaves"), "interfaces of a bond"] = None
    bond_hash_policy: Annotated[
        str | None, File(f"{BONDING}/xmit_hash_policy"), "what spreads flows over a bond: layer2, layer3+4 ..."
    ] = None
    bond_active_member: Annotated[
        str | None, File(f"{BONDING}/active_slave"), Volatile(), "the one in use, in modes that use one"
    ] = None
    bond_lacp_rate: Annotated[str | None, File(f"{BONDING}/lacp_rate"), "slow or fast, of 802.3ad"] = None
    rdma_devices: Annotated[
        tuple[str, ...] | None, File("device/infiniband"), "RDMA devices of the same card, or of the bond it is part of"
    ] = None
    virtual_function: Annotated[bool | None, File("device/physfn"), "part of an SR-IOV card; a VM cannot tell"] = None


class Net(Facts):
    """The network interfaces."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "/sys/class/net"
    interfaces: Annotated[tuple[Interface, ...] | None, "those listed above, by name"] = None
    others: Annotated[
        tuple[str, ...] | None, "names of the rest, but for those made up for each container and virtual machine"
    ] = None


COLLECTED = Collected(
    models=((f"{ORIGIN}/*", Interface),),
    folders=(
        (ORIGIN, "*"),
        (f"{ORIGIN}/*", "device"),
        (f"{ORIGIN}/*/device", "numa_node"),
        (f"{ORIGIN}/*/{STATISTICS}", "*"),
        (INFINIBAND, "*"),
        (f"{INFINIBAND}/*/ports", ""),
        (f"{INFINIBAND}/*/ports/*/gids", "*"),
    ),
    large_files=(VLANS,),
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
    others = []
    vlans: dict[str, int] | None = None
    for name in reals:
        kind = None if devices[name] else parse_kind(quiet_text(host, f"{ORIGIN}/{name}/uevent") or "")
        if devices[name] or kind or name == "lo" or not any_hardware:
            if kind == "vlan" and vlans is None:
                vlans = parse_vlans(host.text(VLANS) or "")
            interfaces.append(_interface(host, name, kind, devices[name], vlans or {}))
        elif not is_made_up(name):
            others.append(name)
    return Net(origin=ORIGIN, interfaces=_with_bonds(host, interfaces), others=tuple(others))


def _with_bonds(host: Host, interfaces: list[Interface]) -> tuple[Interface, ...]:
    """The interfaces; members of a bond without RDMA devices of their own have those that carry the bond."""
    bonds = {one.name for one in interfaces if one.kind == "bond"}
    return tuple(
        _with_those_of(host, one, one.master) if one.master in bonds and one.rdma_devices == () else one
        for one in interfaces
    )


def _with_those_of(host: Host, member: Interface, bond: str) -> Interface:
    devices = rdma_devices_of(host, bond)
    if devices == ():
        return member
    origins = {**member.origins, "rdma_devices": INFINIBAND}
    return member.model_copy(update={"rdma_devices": devices, "origins": origins})


def is_made_up(name: str) -> bool:
    """Whether an interface's name was made up for one container or virtual machine. Sample: ``veth1a2b3c4``"""
    return _MADE_UP.fullmatch(name) is not None


def parse_kind(uevent: str) -> str | None:
    """What a virtual interface is. Sample: ``DEVTYPE=bond``, ``INTERFACE=bond0``, one a line"""
    return next((line[len("DEVTYPE=") :] for line in uevent.split("\n") if line.startswith("DEVTYPE=")), None)


def _interface(host: Host, name: str, kind: str | None, device: str | None, vlans: Mapping[str, int]) -> Interface:
    folder = f"{ORIGIN}/{name}"
    given = _hardware(host, folder, device) if device else _no_hardware(host, folder, kind)
    given |= read_bond(host, folder) if kind == "bond" else dict.fromkeys(_OF_BONDS)
    flags = _flags(host, f"{folder}/flags")
    listed = host.names(folder)
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
        administratively_up=None if flags is None else bool(flags & UP),
        promiscuous=None if flags is None else bool(flags & _PROMISCUOUS),
        statistics=read_statistics(host, folder),
        lower=None if listed is None else tuple(n[len(LOWER) :] for n in listed if n.startswith(LOWER)),
        vlan_id=vlans.get(name) if kind == "vlan" else None,
    )


def _flags(host: Host, path: str) -> int | None:
    """The bits of an interface. Sample: ``0x1003``"""
    text = (host.text(path) or "").strip()
    if re.fullmatch(r"0x[0-9a-f]{1,8}", text):
        return int(text, 16)
    host.gaps.setdefault(path, "unsupported")
    return None


def _hardware(host: Host, folder: str, device: str) -> dict[str, Any]:
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


def _no_hardware(host: Host, folder: str, kind: str | None) -> dict[str, Any]:
    host.link(f"{folder}/device")  # leaves the gap that says why the rest is missing
    fields = ("driver", "pci_address", "numa_node", "rdma_devices", "virtual_function")
    return {**dict.fromkeys(fields), "origins": {"vlan_id": VLANS} if kind == "vlan" else {}}


def _queues(names: tuple[str, ...] | None, prefix: str) -> int | None:
    return None if names is None else sum(name.startswith(prefix) for name in names)
