"""The picture that `advisor topology` prints: NUMA nodes, the PCIe tree below them, and what is near which GPU."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from advisor.derived.topology import GpuPlace, Topology
from advisor.figures import cpulist_text, size_text
from advisor.inputs import printable
from advisor.model.snapshot import Snapshot
from advisor.probes.block import Block
from advisor.probes.gpu import Gpu
from advisor.probes.net import Net
from advisor.probes.numa import Node, Numa
from advisor.probes.pci import Device, Pci
from advisor.probes.rdma import Rdma

_SHOWN = ("gpu", "nic", "nvme", "nvswitch", "raid", "sas")


@dataclass
class _Branch:
    """A port or switch, or a device, with what hangs below it."""

    name: str
    device: Device | None = None
    below: dict[str, "_Branch"] = field(default_factory=dict)


def text(snapshot: Snapshot) -> str:
    """The picture; what nothing tells is ``unknown``."""
    lines = [*_nodes(snapshot), *_places(snapshot)]
    return "".join(printable(line) + "\n" for line in lines)


def document(snapshot: Snapshot) -> dict[str, object]:
    """The same as plain values."""
    topology = snapshot.get(Topology) or Topology()
    labels = _labels(snapshot)
    return {
        "schema_version": 1,
        "nodes": [
            {
                "number": node.number,
                "cpus": cpulist_text(node.cpus),
                "memory_bytes": node.memory_bytes,
                "distances": node.distances,
            }
            for node in (snapshot.get(Numa) or Numa()).nodes or ()
        ],
        "devices": [
            {
                "address": one.address,
                "kind": one.kind,
                "numa_node": one.near_numa_node,
                "root": one.root,
                "path": one.path,
                "about": labels.get(one.address),
            }
            for one in _devices(snapshot) or ()
        ],
        "pairs": [
            {"a": one.a, "b": one.b, "kind": one.b_kind, "distance": one.distance} for one in topology.pairs or ()
        ],
    }


def _devices(snapshot: Snapshot) -> tuple[Device, ...] | None:
    """What training moves data between; functions of a card that it shares out are left out."""
    devices = (snapshot.get(Pci) or Pci()).devices
    if devices is None:
        return None
    return tuple(one for one in devices if one.kind in _SHOWN and one.physical_function is None)


def _nodes(snapshot: Snapshot) -> Iterator[str]:
    nodes, devices = (snapshot.get(Numa) or Numa()).nodes, _devices(snapshot)
    labels = _labels(snapshot)
    if devices is None:
        yield "PCIe devices: unknown"
    for node in nodes or ():
        yield _node(node)
        yield from _tree([one for one in devices or () if one.near_numa_node == node.number], labels)
    known = {node.number for node in nodes or ()}
    rest = [one for one in devices or () if one.near_numa_node not in known]
    if rest or not nodes:
        yield "no NUMA nodes" if nodes == () else "NUMA node unknown"
        yield from _tree(rest, labels)


def _node(node: Node) -> str:
    distances = f", distances {' '.join(map(str, node.distances))}" if node.distances else ""
    return f"NUMA node {node.number}: CPUs {cpulist_text(node.cpus)}, memory {size_text(node.memory_bytes)}{distances}"


def _tree(devices: Sequence[Device], labels: dict[str, str]) -> Iterator[str]:
    top = _Branch("")
    for one in devices:
        at = top
        for part in (one.root or "root complex unknown", *(one.path or (one.address,))):
            at = at.below.setdefault(part, _Branch(part))
        at.device = one
    for branch in top.below.values():
        yield from _branch(branch, 1, labels)


def _branch(branch: _Branch, depth: int, labels: dict[str, str]) -> Iterator[str]:
    """The lines of a branch; a bridge with a single thing below it is left out."""
    if branch.device is None and len(branch.below) == 1 and depth > 1:
        yield from _branch(next(iter(branch.below.values())), depth, labels)
        return
    about = "" if branch.device is None else _about(branch.device, labels)
    yield f"{'  ' * depth}{branch.name}{about or (' bridge' if depth > 1 else '')}"
    for below in branch.below.values():
        yield from _branch(below, depth + 1, labels)


def _about(device: Device, labels: dict[str, str]) -> str:
    width = f", x{device.link_width}" if device.link_width else ""
    if device.link_width and device.max_link_width and device.link_width < device.max_link_width:
        width += f" of x{device.max_link_width}"
    label = labels.get(device.address)
    return f" {device.kind}{f' {label}' if label else ''}{width}"


def _labels(snapshot: Snapshot) -> dict[str, str]:
    """What people call the devices, by PCI address."""
    found: dict[str, list[str]] = {}

    def add(address: str | None, name: str | None) -> None:
        if address and name:
            found.setdefault(address, []).append(name)

    for gpu in (snapshot.get(Gpu) or Gpu()).gpus or ():
        add(gpu.pci_address, " ".join(str(word) for word in (gpu.index, gpu.name) if word is not None))
    for interface in (snapshot.get(Net) or Net()).interfaces or ():
        speed = f" ({interface.speed_mbps / 1000:g} Gb/s)" if interface.speed_mbps else ""
        add(interface.pci_address, f"{interface.name}{speed}")
    for rdma in (snapshot.get(Rdma) or Rdma()).devices or ():
        add(rdma.pci_address, rdma.name)
    for block in (snapshot.get(Block) or Block()).devices or ():
        add(block.pci_address if block.kind == "nvme" else None, f"{block.name} {size_text(block.size_bytes)}")
    return {address: ", ".join(names) for address, names in found.items()}


def _places(snapshot: Snapshot) -> Iterator[str]:
    places = (snapshot.get(Topology) or Topology()).gpus
    if places:
        yield "Nearest to each GPU (PIX one switch, PXB several, PHB the CPU of the node, SYS another node)"
        yield from map(_place, places)


def _place(place: GpuPlace) -> str:
    parts = [
        f"network {_near(place.nics, place.nic_distance)}",
        f"drives {_near(place.nvmes, place.nvme_distance)}",
        f"CPUs {cpulist_text(place.cpus)}",
    ]
    return f"  {place.address}: {'; '.join(parts)}"


def _near(addresses: Sequence[str] | None, distance: str | None) -> str:
    if addresses is None:
        return "unknown"
    return f"{', '.join(addresses)} ({distance or 'distance unknown'})" if addresses else "none"
