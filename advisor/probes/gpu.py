"""GPUs as NVML tells of them, else as far as PCI and the NVIDIA driver's /proc files go.

NVML: https://docs.nvidia.com/deploy/nvml-api/ ; the driver's files: kernel-open/nvidia/nv-procfs.c
"""

from typing import Annotated

from advisor.host.base import NVML, Host
from advisor.model.facts import Facts, File, Private, Volatile


class GpuDevice(Facts):
    """One GPU. Its values are NVML's where ``source`` of the section is nvml."""

    index: Annotated[int, "NVML's number, in the order of PCI addresses"]
    pci_address: Annotated[str | None, File("bus_id"), "as sysfs writes it"] = None
    vendor: Annotated[str | None, "nvidia or amd"] = None
    name: Annotated[str | None, File("name"), "model"] = None
    uuid: Annotated[str | None, File("uuid"), Private()] = None
    lost: Annotated[bool | None, File("lost"), "has fallen off the bus"] = None
    memory_total_bytes: Annotated[int | None, File("memory_total_bytes")] = None
    memory_used_bytes: Annotated[int | None, File("memory_used_bytes"), Volatile()] = None
    numa_node: Annotated[int | None, File("numa_node"), "node of its memory, where that is a node (Grace)"] = None
    persistence_mode: Annotated[bool | None, File("persistence_mode"), "the driver stays up without users"] = None
    pcie_generation: Annotated[int | None, File("pcie_generation"), Volatile(), "falls when idle"] = None
    pcie_width: Annotated[int | None, File("pcie_width"), "lanes in use"] = None
    pcie_max_generation: Annotated[int | None, File("pcie_max_generation"), "of card and slot together"] = None
    pcie_max_width: Annotated[int | None, File("pcie_max_width"), "of card and slot together"] = None
    pcie_gpu_max_generation: Annotated[int | None, File("pcie_gpu_max_generation"), "of the card alone"] = None
    pcie_replays: Annotated[int | None, File("pcie_replays"), Volatile(), "since the driver was loaded"] = None
    power_limit_watts: Annotated[float | None, File("power_limit_milliwatts")] = None
    power_default_limit_watts: Annotated[float | None, File("power_default_limit_milliwatts")] = None
    power_enforced_limit_watts: Annotated[float | None, File("power_enforced_limit_milliwatts")] = None
    power_watts: Annotated[float | None, File("power_usage_milliwatts"), Volatile()] = None
    sm_clock_mhz: Annotated[int | None, File("sm_clock_mhz"), Volatile()] = None
    sm_max_clock_mhz: Annotated[int | None, File("sm_max_clock_mhz")] = None
    performance_state: Annotated[int | None, File("performance_state"), Volatile(), "0 is fastest"] = None
    throttle_reasons: Annotated[
        int | None,
        File("throttle_reasons"),
        Volatile(),
        "bits: 1 idle, 4 power cap, 8 hardware, 32, 64 heat, 128 brake",
    ] = None
    temperature_celsius: Annotated[int | None, File("temperature_celsius"), Volatile()] = None
    utilization_percent: Annotated[int | None, File("utilization_percent"), Volatile()] = None
    ecc_mode: Annotated[bool | None, File("ecc_mode")] = None
    ecc_pending_mode: Annotated[bool | None, File("ecc_pending_mode"), "after the next reset"] = None
    mig_mode: Annotated[bool | None, File("mig_mode"), "split into instances"] = None
    compute_mode: Annotated[int | None, File("compute_mode"), "0 default, 2 prohibited, 3 exclusive process"] = None
    remapped_rows_pending: Annotated[bool | None, File("remapped_rows_pending"), "needs a reset"] = None
    remapped_rows_failed: Annotated[bool | None, File("remapped_rows_failed")] = None
    retired_pages_pending: Annotated[bool | None, File("retired_pages_pending"), "needs a reboot"] = None
    nvlinks_active: Annotated[int | None, File("nvlinks_active"), "NVLinks that are up; 0: none"] = None
    compute_processes: Annotated[
        tuple[int, ...] | None, File("compute_processes"), Volatile(), "processes that compute on it"
    ] = None


class Peer(Facts):
    """What two GPUs can do with each other's memory."""

    a: Annotated[int, "index of the one"]
    b: Annotated[int, "index of the other"]
    read: Annotated[bool | None, File("read"), "peer reads work"] = None
    write: Annotated[bool | None, File("write"), "peer writes work"] = None
    nvlink: Annotated[bool | None, File("nvlink"), "over NVLink"] = None


class Gpu(Facts):
    """The GPUs."""

    source: Annotated[str | None, "nvml, or pci: only what the bus and the driver's files tell"] = None
    gpus: Annotated[tuple[GpuDevice, ...] | None, "NVIDIA and AMD compute GPUs"] = None
    count: Annotated[int | None, "how many there are"] = None
    visible_count: Annotated[
        int | None, Volatile(), "how many a program started from here sees (CUDA_VISIBLE_DEVICES and its like)"
    ] = None
    driver_version: Annotated[str | None, "of the NVIDIA kernel driver"] = None
    open_kernel_module: Annotated[bool | None, "the open flavour of the NVIDIA kernel driver"] = None
    cuda_version: Annotated[str | None, "the newest that the driver supports"] = None
    peers: Annotated[tuple[Peer, ...] | None, "every pair of GPUs"] = None


def read(host: Host) -> Gpu:
    """The GPUs of ``host``."""
    return Gpu(origin=NVML)
