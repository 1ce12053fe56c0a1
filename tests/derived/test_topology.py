"""Distances between GPUs, network cards and NVMe drives, as NCCL counts them."""

from pathlib import Path

import pytest

from advisor.derived.topology import DISTANCES, Topology, derive, nearest, switches_above
from advisor.host.captured import open_root
from advisor.model.facts import GapState, evidence_path
from advisor.probes import numa, pci, rdma
from advisor.probes.numa import Node, Numa
from advisor.probes.pci import Device, Pci
from advisor.probes.rdma import Rdma, RdmaDevice

DERIVED = Path(__file__).resolve().parents[3] / "shared/hosts/derived"


def device(kind: str, *path: str, node: int | None = 0, root: str | None = "pci0", own: bool = True) -> Device:
    """A device at the end of ``path``."""
    return Device(
        origin=f"/dev/{path[-1]}",
        address=path[-1],
        kind=kind,
        path=path,
        root=root,
        numa_node=node if own else None,
        near_numa_node=node,
        local_cpulist="0-1,8",
    )


def derived(
    *devices: Device, rdma: Rdma | None = None, gaps: dict[str, GapState] | None = None, numa: Numa | None = None
) -> Topology:
    return derive(Pci(origin="/bus", devices=devices), rdma, numa, gaps or {})


@pytest.mark.parametrize(
    ("vendor", "places"), [("10de", ["gpu"]), ("1002", ["gpu", "other"]), (None, ["gpu", "other"])]
)
def test_amds_gpu_beside_nvidias_has_no_place(vendor: str | None, places: list[str]) -> None:
    card = GPU.model_copy(update={"vendor": vendor})
    other = device("gpu", "port4", "other", node=1).model_copy(update={"vendor": "1002"})
    found = derived(card, other)
    assert [place.address for place in found.gpus or ()] == places
    assert found.numa_nodes_with_gpus == ((0,) if len(places) == 1 else (0, 1))
    assert len(found.pairs or ()) == len(places) - 1


def distance(a: Device, b: Device, gaps: dict[str, GapState] | None = None) -> str | None:
    (pair,) = derived(a, b, gaps=gaps).pairs or ()
    return pair.distance


GPU = device("gpu", "port", "up", "down1", "gpu")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (device("nic", "port", "up", "down2", "nic"), "PIX"),
        (device("nic", "port", "up", "down2", "up2", "down3", "nic"), "PXB"),
        (device("nic", "port2", "nic"), "PHB"),
        (device("nic", "port", "nic"), "PHB"),
        (device("nic", "port3", "nic", root="pci1"), "PHB"),
        (device("nic", "port4", "nic", root="pci2", node=1), "SYS"),
        (device("gpu", "port", "up", "down2", "gpu2"), "PIX"),
        (device("nvme", "port9", "nvme", root="pci2", node=1), "SYS"),
    ],
    ids=[
        "one switch",
        "two switches",
        "same root complex",
        "same root port without a switch",
        "other root complex of the node",
        "other node",
        "two GPUs below one switch",
        "drive on the other node",
    ],
)
def test_distances(other: Device, expected: str) -> None:
    assert distance(GPU, other) == expected


def test_nodes_that_the_kernel_does_not_know_count_as_one() -> None:
    a, b = device("gpu", "a", node=None, root="r1"), device("nic", "b", node=None, root="r2")
    assert distance(a, b, {"/dev/a/numa_node": "unsupported", "/dev/b/numa_node": "unsupported"}) == "PHB"


def test_nodes_that_nobody_read_leave_the_distance_open() -> None:
    a, b = device("gpu", "a", node=None, root="r1"), device("nic", "b", node=None, root="r2")
    assert distance(a, b, {"/dev/a/numa_node": "not captured", "/dev/b/numa_node": "not captured"}) is None


def test_one_known_node_is_not_enough() -> None:
    a, b = device("gpu", "a", node=None, root="r1"), device("nic", "b", node=1, root="r2")
    assert distance(a, b, {"/dev/a/numa_node": "unsupported"}) is None


@pytest.mark.parametrize(
    ("path", "switches"),
    [
        (("device",), ()),
        (("port", "device"), ()),
        (("port", "up", "down", "device"), ("up",)),
        (("port", "up1", "down1", "up2", "down2", "device"), ("up2", "up1")),
    ],
    ids=["root bus", "root port", "one switch", "two switches"],
)
def test_a_switch_is_two_steps(path: tuple[str, ...], switches: tuple[str, ...]) -> None:
    assert switches_above(path) == switches


def test_a_gpu_has_its_nearest_cards_and_drives() -> None:
    near = device("nic", "port", "up", "down2", "near")
    far = device("nic", "port4", "far", root="pci2", node=1)
    drive = device("nvme", "port5", "drive", root="pci2", node=1)
    topology = derived(GPU, near, far, drive)
    (place,) = topology.gpus or ()
    assert (place.nics, place.nic_distance) == (("near",), "PIX")
    assert (place.nvmes, place.nvme_distance) == (("drive",), "SYS")
    assert (place.numa_node, place.cpus) == (0, (0, 1, 8))
    assert (topology.numa_nodes_with_gpus, topology.numa_nodes_with_nics) == ((0,), (0, 1))
    assert topology.gpus_without_numa_node == 0


def test_cpus_of_a_gpu_whose_node_only_a_bridge_tells_are_those_of_the_node() -> None:
    gpu = device("gpu", "port", "gpu", node=1, own=False).model_copy(update={"numa_node_unset": True})
    nodes = Numa(
        nodes=(Node(number=0, cpus=(0, 1)), Node(origin="/sys/devices/system/node/node1", number=1, cpus=(8,)))
    )
    (place,) = derived(gpu, numa=nodes).gpus or ()
    assert (place.cpus, evidence_path(place, "cpus")) == ((8,), "/sys/devices/system/node/node1/cpulist")
    (place,) = derived(gpu).gpus or ()
    assert place.cpus is None


def test_cards_that_do_rdma_go_before_others() -> None:
    plain = device("nic", "port", "up", "down2", "plain")
    fast = device("nic", "port4", "fast", root="pci2", node=1)
    found = Rdma(devices=(RdmaDevice(name="mlx5_0", pci_address="fast"),))
    (place,) = derived(GPU, plain, fast, rdma=found).gpus or ()
    assert (place.nics, place.nic_distance) == (("fast",), "SYS")


def test_without_a_list_of_devices_nothing_is_known() -> None:
    topology = derive(Pci(origin="/bus"), None, None, {})
    assert (topology.pairs, topology.gpus, topology.numa_nodes_with_gpus) == (None, None, None)


def test_a_host_without_gpus_has_no_pairs() -> None:
    topology = derived(device("nic", "port", "nic"))
    assert (topology.pairs, topology.gpus, topology.numa_nodes_with_gpus) == ((), (), ())


@pytest.mark.parametrize(
    ("distances", "expected"),
    [
        ({}, ((), None)),
        ({"a": "SYS", "b": "PXB", "c": "PXB"}, (("b", "c"), "PXB")),
        ({"a": "PHB", "b": None}, (("a",), "PHB")),
        ({"a": "SYS", "b": None}, (None, None)),
        ({"a": None}, (None, None)),
    ],
    ids=["no device", "nearest of three", "unknown cannot be nearer", "unknown may be nearer", "all unknown"],
)
def test_nearest(distances: dict[str, str | None], expected: object) -> None:
    assert nearest(distances) == expected


def captured(name: str) -> Topology:
    host = open_root(str(DERIVED / name))
    return derive(pci.read(host), rdma.read(host), numa.read(host), host.gaps)


shared = pytest.mark.skipif(not DERIVED.is_dir(), reason="needs the captured machines beside the checkout")


@pytest.mark.shared
@shared
def test_a_dgx_a100_has_two_cards_and_a_drive_behind_the_switches_of_each_pair_of_gpus() -> None:
    topology = captured("udev__NVIDIA_DGXA100.tar.xz")
    cards = {place.address: (place.nics, place.nic_distance) for place in topology.gpus or ()}
    assert cards == {
        "0000:07:00.0": (("0000:0c:00.0", "0000:12:00.0"), "PXB"),
        "0000:0f:00.0": (("0000:0c:00.0", "0000:12:00.0"), "PXB"),
        "0000:47:00.0": (("0000:4b:00.0", "0000:54:00.0"), "PXB"),
        "0000:4e:00.0": (("0000:4b:00.0", "0000:54:00.0"), "PXB"),
        "0000:87:00.0": (("0000:8d:00.0", "0000:94:00.0"), "PXB"),
        "0000:90:00.0": (("0000:8d:00.0", "0000:94:00.0"), "PXB"),
        "0000:b7:00.0": (("0000:ba:00.0", "0000:cc:00.0"), "PXB"),
        "0000:bd:00.0": (("0000:ba:00.0", "0000:cc:00.0"), "PXB"),
    }
    between = {(pair.a, pair.b): pair.distance for pair in topology.pairs or () if pair.b_kind == "gpu"}
    assert between[("0000:07:00.0", "0000:0f:00.0")] == "PXB"
    assert between[("0000:07:00.0", "0000:b7:00.0")] is None  # the dump has no numa_node


@pytest.mark.shared
@shared
@pytest.mark.parametrize(
    ("name", "gpus_by_node", "nic_distances"),
    [
        ("hwlocxml__flux-core_corona.tar.xz", {0: 4, 1: 4}, {"SYS": 4, "PHB": 4}),
        ("hwlocxml__mpibind_eas-tioga.tar.xz", {0: 2, 1: 2, 2: 2, 3: 2}, {"PHB": 8}),
        ("hwlocxml__flux-core_sierra.tar.xz", {0: 2, 8: 2}, {"PHB": 4}),
        ("ncclxml__rccl_topo_8p1h_2.tar.xz", {0: 2, 1: 2, 2: 2, 3: 2}, {"SYS": 6, "PHB": 2}),
    ],
    ids=["one card for two sockets", "a card per node", "POWER9 with sparse nodes", "one card for four nodes"],
)
def test_gpu_servers_of_other_makers(name: str, gpus_by_node: dict[int, int], nic_distances: dict[str, int]) -> None:
    places = captured(name).gpus or ()
    nodes = [place.numa_node for place in places]
    assert {node: nodes.count(node) for node in nodes} == gpus_by_node
    found = [place.nic_distance for place in places]
    assert {distance: found.count(distance) for distance in DISTANCES if distance in found} == nic_distances
