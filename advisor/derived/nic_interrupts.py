"""Where the queues of each network card interrupt: on CPUs near the card or far from it, as its driver wishes or not.

Names of queues' interrupts: mlx5_comp0@pci:..., ens1f0-TxRx-3, eth0-Tx-Rx-1, bnxt_en-eth0-TxRx-2, virtio0-input.0;
all others (mlx5_async0, ...-admin, ...-misc) carry no packets (drivers/net/ethernet of Linux).
"""

import re
from collections.abc import Mapping
from typing import Annotated

from advisor.model.facts import Facts, Volatile, evidence_path
from advisor.probes._cpulist import parse_cpulist
from advisor.probes.cpu import Cpu
from advisor.probes.irq import Irq, IrqDevice, Vector
from advisor.probes.net import Interface, Net
from advisor.probes.pci import Device, Pci

_OF_A_QUEUE = re.compile(
    r"mlx5_comp\d+@.*|.*-(?:tx-?rx|rx|tx|rx-tx|input\.|output\.|fp)-?\d+|virtio\d+-(?:in|out)put\.\d+", re.I
)


class NicInterrupts(Facts):
    """The interrupts of one network card's queues. irqbalance may move them at any time."""

    name: Annotated[str, "its first interface"]
    pci_address: str
    speed_mbps: int | None = None
    up: Annotated[bool | None, "the interface has a link"] = None
    does_rdma: Annotated[bool | None, "RDMA devices lie on the same card, or carry the bond it is part of"] = None
    queues: Annotated[int | None, "interrupts of its queues"] = None
    near_cpus: Annotated[tuple[int, ...] | None, "CPUs near the card that are not isolated"] = None
    far_queues: Annotated[
        int | None, Volatile(), "of the queues, how many go to a CPU that is not near the card, isolated or not"
    ] = None
    far_queues_at_rest: Annotated[
        int | None, "the same where irqbalance does not run, so that nothing moves them; unknown where it does"
    ] = None
    unheeded_hints: Annotated[int | None, Volatile(), "how many go elsewhere than their driver wishes"] = None


class NicInterruptList(Facts):
    """The network cards whose interrupts are messages."""

    cards: Annotated[tuple[NicInterrupts, ...] | None, "those with an interface here, by PCI address"] = None


def derive(irq: Irq, net: Net | None, pci: Pci | None, cpu: Cpu | None) -> NicInterruptList:
    """The network cards of ``irq`` with what the other facts say of them."""
    if irq.devices is None or net is None or net.interfaces is None:
        return NicInterruptList(origin=irq.origin)
    by_address: dict[str, Interface] = {}
    for interface in net.interfaces:
        if interface.physical and interface.pci_address is not None:
            by_address.setdefault(interface.pci_address, interface)
    devices = {device.address: device for device in (pci.devices if pci is not None else None) or ()}
    isolated = cpu.isolated if cpu is not None else None
    at_rest = irq.irqbalance is not None and irq.irqbalance.running is False
    cards = [(one, by_address[one.pci_address]) for one in irq.devices if one.pci_address in by_address]
    return NicInterruptList(
        origin=irq.origin, cards=tuple(_card(one, interface, devices, isolated, at_rest) for one, interface in cards)
    )


def _card(
    one: IrqDevice, interface: Interface, devices: Mapping[str, Device], isolated: tuple[int, ...] | None, at_rest: bool
) -> NicInterrupts:
    device = devices.get(one.pci_address)
    near = _near(device)
    usable = None if near is None or isolated is None else tuple(cpu for cpu in near if cpu not in isolated)
    # Without names, as where /proc/interrupts was not read, nothing tells a queue's from the others. One that nobody
    # has asked for has no name.
    named = one.vectors is not None and (not one.vectors or any(vector.name is not None for vector in one.vectors))
    queues = tuple(v for v in one.vectors or () if _OF_A_QUEUE.fullmatch(v.name or "")) if named else None
    far = None if queues is None else _far(queues, near)
    return NicInterrupts(
        origin=one.origin,
        name=interface.name,
        pci_address=one.pci_address,
        speed_mbps=interface.speed_mbps,
        up=None if interface.operstate is None else interface.operstate == "up",
        does_rdma=None if interface.rdma_devices is None else bool(interface.rdma_devices),
        queues=None if queues is None else len(queues),
        near_cpus=usable,
        far_queues=far,
        far_queues_at_rest=far if at_rest else None,
        unheeded_hints=None if queues is None else _unheeded(queues),
        origins={
            "speed_mbps": f"{interface.origin}/speed",
            "up": f"{interface.origin}/operstate",
            "does_rdma": evidence_path(interface, "rdma_devices"),
            "near_cpus": f"{one.origin}/local_cpulist",
            "queues": "/proc/interrupts" if one.vectors is not None else f"{one.origin}/msi_irqs",
            "far_queues_at_rest": "/proc/irq/N/effective_affinity_list",
            "far_queues": "/proc/irq/N/effective_affinity_list",
            "unheeded_hints": "/proc/irq/N/affinity_hint",
        },
    )


def _near(device: Device | None) -> tuple[int, ...] | None:
    """The CPUs near a card."""
    text = device.local_cpulist if device is not None else None
    try:
        return None if text is None else parse_cpulist(text)
    except ValueError:
        return None


def _far(queues: tuple[Vector, ...], near: tuple[int, ...] | None) -> int | None:
    if near is None or any(vector.effective_cpus is None for vector in queues):
        return None
    return sum(not set(vector.effective_cpus or ()) <= set(near) for vector in queues)


def _unheeded(queues: tuple[Vector, ...]) -> int | None:
    """Interrupts with a wish that is not met; where there is none nothing is unheeded."""
    if any(vector.effective_cpus is None or vector.hint_cpus is None for vector in queues):
        return None
    return sum(
        bool(vector.hint_cpus) and not set(vector.effective_cpus or ()) <= set(vector.hint_cpus or ())
        for vector in queues
    )
