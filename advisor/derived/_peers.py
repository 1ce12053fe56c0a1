"""Which way what two PCI devices send each other takes: directly through the switch between them, or over NVLink."""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.model.facts import evidence_path
from advisor.probes.gpu import Gpu
from advisor.probes.pci import Device

_REDIRECTING = {"request_redirect", "completion_redirect", "egress_control"}
"""What the kernel takes for redirection (Linux, drivers/pci/p2pdma.c)."""


@dataclass(frozen=True)
class Way:
    """What the bridges between two devices do."""

    redirects: bool | None
    """``None``: not known."""
    redirecting: tuple[str, ...] | None
    origin: str
    """Where it stands."""


def way_between(a: Device, b: Device, bridges: Mapping[str, Device]) -> Way | None:
    """What the bridges between ``a`` and ``b`` do; ``None`` when no port or switch is above both.

    The bridge above both takes no part: what comes from one of its ports and is for another does not pass it. Ports of
    the root complex above only one of them are on no direct way, so what they do does not matter here.
    """
    between = bridges_between(a.path, b.path)
    if between is None:
        return None
    states = {address: _redirects(bridges.get(address)) for address in between}
    redirecting = tuple(address for address, state in states.items() if state)
    unknown = [address for address, state in states.items() if state is None]
    decides = (*redirecting, *unknown, *between)
    return Way(
        redirects=True if redirecting else None if unknown else False,
        redirecting=None if unknown else redirecting,
        origin=_origin(decides[0], bridges) if decides else a.origin,
    )


def bridges_between(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...] | None:
    """The bridges on both paths below the last one that they share; ``None`` when they share none.

    Sample: (root, up, one, a) and (root, up, two, b) give (one, two)
    """
    shared = 0
    for mine, other in zip(a[:-1], b[:-1], strict=False):
        if mine != other:
            break
        shared += 1
    return (*a[shared:-1], *b[shared:-1]) if shared else None


def _redirects(bridge: Device | None) -> bool | None:
    config = None if bridge is None else bridge.config
    if config is None or config.acs_on is None:
        return None
    return not _REDIRECTING.isdisjoint(config.acs_on)


def _origin(address: str, bridges: Mapping[str, Device]) -> str:
    bridge = bridges.get(address)
    if bridge is None or bridge.config is None:
        return f"/sys/bus/pci/devices/{address}/config"
    return evidence_path(bridge.config, "acs_on")


def nvlinked(gpu: Gpu | None) -> dict[tuple[str, str], tuple[bool, str]]:
    """Whether two GPUs, by their addresses, talk over NVLink, and what tells it; both ways, and only where it is known.

    What the driver says of the two counts. Where it says nothing, a GPU without any link settles it.
    """
    gpus = (gpu.gpus if gpu is not None else None) or ()
    found: dict[tuple[str, str], tuple[bool, str]] = {}
    for one in gpus:
        for other in gpus:
            bare = next((each for each in (one, other) if each.nvlinks_active == 0), None)
            if one is not other and bare is not None and one.pci_address and other.pci_address:
                found[one.pci_address, other.pci_address] = False, evidence_path(bare, "nvlinks_active")
    addresses = {one.index: one.pci_address for one in gpus}
    for peer in (gpu.peers if gpu is not None else None) or ():
        a, b = addresses.get(peer.a), addresses.get(peer.b)
        if a and b and peer.nvlink is not None:
            found[a, b] = found[b, a] = peer.nvlink, evidence_path(peer, "nvlink")
    return found
