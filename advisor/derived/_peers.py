"""Whether what two PCI devices send each other takes the direct way through the switch between them."""

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.model.facts import evidence_path
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
