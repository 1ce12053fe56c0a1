"""Whether bridges redirect what two devices below one switch send each other."""

import pytest

from advisor.derived._peers import bridges_between
from advisor.derived.topology import Pair, derive
from advisor.host.pci_space import parse_space
from advisor.model.facts import evidence_path
from advisor.probes._gpu_models import GpuDevice, Peer
from advisor.probes._pci_config import decode_config
from advisor.probes.gpu import Gpu
from advisor.probes.pci import Device, Pci
from tests.pci_spaces import acs, express, pci_space

REDIRECTS, ENDS_DIRECT, WITHOUT_ACS = 0x1D, 0x11, -1


def bridge(address: str, on: int | None) -> Device:
    """A bridge with these bits of ACS set; -1: without ACS, ``None``: nobody but root may know."""
    folder = f"/sys/bus/pci/devices/{address}"
    if on is None:
        return Device(origin=folder, address=address, kind="bridge")
    extended = () if on == WITHOUT_ACS else (acs(can=0x7F, on=on),)
    space = pci_space(express("downstream port"), extended=extended, bridge=True)
    return Device(
        origin=folder,
        address=address,
        kind="bridge",
        config=decode_config(parse_space(space), f"{folder}/config")[0],
    )


def endpoint(kind: str, *path: str) -> Device:
    return Device(origin=f"/sys/bus/pci/devices/{path[-1]}", address=path[-1], kind=kind, path=path, root=path[0])


GPU = endpoint("gpu", "root", "up", "one", "gpu")
NIC = endpoint("nic", "root", "up", "two", "nic")


def pair(*devices: Device) -> Pair:
    (found,) = derive(Pci(devices=devices), None, None, {}).pairs or ()
    return found


@pytest.mark.parametrize(
    ("one", "two", "redirects", "which"),
    [
        (ENDS_DIRECT, ENDS_DIRECT, False, ()),
        (WITHOUT_ACS, WITHOUT_ACS, False, ()),
        (REDIRECTS, ENDS_DIRECT, True, ("one",)),
        (0x08, 0x04, True, ("one", "two")),
        (0x20, 0x40, True, ("one",)),
        (None, None, None, None),
        (None, ENDS_DIRECT, None, None),
        (None, REDIRECTS, True, None),
    ],
    ids=[
        "on but direct",
        "without ACS",
        "requests and completions of one",
        "completions of one, requests of the other",
        "egress control",
        "not root",
        "one unknown",
        "one unknown and the other redirects",
    ],
)
def test_ports_of_one_switch(one: int | None, two: int | None, redirects: bool | None, which: object) -> None:
    found = pair(GPU, NIC, bridge("root", REDIRECTS), bridge("up", WITHOUT_ACS), bridge("one", one), bridge("two", two))
    assert (found.distance, found.acs_redirects, found.acs_redirecting) == ("PIX", redirects, which)


def test_it_stands_in_the_space_of_the_bridge_that_decides() -> None:
    found = pair(GPU, NIC, bridge("one", ENDS_DIRECT), bridge("two", None))
    assert evidence_path(found, "acs_redirects") == "/sys/bus/pci/devices/two/config"


def test_ports_of_the_root_complex_do_not_matter() -> None:
    """Redirection is common there and costs nothing: what goes through the root complex is not direct anyway."""
    below_one_port = pair(GPU, NIC, bridge("root", REDIRECTS), bridge("one", 0), bridge("two", 0))
    assert below_one_port.acs_redirects is False
    apart = pair(GPU, endpoint("nic", "root2", "nic"), bridge("root", REDIRECTS), bridge("root2", REDIRECTS))
    assert (apart.acs_redirects, apart.acs_redirecting) == (None, None)


def test_a_bridge_that_is_not_listed_leaves_it_open() -> None:
    assert pair(GPU, NIC, bridge("one", 0)).acs_redirects is None


@pytest.mark.parametrize(
    ("a", "b", "between"),
    [
        (("root", "up", "one", "a"), ("root", "up", "two", "b"), ("one", "two")),
        (("root", "up", "one", "up2", "x", "a"), ("root", "up", "two", "b"), ("one", "up2", "x", "two")),
        (("root", "a"), ("root", "b"), ()),
        (("root", "a"), ("other", "b"), None),
        (("a",), ("b",), None),
        ((), (), None),
    ],
    ids=["one switch", "nested", "two functions of a card", "two ports", "flat, as in a VM", "nothing known"],
)
def test_bridges_between(a: tuple[str, ...], b: tuple[str, ...], between: tuple[str, ...] | None) -> None:
    assert bridges_between(a, b) == between
    assert bridges_between(b, a) == (None if between is None else (*_later(a, b, b), *_later(a, b, a)))


def _later(a: tuple[str, ...], b: tuple[str, ...], of: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(bridge for bridge in of[:-1] if not (bridge in a and bridge in b))


TWO_GPUS = (endpoint("gpu", "root", "up", "one", "gpu"), endpoint("gpu", "root", "up", "two", "gpu2"))


@pytest.mark.parametrize(
    ("links", "peers", "expected"),
    [
        ((18, 18), (Peer(a=0, b=1, nvlink=True),), True),
        ((2, 2), (Peer(a=1, b=0, nvlink=False),), False),
        ((0, 18), (), False),
        ((18, 0), (), False),
        ((18, 18), (), None),
        ((None, 18), (Peer(a=0, b=1),), None),
        ((18, 18), (Peer(a=0, b=7, nvlink=True),), None),
    ],
    ids=["told", "links to others only", "without", "the other without", "to whom nobody says", "not known", "a third"],
)
def test_gpus_over_nvlink(links: tuple[int | None, int | None], peers: tuple[Peer, ...], expected: bool | None) -> None:
    gpus = tuple(
        GpuDevice(index=at, pci_address=name, nvlinks_active=count)
        for at, (name, count) in enumerate(zip(("gpu", "gpu2"), links, strict=True))
    )
    (found,) = derive(Pci(devices=TWO_GPUS), None, None, {}, Gpu(gpus=gpus, peers=peers)).pairs or ()
    assert found.nvlink is expected


def test_without_a_driver_nobody_knows_of_nvlink() -> None:
    assert pair(*TWO_GPUS).nvlink is None


def test_bridges_that_redirect_are_listed_once() -> None:
    devices = (*TWO_GPUS, NIC, bridge("one", REDIRECTS), bridge("two", ENDS_DIRECT))
    assert derive(Pci(devices=devices), None, None, {}).acs_redirecting == ("one",)
    assert derive(Pci(devices=(*devices[:4], bridge("two", None))), None, None, {}).acs_redirecting is None
    assert derive(Pci(devices=(GPU, endpoint("nic", "root2", "nic"))), None, None, {}).acs_redirecting == ()
