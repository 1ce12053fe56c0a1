"""Which RDMA devices carry a job's traffic, as job/env.sh finds the ports for NCCL_IB_HCA on the node.

Active ports with the link layer of most of the bandwidth, without those of less than half the best rate: cards for
storage and of the host are of another kind or slower as a rule.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated

from advisor.model.facts import Facts, evidence_path
from advisor.probes.modules import Modules, module_named
from advisor.probes.rdma import ACTIVE, NODES, VERBS, Rdma, RdmaDevice

CONNECTIONS_MODULE, CONNECTIONS_NODE = "rdma_ucm", "rdma_cm"
"""The module that makes the node through which librdmacm sets up connections."""
ETHERNET = "Ethernet"


class Rails(Facts):
    """The RDMA devices with alike active ports."""

    devices: Annotated[tuple[str, ...] | None, "their names; unknown where an active port does not tell its kind"] = (
        None
    )
    nodes: Annotated[
        str | None, f"what programs open of them in {NODES}, as they are numbered now: uverbs0,uverbs1,rdma_cm"
    ] = None


@dataclass(frozen=True)
class _Active:
    """One port in use."""

    device: RdmaDevice
    layer: str
    gbps: float


def derive(rdma: Rdma, modules: Modules | None) -> Rails:
    """The devices and their nodes."""
    alike = _alike(rdma)
    nodes = [device.verbs_node for device in alike or ()]
    known = [node for node in nodes if node is not None]
    connections = _connects(modules)
    return Rails(
        origin=evidence_path(rdma, "devices"),
        devices=None if alike is None else tuple(device.name for device in alike),
        nodes=",".join([*known, CONNECTIONS_NODE] if connections else known) if known == nodes and known else None,
        origins={"nodes": VERBS if alike else evidence_path(rdma, "devices")},
    )


def _connects(modules: Modules | None) -> bool:
    module = None if modules is None else module_named(modules, CONNECTIONS_MODULE)
    return module is not None and module.loaded is True


def _alike(rdma: Rdma) -> tuple[RdmaDevice, ...] | None:
    """The devices with alike active ports; unknown where a port in use, or which are, is not known."""
    active = _active(rdma)
    if active is None:
        return None
    sums: dict[str, float] = defaultdict(float)
    for port in active:
        sums[port.layer] += port.gbps
    most = max(sums, key=lambda layer: (sums[layer], layer != ETHERNET), default="")
    rest = sum(sums.values()) - sums[most]
    if sums[most] < rest or (sums[most] == rest and most == ETHERNET):
        return ()
    best = max((port.gbps for port in active if port.layer == most), default=0.0)
    chosen = [port.device for port in active if port.layer == most and 2 * port.gbps >= best]
    return tuple({device.name: device for device in chosen}.values())


def _active(rdma: Rdma) -> tuple[_Active, ...] | None:
    found = []
    for device in rdma.devices or ():
        for port in device.ports or ():
            # EFA has no link layer of a name; its ports are told by their driver.
            layer = port.link_layer or ("efa" if device.driver == "efa" else None)
            if port.state is None or (port.state == ACTIVE and (layer is None or not port.rate_gbps)):
                return None
            if port.state == ACTIVE:
                found.append(_Active(device, str(layer), port.rate_gbps or 0.0))
    complete = rdma.devices is not None and all(device.ports is not None for device in rdma.devices)
    return tuple(found) if complete else None
