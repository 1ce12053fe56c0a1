"""How far GPUs, network cards and NVMe drives are from each other, as NCCL counts it.

PIX: one PCIe switch between them; PXB: several; PHB: through the CPU (or its root complexes) of one NUMA node;
SYS: across NUMA nodes. A card hangs on the first switch above it; each switch is two steps of the sysfs path, its
downstream and its upstream port (NCCL, src/graph/xml.cc and paths.cc).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from advisor.derived._given_places import Told, told_by
from advisor.derived._peers import nvlinked, way_between
from advisor.model.facts import Facts, GapState, Root, evidence_path
from advisor.probes._cpulist import parse_cpulist
from advisor.probes._given import Disagreement, disagreement
from advisor.probes._pci_codes import GPU_VENDORS
from advisor.probes.given_topology import GivenDevice, GivenTopology
from advisor.probes.gpu import Gpu
from advisor.probes.numa import Numa
from advisor.probes.pci import Device, Pci
from advisor.probes.rdma import Rdma

DISTANCES = ("PIX", "PXB", "PHB", "SYS")
"""Nearest first."""
NO_NODE = -1
"""NCCL takes devices whose node the kernel does not know as lying together on a node of this number."""
_KINDS = ("gpu", "nic", "nvme")


class Pair(Facts):
    """Two devices."""

    a: Annotated[str, "PCI address of the GPU; its name in a given file where nothing tells the address"]
    b: Annotated[str, "PCI address of the other device, or its name, as of a"]
    b_kind: Annotated[str, "gpu, nic or nvme"]
    distance: Annotated[str | None, "PIX, PXB, PHB or SYS"] = None
    acs_redirects: Annotated[
        bool | None,
        Root(),
        "a bridge between them sends what they exchange up to the root complex; only of two below one port or switch",
    ] = None
    acs_redirecting: Annotated[tuple[str, ...] | None, Root(), "PCI addresses of the bridges that do"] = None
    links: Annotated[int | None, "NVLinks or xGMI links between them, as a given file tells"] = None
    nvlink: Annotated[bool | None, "two GPUs that talk over NVLink or xGMI"] = None


class GpuPlace(Facts):
    """Where a GPU sits."""

    address: Annotated[str, "PCI address, or the GPU's name in a given file where nothing tells the address"]
    numa_node: Annotated[int | None, "its node, or that of the nearest parent that says one"] = None
    cpus: Annotated[tuple[int, ...] | None, "CPUs near it"] = None
    nics: Annotated[
        tuple[str, ...] | None, "PCI addresses of the nearest RDMA cards, or network cards if none does RDMA"
    ] = None
    nic_distance: Annotated[str | None, "how near those are"] = None
    nvmes: Annotated[tuple[str, ...] | None, "PCI addresses of the nearest NVMe drives"] = None
    nvme_distance: Annotated[str | None, "how near those are"] = None


class Topology(Facts):
    """Distances between the devices that training moves data between."""

    pairs: Annotated[tuple[Pair, ...] | None, "GPU with GPU, GPU with network card, GPU with NVMe drive"] = None
    gpus: Annotated[tuple[GpuPlace, ...] | None, "by PCI address"] = None
    numa_nodes_with_gpus: tuple[int, ...] | None = None
    numa_nodes_with_nics: tuple[int, ...] | None = None
    numa_nodes_with_nvmes: tuple[int, ...] | None = None
    gpus_without_numa_node: Annotated[int | None, "GPUs whose NUMA node nothing tells"] = None
    acs_redirecting: Annotated[
        tuple[str, ...] | None,
        Root(),
        "PCI addresses of bridges that send up what a GPU exchanges with a GPU or network card below the same switch",
    ] = None
    disagreements: Annotated[
        tuple[Disagreement, ...] | None, "where a given file says otherwise; the distance by the host is kept"
    ] = None


def derive(
    pci: Pci,
    rdma: Rdma | None,
    numa: Numa | None,
    gaps: Mapping[str, GapState],
    gpu: Gpu | None = None,
    given: GivenTopology | None = None,
) -> Topology:
    """The distances between the devices of ``pci``, and what only given files tell of them."""
    told = told_by(given, gpu, rdma)
    if not pci.devices and told.gpus:
        return _all_told(told)
    if pci.devices is None:
        return Topology(origin=pci.origin)
    devices = [device for device in pci.devices if not _beside_nvidia(device, pci.devices)]
    by_kind = {kind: [_spot(device, gaps) for device in devices if device.kind == kind] for kind in _KINDS}
    gpus, others = by_kind["gpu"], [("nic", spot) for spot in by_kind["nic"]]
    others += [("nvme", spot) for spot in by_kind["nvme"]]
    bridges = {device.address: device for device in pci.devices if device.kind == "bridge"}
    pairs = [_pair(a, "gpu", b, bridges) for number, a in enumerate(gpus) for b in gpus[number + 1 :]]
    pairs += [_pair(gpu, kind, other, bridges) for gpu in gpus for kind, other in others]
    differing = tuple(one for pair in pairs if (one := _difference(pair, told)))
    links = nvlinked(gpu)
    pairs = [_over_nvlink(_pair_with(pair, told), links) for pair in pairs]
    cards = _rdma_cards(rdma, by_kind["nic"])
    places = tuple(_place_with(_place(gpu, cards, by_kind["nvme"], pairs, numa), told) for gpu in gpus)
    return Topology(
        origin=pci.origin,
        pairs=tuple(pairs),
        gpus=places,
        numa_nodes_with_gpus=_nodes([place.numa_node for place in places]),
        numa_nodes_with_nics=_nodes([_node(nic, told.nics) for nic in by_kind["nic"]]),
        numa_nodes_with_nvmes=_nodes([nvme.device.near_numa_node for nvme in by_kind["nvme"]]),
        gpus_without_numa_node=sum(place.numa_node is None for place in places),
        acs_redirecting=_redirecting(pairs),
        disagreements=differing if told.gpus else None,
    )


def _beside_nvidia(device: Device, others: Sequence[Device]) -> bool:
    """Whether it is AMD's GPU beside NVIDIA's: built into the processor for a screen, so that no rank runs on it."""
    amd = device.kind == "gpu" and GPU_VENDORS.get(device.vendor or "") == "amd"
    return amd and any(other.kind == "gpu" and GPU_VENDORS.get(other.vendor or "") == "nvidia" for other in others)


def _difference(pair: Pair, told: Told) -> Disagreement | None:
    distance, origin = told.distances.get((pair.a, pair.b), (None, ""))
    if None in (pair.distance, distance) or pair.distance == distance:
        return None
    return disagreement(origin, f"{pair.a} and {pair.b}", "distance", pair.distance, distance)


def _pair_with(pair: Pair, told: Told) -> Pair:
    """``pair`` with its links, and its distance where only a file tells it."""
    links = told.links.get((pair.a, pair.b))
    if pair.distance is not None or (pair.a, pair.b) not in told.distances:
        return pair if links is None else pair.model_copy(update={"links": links})
    distance, origin = told.distances[pair.a, pair.b]
    origins = {**pair.origins, "distance": origin}
    return pair.model_copy(update={"distance": distance, "links": links, "origins": origins})


def _over_nvlink(pair: Pair, links: Mapping[tuple[str, str], tuple[bool, str]]) -> Pair:
    """``pair`` with whether it talks over NVLink: as the driver says, else as a file does."""
    nvlink, origin = links.get((pair.a, pair.b), (None, ""))
    if nvlink is None and pair.links is not None:
        nvlink, origin = pair.links > 0, pair.origins.get("links", pair.origin)
    if nvlink is None or pair.b_kind != "gpu":
        return pair
    return pair.model_copy(update={"nvlink": nvlink, "origins": {**pair.origins, "nvlink": origin}})


def _redirecting(pairs: Sequence[Pair]) -> tuple[str, ...] | None:
    """The bridges that redirect between GPUs and what is below the same switch; unknown where one pair's are."""
    near = [pair for pair in pairs if pair.distance in ("PIX", "PXB") and pair.b_kind in ("gpu", "nic")]
    if any(pair.acs_redirecting is None for pair in near):
        return None
    return tuple(sorted({bridge for pair in near for bridge in pair.acs_redirecting or ()}))


def _place_with(place: GpuPlace, told: Told) -> GpuPlace:
    """``place`` with the node and the CPUs that only a file tells."""
    device = told.gpus.get(place.address)
    if device is None:
        return place
    found = {"numa_node": device.numa_node, "cpus": _cpus_told(device.cpus)}
    values = {name: value for name, value in found.items() if value is not None and getattr(place, name) is None}
    origins = {**place.origins, **{name: device.origin for name in values}}
    return place.model_copy(update={**values, "origins": origins}) if values else place


def _node(spot: "_Spot", told: Mapping[str, GivenDevice]) -> int | None:
    device, node = told.get(spot.device.address), spot.device.near_numa_node
    return device.numa_node if node is None and device is not None else node


def _all_told(told: Told) -> Topology:
    """The topology of a machine whose bus nothing shows: the files' own."""
    origin = next(iter(told.gpus.values())).origin
    gpus, nics = list(told.gpus), list(told.nics)
    together = [(a, b, "gpu") for number, a in enumerate(gpus) for b in gpus[number + 1 :]]
    together += [(a, b, "nic") for a in gpus for b in nics]
    places = tuple(_told_place(address, device, told) for address, device in told.gpus.items())
    return Topology(
        origin=origin,
        pairs=tuple(_pair_with(Pair(origin=origin, a=a, b=b, b_kind=kind), told) for a, b, kind in together),
        gpus=places,
        numa_nodes_with_gpus=_nodes([place.numa_node for place in places]),
        numa_nodes_with_nics=_nodes([nic.numa_node for nic in told.nics.values()]),
        gpus_without_numa_node=sum(place.numa_node is None for place in places),
    )


def _told_place(address: str, device: GivenDevice, told: Told) -> GpuPlace:
    distances = {nic: told.distances.get((address, nic), (None, ""))[0] for nic in told.nics}
    complete = bool(distances) and None not in distances.values()
    nics, distance = nearest(distances) if complete else (None, None)
    return GpuPlace(
        origin=device.origin,
        address=address,
        numa_node=device.numa_node,
        cpus=_cpus_told(device.cpus),
        nics=nics,
        nic_distance=distance,
    )


@dataclass(frozen=True)
class _Spot:
    """A device, the switches above it from the nearest outwards, and the node that NCCL hangs it on."""

    device: Device
    switches: tuple[str, ...]
    node: int | None
    """-1 where the kernel says that it does not know; ``None`` where we do not."""


def _spot(device: Device, gaps: Mapping[str, GapState]) -> _Spot:
    node = device.near_numa_node
    if node is None and gaps.get(f"{device.origin}/numa_node") in ("unsupported", "absent"):
        node = NO_NODE
    return _Spot(device, switches_above(device.path), node)


def switches_above(path: tuple[str, ...]) -> tuple[str, ...]:
    """The upstream ports of the switches above a device, the nearest first.

    Sample: (root port, up, down, device) gives (up,); (root port, device) gives nothing
    """
    return path[-2::-1][1::2]


def distance(a: _Spot, b: _Spot) -> str | None:
    """How far two devices are from each other; ``None`` when a NUMA node is not known."""
    common = [switch for switch in a.switches if switch in b.switches]
    if common:
        nearest = a.switches.index(common[0]) == 0 and b.switches.index(common[0]) == 0
        return "PIX" if nearest else "PXB"
    if a.device.root is not None and a.device.root == b.device.root:
        return "PHB"
    if a.node is None or b.node is None or (a.node != b.node and NO_NODE in (a.node, b.node)):
        return None
    return "PHB" if a.node == b.node else "SYS"


def _pair(gpu: _Spot, kind: str, other: _Spot, bridges: Mapping[str, Device]) -> Pair:
    origins = {"distance": gpu.device.origins.get("near_numa_node", f"{gpu.device.origin}/numa_node")}
    way = way_between(gpu.device, other.device, bridges)
    if way is not None:
        origins |= dict.fromkeys(("acs_redirects", "acs_redirecting"), way.origin)
    return Pair(
        origin=gpu.device.origin,
        a=gpu.device.address,
        b=other.device.address,
        b_kind=kind,
        distance=distance(gpu, other),
        acs_redirects=way.redirects if way is not None else None,
        acs_redirecting=way.redirecting if way is not None else None,
        origins=origins,
    )


def _place(gpu: _Spot, cards: list[_Spot], nvmes: list[_Spot], pairs: list[Pair], numa: Numa | None) -> GpuPlace:
    device = gpu.device
    cpus, cpus_origin = _cpus(device, numa)
    distances = {pair.b: pair.distance for pair in pairs if pair.a == device.address}
    nics, nic_distance = nearest({card.device.address: distances[card.device.address] for card in cards})
    drives, drive_distance = nearest({drive.device.address: distances[drive.device.address] for drive in nvmes})
    return GpuPlace(
        origin=device.origin,
        address=device.address,
        numa_node=device.near_numa_node,
        cpus=cpus,
        nics=nics,
        nic_distance=nic_distance,
        nvmes=drives,
        nvme_distance=drive_distance,
        origins={
            "numa_node": device.origins.get("near_numa_node", f"{device.origin}/numa_node"),
            "cpus": cpus_origin,
        },
    )


def nearest(distances: Mapping[str, str | None]) -> tuple[tuple[str, ...] | None, str | None]:
    """The devices that are nearest and how near; unknown when one of unknown distance may be nearer."""
    if not distances:
        return (), None
    known = [found for found in distances.values() if found is not None]
    best = min(known, key=DISTANCES.index, default=None)
    # A common switch is always seen; only a node may be unknown, so what has none cannot be nearer than PHB.
    if best is None or (best == "SYS" and len(known) < len(distances)):
        return None, None
    return tuple(address for address, found in distances.items() if found == best), best


def _rdma_cards(rdma: Rdma | None, nics: list[_Spot]) -> list[_Spot]:
    """Network cards that do RDMA; all cards where none does."""
    devices = (rdma.devices if rdma is not None else None) or ()
    addresses = {device.pci_address for device in devices}
    return [nic for nic in nics if nic.device.address in addresses] or nics


def _nodes(nodes: Sequence[int | None]) -> tuple[int, ...] | None:
    """The nodes of devices; unknown when one is."""
    return None if None in nodes else tuple(sorted({node for node in nodes if node is not None}))


def _cpus(device: Device, numa: Numa | None) -> tuple[tuple[int, ...] | None, str]:
    """CPUs near a device, and where that stands.

    Of a device whose node the firmware left out the kernel names all CPUs; where a bridge above it tells the node, its
    CPUs are meant.
    """
    if device.numa_node_unset and device.near_numa_node is not None:
        nodes = (numa.nodes if numa is not None else None) or ()
        node = next((node for node in nodes if node.number == device.near_numa_node), None)
        if node is not None:
            return node.cpus, evidence_path(node, "cpus")
        return None, device.origins.get("near_numa_node", f"{device.origin}/numa_node")
    return _cpus_told(device.local_cpulist), f"{device.origin}/local_cpulist"


def _cpus_told(text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else parse_cpulist(text)
    except ValueError:
        return None
