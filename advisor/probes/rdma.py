"""RDMA devices (InfiniBand, RoCE, EFA), their ports and GID tables.

Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from advisor.host.base import Host, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Private, Seen, SeenAs, Volatile
from advisor.probes._collected import Collected
from advisor.probes._rdma_counters import (
    COUNTERS,
    HW_COUNTERS,
    HwCounter,
    PortCounters,
    read_hw_counters,
    read_port_counters,
)
from advisor.probes._sysfs import link_name, near_numa_node, pci_chain

ORIGIN = "/sys/class/infiniband"
NODES = "/dev/infiniband"
VERBS = "/sys/class/infiniband_verbs"
SYSTEM = ("rdma", "system")
ACTIVE = 4
"""State of a port that carries traffic (IB_PORT_ACTIVE)."""
_IPV4_MAPPED = "0000:0000:0000:0000:0000:ffff:"


class Gid(Facts):
    """One entry in use of a port's GID table."""

    read_from: ClassVar[str] = "/sys/class/infiniband/*/ports/*/gids/*"
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
    lid: Annotated[int | None, File("lid", unknown=("0x0", "0")), "its address in an InfiniBand subnet"] = None
    sm_lid: Annotated[
        int | None, File("sm_lid", unknown=("0x0", "0")), "address of the subnet manager; without one no port is active"
    ] = None
    gids: Annotated[tuple[Gid, ...] | None, File("gids"), "entries in use, by index"] = None
    counters: Annotated[PortCounters | None, File("counters"), Volatile(), "the counters every port has"] = None
    hw_counters: Annotated[
        tuple[HwCounter, ...] | None, File("hw_counters"), Volatile(), "the driver's own counters, by name"
    ] = None


class RdmaDevice(Facts):
    """One RDMA device, from its folder in sysfs."""

    seen: ClassVar[Seen | None] = "host"
    name: str
    node_type: Annotated[str | None, File("node_type"), "CA, switch, RNIC ..."] = None
    fw_version: Annotated[str | None, File("fw_ver", unknown=("",)), "firmware"] = None
    board_id: Annotated[str | None, File("board_id", unknown=("",)), "model of the card (PSID)"] = None
    hca_type: Annotated[str | None, File("hca_type", unknown=("",)), "name of the chip"] = None
    node_guid: Annotated[str | None, File("node_guid"), Private()] = None
    driver: Annotated[str | None, File("device/driver"), "kernel driver"] = None
    pci_address: Annotated[str | None, File("device"), "of the card"] = None
    numa_node: Annotated[int | None, File("device/numa_node"), "of the card, else of the nearest parent"] = None
    virtual_function: Annotated[bool | None, File("device/physfn"), "part of an SR-IOV card; a VM cannot tell"] = None
    verbs_node: Annotated[str | None, "name of the device node that programs open"] = None
    verbs_node_there: Annotated[
        bool | None, SeenAs("own"), "the node is in /dev/infiniband; a container must be given it"
    ] = None
    ports: Annotated[tuple[Port, ...] | None, File("ports"), "by number"] = None


class Rdma(Facts):
    """The RDMA devices; none at all when no RDMA driver is loaded."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/sys/class/infiniband"
    devices: Annotated[tuple[RdmaDevice, ...] | None, "by name"] = None
    namespaces: Annotated[
        str | None, "shared: every network namespace sees all devices; exclusive: a device belongs to one"
    ] = None
    active_ports: Annotated[int | None, "ports in state ACTIVE, over all devices"] = None
    uverbs: Annotated[int | None, "device nodes that programs open (/dev/infiniband/uverbs*)"] = None


_PORT = f"{ORIGIN}/*/ports/*"
COLLECTED = Collected(
    models=((f"{ORIGIN}/*", RdmaDevice), (_PORT, Port), (f"{_PORT}/{COUNTERS}", PortCounters)),
    folders=(
        (ORIGIN, "*"),
        (f"{ORIGIN}/*", "device"),
        (f"{ORIGIN}/*/device", "numa_node driver"),
        (f"{ORIGIN}/*/ports", ""),
        (f"{_PORT}/gids", "*"),
        (f"{_PORT}/{HW_COUNTERS}", "*"),
        (NODES, ""),
        (VERBS, "*"),
        (f"{VERBS}/*", "ibdev"),
    ),
    commands=(SYSTEM,),
)


def read(host: Host) -> Rdma:
    """The RDMA devices of ``host``."""
    names = host.names(ORIGIN)
    nodes = host.names(NODES)
    uverbs = sum(name.startswith("uverbs") for name in nodes) if nodes is not None else None
    if nodes is None and host.gaps.get(NODES) == "absent":
        uverbs = 0
    origins = {"uverbs": NODES}
    if names is None:
        nothing = host.gaps.get(ORIGIN) == "absent"
        empty = {"devices": (), "active_ports": 0} if nothing else {}
        return Rdma(origin=ORIGIN, uverbs=uverbs, origins=origins, **empty)  # type: ignore[arg-type]
    there: tuple[str, ...] | None = () if nodes is None and uverbs == 0 else nodes
    verbs = _verbs(host, names)
    devices = tuple(_with_node(_device(host, name), verbs, there) for name in names)
    return Rdma(
        origin=ORIGIN,
        devices=devices,
        namespaces=_namespaces(host) if devices else None,
        active_ports=_active(devices),
        uverbs=uverbs,
        origins={**origins, "namespaces": command_origin(SYSTEM)},
    )


def _verbs(host: Host, devices: tuple[str, ...]) -> dict[str, str]:
    """The node of each device, by the device's name."""
    found = {}
    for node in (host.names(VERBS) or ()) if devices else ():
        if node.startswith("uverbs"):
            found[host.text(f"{VERBS}/{node}/ibdev") or ""] = node
    return found


def _with_node(device: RdmaDevice, verbs: Mapping[str, str], there: tuple[str, ...] | None) -> RdmaDevice:
    node = verbs.get(device.name)
    return device.model_copy(
        update={
            "verbs_node": node,
            "verbs_node_there": None if node is None or there is None else node in there,
            "origins": {**device.origins, "verbs_node": VERBS, "verbs_node_there": NODES},
        }
    )


def _namespaces(host: Host) -> str | None:
    output = host.run(SYSTEM)
    if output is None:
        return None
    found = parse_namespaces(output.stdout)
    if found is None:
        host.missed(command_origin(SYSTEM), "unsupported")
    return found


def parse_namespaces(text: str) -> str | None:
    """Who sees which device. Sample: ``netns shared copy-on-fork on``"""
    found = re.search(r"\bnetns (shared|exclusive)\b", text)
    return found[1] if found else None


def _active(devices: tuple[RdmaDevice, ...]) -> int | None:
    states = [port.state for device in devices for port in device.ports or ()]
    return None if None in states or any(device.ports is None for device in devices) else states.count(ACTIVE)


def _device(host: Host, name: str) -> RdmaDevice:
    folder = f"{ORIGIN}/{name}"
    device = host.real(f"{folder}/device") or ""
    # Some dumps lack the link, but the path of the device's own folder runs through the card.
    chain = pci_chain(device) or pci_chain(host.real(folder) or "")
    node, near = near_numa_node(host, f"{folder}/device/numa_node", device)
    ports = host.names(f"{folder}/ports")
    return read_fields(
        host,
        RdmaDevice,
        folder,
        name=name,
        node_type=_after_colon(host.text(f"{folder}/node_type")),
        driver=link_name(host, f"{folder}/device/driver"),
        pci_address=chain[-1] if chain else None,
        numa_node=node,
        virtual_function=_is_part(host, f"{folder}/device"),
        ports=None if ports is None else tuple(_port(host, folder, int(port)) for port in ports if port.isdecimal()),
        origins={"numa_node": near},
    )


def _is_part(host: Host, device: str) -> bool | None:
    """Whether the device is a virtual function. One made by software (rxe, siw) has no hardware to be part of."""
    names = host.names(device)
    return "physfn" in names if names else False if host.gaps.get(device) == "absent" else None


def _port(host: Host, device: str, number: int) -> Port:
    folder = f"{device}/ports/{number}"
    state, state_name = _numbered(host, f"{folder}/state")
    phys_state, phys_state_name = _numbered(host, f"{folder}/phys_state")
    rate, lanes, speed = parse_rate(host.text(f"{folder}/rate") or "")
    if rate is None:
        host.gaps.setdefault(f"{folder}/rate", "unsupported")
    return read_fields(
        host,
        Port,
        folder,
        number=number,
        state=state,
        state_name=state_name,
        phys_state=phys_state,
        phys_state_name=phys_state_name,
        rate_gbps=rate,
        lanes=lanes,
        speed=speed,
        gids=_gids(host, folder),
        counters=read_port_counters(host, folder),
        hw_counters=read_hw_counters(host, folder),
    )


def _numbered(host: Host, path: str) -> tuple[int | None, str | None]:
    text = host.text(path)
    number, name = parse_numbered(text or "")
    if text is not None and number is None:
        host.missed(path, "unsupported")
    return number, name


def parse_numbered(text: str) -> tuple[int | None, str | None]:
    """Number and name of a state. Sample: ``4: ACTIVE``"""
    found = re.match(r"(\d{1,3}): ?(\S.*)?$", text.strip(), re.ASCII)
    return (int(found[1]), found[2]) if found else (None, None)


def _after_colon(text: str | None) -> str | None:
    return parse_numbered(text)[1] if text else None


def parse_rate(text: str) -> tuple[float | None, int | None, str | None]:
    """Gb/s, lanes and name of the speed.

    Samples: ``400 Gb/sec (4X NDR)``, ``2.5 Gb/sec (1X SDR)``; older kernels name no speed: ``10 Gb/sec (4X)``
    """
    found = re.match(r"(\d{1,6}(?:\.\d{1,2})?) Gb/sec(?: \((\d{1,2})X(?: (\w+))?\))?", text.strip(), re.ASCII)
    if not found:
        return None, None, None
    return float(found[1]), int(found[2]) if found[2] else None, found[3]


def _gids(host: Host, port: str) -> tuple[Gid, ...] | None:
    """The entries in use. There may be holes, so all are read; type and interface of an empty one cannot be read."""
    names = host.names(f"{port}/gids")
    if names is None:
        return None
    used = []
    for name in names:
        text = (host.text(f"{port}/gids/{name}") or "").strip() if name.isdecimal() else ""
        if text.strip("0:"):
            used.append(_gid(host, port, int(name), text))
    return tuple(used)


def _gid(host: Host, port: str, index: int, text: str) -> Gid:
    types, netdevs = f"{port}/gid_attrs/types/{index}", f"{port}/gid_attrs/ndevs/{index}"
    return Gid(
        origin=f"{port}/gids/{index}",
        index=index,
        gid=text,
        type=host.text(types),
        netdev=host.text(netdevs),
        ipv4_mapped=text.startswith(_IPV4_MAPPED),
        link_local=text.startswith("fe80:"),
        origins={"type": types, "netdev": netdevs},
    )
