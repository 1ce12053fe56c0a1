"""What given files say of the places of GPUs and cards, by the PCI addresses that the host knows them by."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.probes.given_topology import GivenDevice, GivenPlaces, GivenTopology
from advisor.probes.gpu import Gpu
from advisor.probes.rdma import Rdma

_AS_NCCL = {"NODE": "PHB"}
"""nvidia-smi tells ways inside one NUMA node apart that NCCL does not."""


@dataclass
class Told:
    """Devices by address (by the file's name for one whose address nothing tells), and what is between two."""

    gpus: dict[str, GivenDevice] = field(default_factory=dict)
    nics: dict[str, GivenDevice] = field(default_factory=dict)
    distances: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Distance and evidence; both ways."""
    links: dict[tuple[str, str], int] = field(default_factory=dict)
    """NVLinks or xGMI links; both ways."""

    def add(self, places: GivenPlaces, addresses: Mapping[str, str]) -> None:
        """Adds what one file says of the devices that have an address; what is known already stays."""
        for device in places.devices:
            if device.name in addresses:
                (self.gpus if device.kind == "gpu" else self.nics).setdefault(addresses[device.name], device)
        for pair in places.pairs:
            if pair.a not in addresses or pair.b not in addresses:
                continue
            a, b = addresses[pair.a], addresses[pair.b]
            for one in ((a, b), (b, a)):
                if pair.distance is not None:
                    distance = _AS_NCCL.get(pair.distance, pair.distance)
                    self.distances.setdefault(one, (distance, pair.origin))
                if pair.links is not None:
                    self.links.setdefault(one, pair.links)


def told_by(given: GivenTopology | None, gpu: Gpu | None, rdma: Rdma | None) -> Told:
    """What the files say together; ``nvidia-smi topo -m`` counts first, for it was asked of the driver."""
    told = Told()
    if given is None:
        return told
    if given.topo_m is not None:
        told.add(given.topo_m, _addresses(given.topo_m, given.nccl, gpu, rdma))
    if given.nccl is not None:
        told.add(given.nccl, {device.name: device.name for device in given.nccl.devices})
    return told


def _addresses(matrix: GivenPlaces, nccl: GivenPlaces | None, gpu: Gpu | None, rdma: Rdma | None) -> Mapping[str, str]:
    """The address of each device of a matrix. Beside NCCL's file one without an address is left out: it is in there."""
    devices = nccl.devices if nccl is not None else ()
    by_index = {one.index: one.pci_address for one in devices if one.kind == "gpu" and one.index is not None}
    by_net = {net.name: one.pci_address for one in devices for net in one.nets or ()}
    by_index |= {one.index: one.pci_address for one in (gpu.gpus if gpu else None) or () if one.vendor == "nvidia"}
    by_net |= {one.name: one.pci_address for one in (rdma.devices if rdma else None) or ()}
    found: dict[str, str] = {}
    for device in matrix.devices:
        net = device.nets[0].name if device.nets else None
        address = by_net.get(net or "") if device.index is None else by_index.get(device.index)
        if address is not None:
            found[device.name] = address
        elif nccl is None:
            found[device.name] = net or device.name
    # Two ports behind one function: which of them a cell is about, the address does not tell.
    return {name: address for name, address in found.items() if [*found.values()].count(address) == 1}
