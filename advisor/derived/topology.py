"""How far GPUs, network cards and NVMe drives are from each other, as NCCL counts it.

PIX: one PCIe switch between them; PXB: several; PHB: through the CPU (or its root complexes) of one NUMA node;
SYS: across NUMA nodes. A card hangs on the first switch above it; each switch is two steps of the sysfs path, its
downstream and its upstream port (NCCL, src/graph/xml.cc and paths.cc).
"""

from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes.pci import Pci

DISTANCES = ("PIX", "PXB", "PHB", "SYS")
"""Nearest first."""


class Pair(Facts):
    """Two devices."""

    a: Annotated[str, "PCI address of the GPU"]
    b: Annotated[str, "PCI address of the other device"]
    b_kind: Annotated[str, "gpu, nic or nvme"]
    distance: Annotated[str | None, "PIX, PXB, PHB or SYS"] = None


class GpuPlace(Facts):
    """Where a GPU sits."""

    address: Annotated[str, "PCI address"]
    numa_node: Annotated[int | None, "its node, or that of the nearest parent that says one"] = None
    cpus: Annotated[tuple[int, ...] | None, "CPUs near it"] = None
    nics: Annotated[tuple[str, ...] | None, "PCI addresses of the nearest network cards"] = None
    nic_distance: Annotated[str | None, "how near those are"] = None
    nvmes: Annotated[tuple[str, ...] | None, "PCI addresses of the nearest NVMe drives"] = None
    nvme_distance: Annotated[str | None, "how near those are"] = None


class Topology(Facts):
    """Distances between the devices that training moves data between."""

    pairs: Annotated[tuple[Pair, ...] | None, "GPU with GPU, GPU with network card, GPU with NVMe drive"] = None
    gpus: Annotated[tuple[GpuPlace, ...] | None, "by PCI address"] = None
    numa_nodes_with_gpus: tuple[int, ...] | None = None
    numa_nodes_with_nics: tuple[int, ...] | None = None
    numa_nodes_with_nvmes: tuple[int, ...] | None = None
    gpus_without_numa_node: Annotated[int | None, "GPUs whose NUMA node nothing tells"] = None


def derive(pci: Pci) -> Topology:
    """The distances between the devices of ``pci``."""
    return Topology(origin=pci.origin)
