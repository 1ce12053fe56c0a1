"""PCI devices that matter for training, the bridges above them, their links and NUMA nodes.

Listed are GPUs, network cards, NVMe drives, RAID and SAS controllers, NVSwitches, and every bridge above one.
Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File, Volatile
from advisor.probes._sysfs import PCI_DEVICES


class Device(Facts):
    """One PCI device, from its folder in sysfs."""

    address: Annotated[str, "as sysfs writes it: 0000:3b:00.0"]
    kind: Annotated[str, "gpu, display (no compute), nic, nvme, raid, sas, nvswitch or bridge"]
    vendor: Annotated[str | None, File("vendor"), "four hex digits, 10de is NVIDIA"] = None
    device: Annotated[str | None, File("device"), "four hex digits"] = None
    subsystem_vendor: Annotated[str | None, File("subsystem_vendor"), "four hex digits"] = None
    subsystem_device: Annotated[str | None, File("subsystem_device"), "four hex digits"] = None
    class_code: Annotated[str | None, File("class"), "six hex digits: class, subclass, interface"] = None
    driver: Annotated[str | None, File("driver"), "the kernel driver bound to it"] = None
    numa_node: Annotated[int | None, File("numa_node", unknown=("-1",)), "as its own file says"] = None
    near_numa_node: Annotated[int | None, File("numa_node"), "its own, else that of the nearest parent"] = None
    local_cpulist: Annotated[str | None, File("local_cpulist"), "CPUs near it, as the kernel writes lists"] = None
    link_speed_gts: Annotated[
        float | None, File("current_link_speed"), Volatile(), "GT/s per lane now; falls when a GPU is idle"
    ] = None
    link_width: Annotated[int | None, File("current_link_width"), "lanes in use"] = None
    max_link_speed_gts: Annotated[float | None, File("max_link_speed"), "GT/s per lane that the device can"] = None
    max_link_width: Annotated[int | None, File("max_link_width"), "lanes that the device has"] = None
    upstream: Annotated[str | None, "address of the bridge right above it; none: it sits on the root bus"] = None
    upstream_max_link_speed_gts: Annotated[float | None, "GT/s per lane that the bridge above can"] = None
    upstream_max_link_width: Annotated[int | None, "lanes that the bridge above has"] = None
    path: Annotated[tuple[str, ...], "addresses from the root port down to the device itself"] = ()
    root: Annotated[str | None, "the root complex: pci0000:3a"] = None
    iommu_group: Annotated[str | None, File("iommu_group"), "none: no IOMMU works on it"] = None
    iommu_type: Annotated[str | None, "identity (passes through), DMA or DMA-FQ (translated)"] = None
    virtual_function: Annotated[bool | None, "a part of an SR-IOV card; a VM cannot tell"] = None
    virtual_functions: Annotated[int | None, File("sriov_numvfs"), "how many of its own are in use"] = None
    correctable_errors: Annotated[int | None, File("aer_dev_correctable"), Volatile(), "since boot"] = None
    nonfatal_errors: Annotated[int | None, File("aer_dev_nonfatal"), Volatile(), "since boot"] = None
    fatal_errors: Annotated[int | None, File("aer_dev_fatal"), Volatile(), "since boot"] = None


class Pci(Facts):
    """The PCI devices of the host."""

    devices: Annotated[tuple[Device, ...] | None, "those listed above, by address"] = None
    count: Annotated[int | None, "all PCI devices, those not listed too"] = None
    iommu_groups: Annotated[int | None, "IOMMU groups; 0: no IOMMU is at work"] = None


def read(host: Host) -> Pci:
    """The PCI devices of ``host``."""
    return Pci(origin=PCI_DEVICES)
