"""Distances that only given files tell, beside those that the host's bus shows."""

import pytest

from advisor.derived.topology import Topology, derive
from advisor.model.facts import evidence_path
from advisor.probes._gpu_models import GpuDevice
from advisor.probes._nccl_xml import parse_nccl_topo
from advisor.probes._topo_matrix import parse_topo
from advisor.probes.given_topology import GivenTopology, from_matrix, from_nccl
from advisor.probes.gpu import Gpu
from advisor.probes.pci import Device, Pci
from advisor.probes.rdma import Rdma, RdmaDevice
from tests.given_files import TOPO_M, nccl_topo

MATRIX = from_matrix(parse_topo(TOPO_M))
NCCL = from_nccl(parse_nccl_topo(nccl_topo()))
NO_BUS = Pci(origin="/sys/bus/pci/devices")
GPUS = Gpu(
    gpus=(
        GpuDevice(index=0, vendor="nvidia", pci_address="0000:3b:00.0"),
        GpuDevice(index=1, vendor="nvidia", pci_address="0000:5e:00.0"),
    )
)
CARDS = Rdma(
    devices=(
        RdmaDevice(name="mlx5_0", pci_address="0000:3c:00.0"),
        RdmaDevice(name="mlx5_4", pci_address="0000:5f:00.0"),
    )
)


def between(topology: Topology) -> list[tuple[str, str, str | None, int | None]]:
    return [(pair.a, pair.b, pair.distance, pair.links) for pair in topology.pairs or ()]


def nearest(topology: Topology) -> list[tuple[str, tuple[str, ...] | None, str | None]]:
    return [(place.address, place.nics, place.nic_distance) for place in topology.gpus or ()]


def test_a_matrix_stands_for_a_bus_that_nothing_shows() -> None:
    topology = derive(NO_BUS, CARDS, None, {}, GPUS, GivenTopology(topo_m=MATRIX))
    assert between(topology) == [
        ("0000:3b:00.0", "0000:5e:00.0", None, 18),
        ("0000:3b:00.0", "0000:3c:00.0", "PIX", None),
        ("0000:3b:00.0", "0000:5f:00.0", "SYS", None),
        ("0000:5e:00.0", "0000:3c:00.0", "SYS", None),
        ("0000:5e:00.0", "0000:5f:00.0", "PHB", None),
    ]
    assert nearest(topology) == [
        ("0000:3b:00.0", ("0000:3c:00.0",), "PIX"),
        ("0000:5e:00.0", ("0000:5f:00.0",), "PHB"),
    ]
    assert (topology.numa_nodes_with_gpus, topology.numa_nodes_with_nics) == ((0, 1), None)
    assert (topology.gpus or ())[1].cpus == (*range(48, 96), *range(144, 192))
    assert topology.disagreements is None


def test_devices_without_a_known_address_keep_their_names() -> None:
    topology = derive(NO_BUS, None, None, {}, None, GivenTopology(topo_m=MATRIX))
    assert nearest(topology) == [("GPU0", ("mlx5_0",), "PIX"), ("GPU1", ("mlx5_4",), "PHB")]


def test_two_files_tell_of_the_same_devices_once() -> None:
    topology = derive(NO_BUS, None, None, {}, None, GivenTopology(topo_m=MATRIX, nccl=NCCL))
    assert [place.address for place in topology.gpus or ()] == ["0001:00:00.0", "0002:00:00.0"]
    assert between(topology)[0] == ("0001:00:00.0", "0002:00:00.0", "SYS", 18)
    assert ("0001:00:00.0", "0101:00:00.0", "PIX", None) in between(topology)


def test_a_cell_that_is_cut_leaves_the_nearest_card_unknown() -> None:
    cut = from_matrix(parse_topo("\tGPU0\tmlx5_0\tmlx5_1\nGPU0\t X \tSYS\n"))
    topology = derive(NO_BUS, None, None, {}, None, GivenTopology(topo_m=cut))
    assert nearest(topology) == [("GPU0", None, None)]


def device(kind: str, address: str, node: int | None, root: str) -> Device:
    return Device(origin=f"/bus/{address}", address=address, kind=kind, path=(address,), root=root, near_numa_node=node)


@pytest.mark.parametrize(
    ("node", "distance", "evidence", "differing"),
    [
        (None, "PIX", "file: topo-m.txt", []),
        (1, "SYS", "/bus/0000:3b:00.0/numa_node", [("0000:3b:00.0 and 0000:3c:00.0", "SYS", "PIX")]),
    ],
    ids=["the host cannot tell", "the host says otherwise"],
)
def test_the_file_only_fills_what_the_bus_leaves_open(
    node: int | None, distance: str, evidence: str, differing: list[tuple[str, str, str]]
) -> None:
    bus = Pci(devices=(device("gpu", "0000:3b:00.0", 0, "pci0"), device("nic", "0000:3c:00.0", node, "pci1")))
    topology = derive(bus, CARDS, None, {}, GPUS, GivenTopology(topo_m=MATRIX))
    (pair,) = topology.pairs or ()
    assert (pair.distance, evidence_path(pair, "distance")) == (distance, evidence)
    assert [(one.subject, one.here, one.given) for one in topology.disagreements or ()] == differing


def test_nccl_tells_the_node_that_a_virtual_machine_hides() -> None:
    bus = Pci(devices=(device("gpu", "0002:00:00.0", None, "pci2"), device("nic", "0102:00:00.0", None, "pci3")))
    topology = derive(bus, None, None, {}, None, GivenTopology(nccl=NCCL))
    (place,) = topology.gpus or ()
    assert (place.numa_node, place.cpus, place.nics, place.nic_distance) == (
        1,
        tuple(range(16, 32)),
        ("0102:00:00.0",),
        "PHB",
    )
    assert evidence_path(place, "numa_node") == "file: nccl-topo.xml"
    assert (topology.numa_nodes_with_nics, topology.gpus_without_numa_node) == ((1,), 0)
