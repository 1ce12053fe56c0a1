"""Where the queues of network cards interrupt."""

import pytest

from advisor.derived.nic_interrupts import NicInterrupts, derive
from advisor.model.facts import evidence_path
from advisor.probes._irqbalance import Irqbalance
from advisor.probes.cpu import Cpu
from advisor.probes.irq import Irq, IrqDevice, Vector
from advisor.probes.net import Interface, Net
from advisor.probes.pci import Device, Pci

ADDRESS = "0000:3b:00.0"
NET = Net(
    interfaces=(
        Interface(
            name="ens1",
            physical=True,
            pci_address=ADDRESS,
            speed_mbps=100000,
            operstate="up",
            rdma_devices=("mlx5_0",),
        ),
    )
)
PCI = Pci(devices=(Device(address=ADDRESS, kind="nic", local_cpulist="0-3"),))


def vector(number: int, cpu: int, hint: tuple[int, ...] | None = (), name: str | None = None) -> Vector:
    named = name or f"mlx5_comp{number}@pci:{ADDRESS}"
    return Vector(number=number, name=named, effective_cpus=(cpu,), hint_cpus=hint)


@pytest.mark.parametrize(("running", "at_rest"), [(False, 1), (True, None), (None, None)])
def test_queues_are_at_rest_where_nothing_moves_them(running: bool | None, at_rest: int | None) -> None:
    device = IrqDevice(pci_address=ADDRESS, kind="nic", vectors=(vector(1, 7),))
    irq = Irq(devices=(device,), irqbalance=Irqbalance(running=running))
    (found,) = derive(irq, NET, PCI, Cpu(isolated=())).cards or ()
    assert (found.far_queues, found.far_queues_at_rest) == (1, at_rest)


def card(
    *vectors: Vector, net: Net | None = NET, pci: Pci | None = PCI, cpu: Cpu | None = None
) -> NicInterrupts | None:
    irq = Irq(devices=(IrqDevice(pci_address=ADDRESS, kind="nic", vectors=vectors),))
    cards = derive(irq, net, pci, cpu or Cpu(isolated=())).cards
    return cards[0] if cards else None


def test_queues_that_interrupt_far_from_the_card_are_counted() -> None:
    found = card(vector(1, 0), vector(2, 3), vector(3, 4), vector(4, 60, name=f"mlx5_async0@pci:{ADDRESS}"))
    assert found is not None
    assert (found.name, found.pci_address, found.speed_mbps, found.up, found.does_rdma) == (
        *("ens1", ADDRESS, 100000, True, True),
    )
    assert (found.queues, found.far_queues, found.near_cpus) == (3, 1, (0, 1, 2, 3))
    assert evidence_path(found, "far_queues") == "/proc/irq/N/effective_affinity_list"


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("ens1f0-TxRx-3", True),
        ("eth0-Tx-Rx-1", True),
        ("bnxt_en-eth0-TxRx-2", True),
        ("ice-ens1-TxRx-0", True),
        ("virtio0-input.0", True),
        ("virtio0-config", False),
        ("ena-mgmnt@pci:0000:00:05.0", False),
        ("i40e-0000:3b:00.0:misc", False),
        ("mlx5_async0@pci:0000:3b:00.0", False),
    ],
)
def test_the_interrupts_of_queues_are_known_by_name(name: str, queue: bool) -> None:
    found = card(vector(1, 0, name=name))
    assert found is not None
    assert found.queues == int(queue)


def test_isolated_cpus_are_to_get_no_queue_but_one_that_is_there_is_not_far() -> None:
    found = card(vector(1, 1), vector(2, 4), cpu=Cpu(isolated=(1, 2, 3)))
    assert found is not None
    assert (found.near_cpus, found.far_queues) == ((0,), 1)


def test_a_wish_of_the_driver_that_is_not_met() -> None:
    found = card(vector(1, 1, (1,)), vector(2, 1, (2,)), vector(3, 1, ()))
    assert found is not None
    assert found.unheeded_hints == 1


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"vectors": (vector(1, 0).model_copy(update={"effective_cpus": None}),)}, "far_queues"),
        ({"vectors": (vector(1, 0, None),)}, "unheeded_hints"),
        ({"vectors": (vector(1, 0).model_copy(update={"name": None}),)}, "queues"),
        ({"pci": None}, "far_queues"),
        ({"pci": Pci(devices=(Device(address=ADDRESS, kind="nic", local_cpulist="x"),))}, "near_cpus"),
        ({"cpu": Cpu()}, "near_cpus"),
    ],
)
def test_what_one_part_does_not_tell_is_unknown(given: dict[str, object], field: str) -> None:
    vectors = given.pop("vectors", (vector(1, 0),))
    found = card(*vectors, **given)  # type: ignore[arg-type, misc]
    assert found is not None
    assert getattr(found, field) is None


def test_a_vector_that_nobody_asked_for_has_no_name() -> None:
    found = card(vector(1, 0), Vector(number=2))
    assert found is not None
    assert found.queues == 1


def test_cards_without_an_interface_here_are_left_out() -> None:
    assert card(vector(1, 0), net=Net(interfaces=())) is None
    assert card(vector(1, 0), net=None) is None
    assert derive(Irq(), NET, PCI, None).cards is None
