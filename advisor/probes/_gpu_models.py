"""What is known of a GPU, its NVLinks and its peers.

The name in a `File` mark is that of NVML's answer (see `advisor.host.nvml`), whose unit may be another. What the values
mean: https://docs.nvidia.com/deploy/nvml-api/ and https://docs.nvidia.com/deploy/nvidia-smi/
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from advisor.model.facts import Counter, Facts, File, Private, Seen, Volatile

CLOCK_REASONS: Mapping[int, str] = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
}
"""nvmlClocksEventReasons (before driver 535 nvmlClocksThrottleReasons), as ``nvidia-smi -q -x`` names them."""


class NvLink(Facts):
    """One NVLink of a GPU. Counters start with the driver or when somebody clears them."""

    read_from: ClassVar[str] = "nvml"
    number: Annotated[int, "NVML's number of the link"]
    active: Annotated[bool | None, File("active"), "it is up"] = None
    version: Annotated[int | None, File("version"), "NVML's number of the NVLink version, not the marketing name"] = (
        None
    )
    remote_kind: Annotated[str | None, File("remote_kind"), "what it leads to: gpu, switch or npu"] = None
    remote_pci_address: Annotated[str | None, File("remote_bus_id"), "where it leads to, as sysfs writes it"] = None
    replay_errors: Annotated[int | None, File("replay_errors"), Counter(), "packets sent again"] = None
    recovery_errors: Annotated[int | None, File("recovery_errors"), Counter(), "times the link was trained again"] = (
        None
    )
    crc_flit_errors: Annotated[int | None, File("crc_flit_errors"), Counter(), "flow control units damaged"] = None
    crc_data_errors: Annotated[int | None, File("crc_data_errors"), Counter(), "data packets damaged"] = None
    ecc_data_errors: Annotated[int | None, File("ecc_data_errors"), Counter(), "data packets repaired or lost"] = None


class GpuDevice(Facts):
    """One GPU. Its values are NVML's where ``source`` of the section is nvml."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "nvml, /proc/driver/nvidia/gpus/*/information, /sys/bus/pci/devices/*"
    index: Annotated[int, "NVML's number, in the order of PCI addresses"]
    pci_address: Annotated[str | None, File("bus_id"), "as sysfs writes it"] = None
    vendor: Annotated[str | None, "nvidia or amd"] = None
    name: Annotated[str | None, File("name"), "model"] = None
    brand: Annotated[str | None, File("brand"), "product line: geforce, tesla, nvidia, nvidia rtx, vgpu ..."] = None
    architecture: Annotated[str | None, File("architecture"), "volta, turing, ampere, ada, hopper, blackwell ..."] = (
        None
    )
    compute_capability: Annotated[str | None, File("compute_capability"), "CUDA's: 9.0 for H100"] = None
    uuid: Annotated[str | None, File("uuid"), Private()] = None
    serial: Annotated[str | None, File("serial"), Private(), "serial number of the board"] = None
    minor_number: Annotated[int | None, File("minor_number"), "N of its device node /dev/nvidiaN"] = None
    vbios_version: Annotated[str | None, File("vbios_version")] = None
    gsp_firmware_version: Annotated[
        str | None, File("gsp_firmware_version"), "of the firmware that runs the driver's lower half; none: unused"
    ] = None
    virtualization: Annotated[
        str | None, File("virtualization"), "none, passthrough, vgpu (in a guest), host vgpu or host vsga"
    ] = None
    addressing_mode: Annotated[
        str | None, File("addressing_mode"), "how the GPU reads the process's own memory: none, hmm or ats"
    ] = None
    lost: Annotated[bool | None, File("lost"), "has fallen off the bus"] = None
    reset_required: Annotated[bool | None, File("reset_required"), "answers nothing until it is reset"] = None
    recovery_action: Annotated[
        str | None,
        File("recovery_action"),
        "what the driver asks for: none, reset, reboot, drain p2p, drain and reset ...",
    ] = None
    memory_total_bytes: Annotated[int | None, File("memory_total_bytes")] = None
    memory_used_bytes: Annotated[int | None, File("memory_used_bytes"), Volatile()] = None
    bar1_total_bytes: Annotated[
        int | None, File("bar1_total_bytes"), "window through which other devices reach its memory"
    ] = None
    bar1_used_bytes: Annotated[int | None, File("bar1_used_bytes"), Volatile()] = None
    numa_node: Annotated[int | None, File("numa_node"), "node of its memory, where that is a node (Grace)"] = None
    near_cpus: Annotated[tuple[int, ...] | None, File("near_cpus"), "CPUs of the NUMA node beside it"] = None
    near_memory_nodes: Annotated[tuple[int, ...] | None, File("near_memory_nodes"), "NUMA nodes beside it"] = None
    persistence_mode: Annotated[bool | None, File("persistence_mode"), "the driver stays up without users"] = None
    pcie_generation: Annotated[int | None, File("pcie_generation"), Volatile(), "falls when idle"] = None
    pcie_width: Annotated[int | None, File("pcie_width"), "lanes in use"] = None
    pcie_max_generation: Annotated[int | None, File("pcie_max_generation"), "of card and slot together"] = None
    pcie_max_width: Annotated[int | None, File("pcie_max_width"), "of card and slot together"] = None
    pcie_gpu_max_generation: Annotated[int | None, File("pcie_gpu_max_generation"), "of the card alone"] = None
    pcie_replays: Annotated[int | None, File("pcie_replays"), Counter(), "since the driver was loaded"] = None
    power_limit_watts: Annotated[float | None, File("power_limit_milliwatts"), "that was asked for"] = None
    power_default_limit_watts: Annotated[float | None, File("power_default_limit_milliwatts")] = None
    power_enforced_limit_watts: Annotated[
        float | None, File("power_enforced_limit_milliwatts"), "the lowest of all limits that hold"
    ] = None
    power_min_limit_watts: Annotated[float | None, File("power_min_limit_milliwatts"), "lowest one can ask for"] = None
    power_max_limit_watts: Annotated[float | None, File("power_max_limit_milliwatts"), "highest one can ask for"] = None
    power_watts: Annotated[float | None, File("power_usage_milliwatts"), Volatile()] = None
    sm_clock_mhz: Annotated[int | None, File("sm_clock_mhz"), Volatile()] = None
    sm_max_clock_mhz: Annotated[int | None, File("sm_max_clock_mhz")] = None
    graphics_max_clock_mhz: Annotated[int | None, File("graphics_max_clock_mhz")] = None
    graphics_application_clock_mhz: Annotated[
        int | None, File("graphics_application_clock_mhz"), "what applications get, if power and heat allow"
    ] = None
    graphics_default_application_clock_mhz: Annotated[
        int | None, File("graphics_default_application_clock_mhz"), "what they get unless somebody sets another"
    ] = None
    memory_clock_mhz: Annotated[int | None, File("memory_clock_mhz"), Volatile()] = None
    memory_max_clock_mhz: Annotated[int | None, File("memory_max_clock_mhz")] = None
    memory_application_clock_mhz: Annotated[int | None, File("memory_application_clock_mhz")] = None
    memory_default_application_clock_mhz: Annotated[int | None, File("memory_default_application_clock_mhz")] = None
    performance_state: Annotated[int | None, File("performance_state"), Volatile(), "0 is fastest"] = None
    throttle_reasons: Annotated[
        int | None,
        File("throttle_reasons"),
        Volatile(),
        "bits: 1 idle, 4 power cap, 8 hardware, 32, 64 heat, 128 brake",
    ] = None
    throttle_names: Annotated[
        tuple[str, ...] | None,
        File("throttle_reasons"),
        Volatile(),
        "the same by name: gpu_idle, sw_power_cap, hw_slowdown, hw_thermal_slowdown ...; of use under load only",
    ] = None
    power_throttle_seconds: Annotated[
        float | None, File("power_throttle_nanoseconds"), Counter(), "time that power kept the clocks down"
    ] = None
    thermal_throttle_seconds: Annotated[
        float | None, File("thermal_throttle_nanoseconds"), Counter(), "time that heat kept the clocks down"
    ] = None
    temperature_celsius: Annotated[int | None, File("temperature_celsius"), Volatile()] = None
    memory_temperature_celsius: Annotated[int | None, File("memory_temperature_celsius"), Volatile()] = None
    slowdown_temperature_celsius: Annotated[
        int | None, File("slowdown_temperature_celsius"), "at which the hardware halves its clocks"
    ] = None
    shutdown_temperature_celsius: Annotated[
        int | None, File("shutdown_temperature_celsius"), "at which it turns itself off"
    ] = None
    utilization_percent: Annotated[int | None, File("utilization_percent"), Volatile()] = None
    ecc_mode: Annotated[bool | None, File("ecc_mode")] = None
    ecc_pending_mode: Annotated[bool | None, File("ecc_pending_mode"), "after the next reset"] = None
    ecc_corrected_errors: Annotated[
        int | None, File("ecc_corrected_errors"), Counter(), "since the driver was loaded"
    ] = None
    ecc_uncorrected_errors: Annotated[
        int | None, File("ecc_uncorrected_errors"), Counter(), "since the driver was loaded"
    ] = None
    mig_mode: Annotated[bool | None, File("mig_mode"), "split into instances"] = None
    mig_pending_mode: Annotated[bool | None, File("mig_pending_mode"), "after the next reset"] = None
    compute_mode: Annotated[int | None, File("compute_mode"), "0 default, 2 prohibited, 3 exclusive process"] = None
    remapped_rows_correctable: Annotated[
        int | None, File("remapped_rows_correctable"), "rows of memory replaced by spare ones after corrected errors"
    ] = None
    remapped_rows_uncorrectable: Annotated[
        int | None, File("remapped_rows_uncorrectable"), "rows of memory replaced after errors that were not corrected"
    ] = None
    remapped_rows_pending: Annotated[bool | None, File("remapped_rows_pending"), "needs a reset"] = None
    remapped_rows_failed: Annotated[bool | None, File("remapped_rows_failed")] = None
    retired_pages_pending: Annotated[bool | None, File("retired_pages_pending"), "needs a reboot"] = None
    nvlinks_active: Annotated[int | None, File("nvlinks_active"), "NVLinks that are up; 0: none"] = None
    nvlinks: Annotated[tuple[NvLink, ...] | None, File("nvlinks"), "every NVLink that it has, up or not"] = None
    fabric_state: Annotated[
        str | None,
        File("fabric_state"),
        "registration with the NVSwitch fabric: not supported, not started, in progress or completed",
    ] = None
    fabric_status: Annotated[
        int | None, File("fabric_status"), "NVML's result of a registration that completed; 0: success"
    ] = None
    fabric_clique: Annotated[int | None, File("fabric_clique"), "GPUs of one clique reach each other"] = None
    fabric_cluster_uuid: Annotated[str | None, File("fabric_cluster_uuid"), Private()] = None
    fabric_bandwidth_degraded: Annotated[bool | None, File("fabric_bandwidth_degraded"), "links are missing"] = None
    fabric_route_recovery: Annotated[bool | None, File("fabric_route_recovery"), "routes are being repaired"] = None
    fabric_route_unhealthy: Annotated[bool | None, File("fabric_route_unhealthy"), "routes are broken"] = None
    fabric_access_timeout: Annotated[
        bool | None, File("fabric_access_timeout"), "recovers from accesses that were not answered"
    ] = None
    fabric_misconfiguration: Annotated[
        str | None,
        File("fabric_misconfiguration"),
        "none, system guid, chassis serial, no partition, few nvlinks, gpu firmware, location or gpu state",
    ] = None
    fabric_health: Annotated[
        str | None, File("fabric_health"), "all of this in one: healthy, unhealthy or limited capacity"
    ] = None
    compute_processes: Annotated[
        tuple[int, ...] | None, File("compute_processes"), Volatile(), "processes that compute on it"
    ] = None


class Peer(Facts):
    """What two GPUs can do with each other's memory."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "nvml"
    a: Annotated[int, "index of the one"]
    b: Annotated[int, "index of the other"]
    read: Annotated[bool | None, File("read"), "peer reads work"] = None
    read_refusal: Annotated[
        str | None,
        File("read"),
        "why they do not: chipset, gpu, topology (between sockets), disabled (registry key) or not supported",
    ] = None
    write: Annotated[bool | None, File("write"), "peer writes work"] = None
    nvlink: Annotated[bool | None, File("nvlink"), "over NVLink"] = None
    atomics: Annotated[bool | None, File("atomics"), "atomic operations work"] = None
    common_ancestor: Annotated[
        str | None,
        File("common_ancestor"),
        "nearest part of the bus both hang on: same board, PIX, PXB, PHB, NODE or SYS as nvidia-smi topo -m says it",
    ] = None
