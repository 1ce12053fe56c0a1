"""Where GPUs and network cards sit as files tell that were given beside the host: `nvidia-smi topo -m`, NCCL's XML.

Nothing is read from the host; without such files the section is empty.
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

from advisor.figures import cpulist_text
from advisor.host.base import Host
from advisor.model.facts import Facts, Seen
from advisor.probes._collected import Collected
from advisor.probes._given import KINDS, NCCL_TOPO, TOPO_M
from advisor.probes._nccl_xml import NcclDevice, nccl_distance, parse_nccl_topo
from advisor.probes._topo_matrix import Matrix, parse_topo
from advisor.probes._xml import NotReadable


class GivenNet(Facts):
    """A network device of a card."""

    name: Annotated[str, "of the RDMA device or interface"]
    port: Annotated[int | None, "its port"] = None
    speed_mbps: Annotated[int | None, "megabits per second"] = None
    gdr: Annotated[bool | None, "NCCL may use GPUDirect RDMA with it"] = None


class GivenDevice(Facts):
    """A GPU or a network card."""

    name: Annotated[str, "as the file calls it: GPU0, NIC3, mlx5_0, or its PCI address"]
    kind: Annotated[str, "gpu or nic"]
    index: Annotated[int | None, "number of the GPU in that file"] = None
    pci_address: Annotated[str | None, "as sysfs writes it"] = None
    numa_node: Annotated[int | None, "NUMA node that it is near to"] = None
    cpus: Annotated[str | None, "list of the CPUs near it"] = None
    memory_node: Annotated[int | None, "NUMA node that its own memory is"] = None
    link_gtps: Annotated[float | None, "speed of its PCIe link, GT/s a lane; of AMD cards not known"] = None
    link_width: Annotated[int | None, "lanes of its PCIe link; of AMD cards not known"] = None
    compute_capability: Annotated[int | None, "of an NVIDIA GPU: 90 is 9.0"] = None
    gdr: Annotated[bool | None, "NCCL may use GPUDirect RDMA with the GPU"] = None
    links: Annotated[int | None, "NVLinks or xGMI links that leave the GPU"] = None
    nets: Annotated[tuple[GivenNet, ...] | None, "network devices of the card"] = None


class GivenPair(Facts):
    """Two devices, at least one of them a GPU."""

    a: Annotated[str, "name of the GPU"]
    b: Annotated[str, "name of the other device"]
    distance: Annotated[str | None, "PIX, PXB, PHB, NODE or SYS; not known of GPUs with NVLinks in topo -m"] = None
    links: Annotated[int | None, "NVLinks or xGMI links straight between them; topo -m counts those of a switch"] = None


class GivenPlaces(Facts):
    """What one file says."""

    devices: Annotated[tuple[GivenDevice, ...], "GPUs and network cards"] = ()
    pairs: Annotated[tuple[GivenPair, ...], "GPU with GPU, GPU with network card"] = ()
    incomplete: Annotated[
        tuple[str, ...], "devices whose row is missing, cut or contradicts another; what it says is left out"
    ] = ()


class GivenTopology(Facts):
    """What files given beside the host say of the places of GPUs and network cards."""

    read_from: ClassVar[str] = "file: topo-m, file: nccl-topo"
    seen: ClassVar[Seen] = "host"

    topo_m: Annotated[GivenPlaces | None, "nvidia-smi topo -m (--topo-m)"] = None
    nccl: Annotated[GivenPlaces | None, "NCCL's topology file (--nccl-topo)"] = None


COLLECTED = Collected()


def read(host: Host) -> GivenTopology:
    """The topology that was given with ``host``."""
    origins = {"topo_m": KINDS[TOPO_M].origin, "nccl": KINDS[NCCL_TOPO].origin}
    topo_m = nccl = None
    try:
        if (text := host.given.get(TOPO_M)) is not None:
            topo_m = from_matrix(parse_topo(text))
    except NotReadable:
        host.missed(origins["topo_m"], "error")
    try:
        if (text := host.given.get(NCCL_TOPO)) is not None:
            nccl = from_nccl(parse_nccl_topo(text))
    except NotReadable:
        host.missed(origins["nccl"], "error")
    return GivenTopology(origin=origins["topo_m"], topo_m=topo_m, nccl=nccl, origins=origins)


def from_matrix(matrix: Matrix) -> GivenPlaces:
    """The places that a matrix of ``nvidia-smi topo -m`` tells."""
    origin = KINDS[TOPO_M].origin
    devices = []
    for name in matrix.devices:
        index, row = matrix.index(name), matrix.rows.get(name)
        # Before there were NIC0 and a legend, columns bore the names of the RDMA devices.
        net = None if index is not None else matrix.names.get(name) or (None if name.startswith("NIC") else name)
        devices.append(
            GivenDevice(
                origin=origin,
                name=name,
                kind="nic" if index is None else "gpu",
                index=index,
                numa_node=row.numa_node if row else None,
                cpus=row.cpus if row else None,
                memory_node=row.memory_node if row else None,
                nets=(GivenNet(origin=origin, name=net),) if net else None,
            )
        )
    pairs = []
    for (one, other), relation in matrix.relations.items():
        if matrix.index(one) is None:
            one, other = other, one
        if matrix.index(one) is None:
            continue
        links = int(relation[2:]) if relation.startswith("NV") else None
        distance = None if links is not None else relation
        pairs.append(GivenPair(origin=origin, a=one, b=other, distance=distance, links=links))
    return GivenPlaces(origin=origin, devices=tuple(devices), pairs=tuple(pairs), incomplete=matrix.incomplete)


def from_nccl(devices: tuple[NcclDevice, ...]) -> GivenPlaces:
    """The places that a topology file of NCCL tells."""
    origin = KINDS[NCCL_TOPO].origin
    gpus = [device for device in devices if device.kind == "gpu"]
    nics = [device for device in devices if device.kind == "nic"]
    together = [(a, b) for number, a in enumerate(gpus) for b in (*gpus[number + 1 :], *nics)]
    return GivenPlaces(
        origin=origin,
        devices=tuple(_nccl_device(device, origin) for device in (*gpus, *nics)),
        pairs=tuple(_nccl_pairs(together, origin)),
    )


def _nccl_device(device: NcclDevice, origin: str) -> GivenDevice:
    nets = tuple(
        GivenNet(origin=origin, name=net.name, port=net.port, speed_mbps=net.speed_mbps, gdr=net.gdr)
        for net in device.nets
    )
    return GivenDevice(
        origin=origin,
        name=device.address,
        kind=device.kind,
        index=device.index,
        pci_address=device.address,
        numa_node=device.numa_node,
        cpus=cpulist_text(tuple(sorted(device.cpus))) if device.cpus else None,
        link_gtps=device.link_gtps,
        link_width=device.link_width,
        compute_capability=device.compute_capability,
        gdr=device.gdr,
        links=sum(device.links.values()) if device.links else None,
        nets=nets or None,
    )


def _nccl_pairs(together: Iterable[tuple[NcclDevice, NcclDevice]], origin: str) -> Iterable[GivenPair]:
    for a, b in together:
        yield GivenPair(
            origin=origin,
            a=a.address,
            b=b.address,
            distance=nccl_distance(a, b),
            links=a.links.get(b.address) or b.links.get(a.address),
        )
