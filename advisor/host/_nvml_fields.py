"""What NVML is asked of a GPU, and what is made of its answers. Imports nothing of advisor but this, to start fast.

The numbers are those of nvml.h: https://docs.nvidia.com/deploy/nvml-api/
"""

from collections.abc import Callable
from typing import Any

WORDS = 128
"""Of 64 CPUs each: more than any machine has."""
NOT_AVAILABLE = (-1, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, "", "N/A")
"""NVML_VALUE_NOT_AVAILABLE and its like."""
_GRAPHICS, _SM, _MEMORY = 0, 1, 2
_BRANDS = {
    **{1: "quadro", 2: "tesla", 3: "nvs", 4: "grid", 5: "geforce", 6: "titan", 7: "vgpu applications", 8: "vgpu pc"},
    **{9: "vgpu compute", 10: "vgpu workstation", 11: "cloud gaming", 12: "quadro rtx", 13: "nvidia rtx"},
    **{14: "nvidia", 15: "geforce rtx", 16: "titan rtx"},
}
_ARCHITECTURES = {
    **{2: "kepler", 3: "maxwell", 4: "pascal", 5: "volta", 6: "turing", 7: "ampere", 8: "ada", 9: "hopper"},
    **{10: "blackwell", 13: "rubin"},
}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host vgpu", 4: "host vsga"}
_ADDRESSING = {0: "none", 1: "hmm", 2: "ats"}
_RECOVERY = {
    **{0: "none", 1: "reset", 2: "reboot", 3: "drain p2p", 4: "drain and reset", 5: "recover imex domain"},
    **{6: "bus reset", 7: "system reboot"},
}
REMOTES = {0: "gpu", 1: "npu", 2: "switch"}
FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
FABRIC_HEALTH = {1: "healthy", 2: "unhealthy", 3: "limited capacity"}
FABRIC_BITS = (("bandwidth_degraded", 0), ("route_recovery", 2), ("route_unhealthy", 4), ("access_timeout", 6))
"""Two bits each from the given one on: 0 not told, 1 yes, 2 no."""
MISCONFIGURATIONS = {
    **{1: "none", 2: "system guid", 3: "chassis serial", 4: "no partition", 5: "few nvlinks", 6: "gpu firmware"},
    **{7: "location", 8: "gpu state"},
}
FABRIC_FIELDS = (
    *("fabric_state", "fabric_status", "fabric_clique", "fabric_cluster_uuid", "fabric_misconfiguration"),
    *("fabric_health", *(f"fabric_{name}" for name, _ in FABRIC_BITS)),
)
LINK_ERRORS = ("replay_errors", "recovery_errors", "crc_flit_errors", "crc_data_errors", "ecc_data_errors")
"""NVML_NVLINK_ERROR_DL_... 0 to 4."""
# The binding's own names of the first two are tuples by mistake, so the numbers stand here.
P2P = (("read", 0), ("write", 1), ("nvlink", 2), ("atomics", 3))


class Unanswered(Exception):
    """A question without an answer; carries the gap state and NVML's number."""

    def __init__(self, state: str, number: int | None = None) -> None:
        super().__init__(state)
        self.state = state
        self.number = number


def among(words: dict[int, str]) -> Callable[[Any], str]:
    """Turns NVML's number into a word; one that is new has none."""

    def word(number: Any) -> str:
        if int(number) not in words:
            raise Unanswered("unsupported")
        return words[int(number)]

    return word


def _positive(number: Any) -> int:
    """For what cannot be 0, so that 0 means not known (the link of a card in a virtual machine)."""
    if int(number) <= 0:
        raise Unanswered("unsupported")
    return int(number)


def set_bits(words: Any) -> list[int]:
    """The numbers whose bits are set; none set is not known."""
    found = [64 * place + bit for place, word in enumerate(words) for bit in range(64) if word >> bit & 1]
    if not found:
        raise Unanswered("unsupported")
    return found


def _performance_state(number: Any) -> int:
    if int(number) not in range(16):
        raise Unanswered("unsupported")
    return int(number)


def plain_text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def sysfs_address(bus_id: str) -> str:
    """A PCI address as sysfs writes it: ``0000:3b:00.0`` for NVML's ``00000000:3B:00.0``."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


def address_in(info: Any) -> str:
    return sysfs_address(plain_text(info.busId))


def _at(place: int, shape: Callable[[Any], Any] = int) -> Callable[[Any], Any]:
    return lambda values: shape(values[place])


# Field, functions from the newest to the oldest name, further arguments, what to make of the answer.
_Field = tuple[str, tuple[str, ...], tuple[int, ...], Callable[[Any], Any]]
FIELDS: tuple[_Field, ...] = (
    ("name", ("nvmlDeviceGetName",), (), plain_text),
    ("brand", ("nvmlDeviceGetBrand",), (), among(_BRANDS)),
    ("architecture", ("nvmlDeviceGetArchitecture",), (), among(_ARCHITECTURES)),
    ("compute_capability", ("nvmlDeviceGetCudaComputeCapability",), (), lambda two: f"{two[0]}.{two[1]}"),
    ("uuid", ("nvmlDeviceGetUUID",), (), plain_text),
    ("serial", ("nvmlDeviceGetSerial",), (), plain_text),
    ("minor_number", ("nvmlDeviceGetMinorNumber",), (), int),
    ("vbios_version", ("nvmlDeviceGetVbiosVersion",), (), plain_text),
    ("gsp_firmware_version", ("nvmlDeviceGetGspFirmwareVersion",), (), plain_text),
    ("virtualization", ("nvmlDeviceGetVirtualizationMode",), (), among(_VIRTUALIZATION)),
    ("addressing_mode", ("nvmlDeviceGetAddressingMode",), (), among(_ADDRESSING)),
    ("bus_id", ("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo"), (), address_in),
    ("memory_total_bytes", ("nvmlDeviceGetMemoryInfo",), (), lambda memory: memory.total),
    ("memory_used_bytes", ("nvmlDeviceGetMemoryInfo",), (), lambda memory: memory.used),
    ("bar1_total_bytes", ("nvmlDeviceGetBAR1MemoryInfo",), (), lambda memory: memory.bar1Total),
    ("bar1_used_bytes", ("nvmlDeviceGetBAR1MemoryInfo",), (), lambda memory: memory.bar1Used),
    ("persistence_mode", ("nvmlDeviceGetPersistenceMode",), (), bool),
    ("pcie_generation", ("nvmlDeviceGetCurrPcieLinkGeneration",), (), _positive),
    ("pcie_width", ("nvmlDeviceGetCurrPcieLinkWidth",), (), _positive),
    ("pcie_max_generation", ("nvmlDeviceGetMaxPcieLinkGeneration",), (), _positive),
    ("pcie_max_width", ("nvmlDeviceGetMaxPcieLinkWidth",), (), _positive),
    ("pcie_gpu_max_generation", ("nvmlDeviceGetGpuMaxPcieLinkGeneration",), (), _positive),
    ("pcie_replays", ("nvmlDeviceGetPcieReplayCounter",), (), int),
    ("power_limit_milliwatts", ("nvmlDeviceGetPowerManagementLimit",), (), int),
    ("power_default_limit_milliwatts", ("nvmlDeviceGetPowerManagementDefaultLimit",), (), int),
    ("power_enforced_limit_milliwatts", ("nvmlDeviceGetEnforcedPowerLimit",), (), int),
    ("power_min_limit_milliwatts", ("nvmlDeviceGetPowerManagementLimitConstraints",), (), _at(0)),
    ("power_max_limit_milliwatts", ("nvmlDeviceGetPowerManagementLimitConstraints",), (), _at(1)),
    ("power_usage_milliwatts", ("nvmlDeviceGetPowerUsage",), (), int),
    ("sm_clock_mhz", ("nvmlDeviceGetClockInfo",), (_SM,), int),
    ("sm_max_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), (_SM,), _positive),
    ("graphics_max_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), (_GRAPHICS,), _positive),
    ("graphics_application_clock_mhz", ("nvmlDeviceGetApplicationsClock",), (_GRAPHICS,), _positive),
    ("graphics_default_application_clock_mhz", ("nvmlDeviceGetDefaultApplicationsClock",), (_GRAPHICS,), _positive),
    ("memory_clock_mhz", ("nvmlDeviceGetClockInfo",), (_MEMORY,), int),
    ("memory_max_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), (_MEMORY,), _positive),
    ("memory_application_clock_mhz", ("nvmlDeviceGetApplicationsClock",), (_MEMORY,), _positive),
    ("memory_default_application_clock_mhz", ("nvmlDeviceGetDefaultApplicationsClock",), (_MEMORY,), _positive),
    ("performance_state", ("nvmlDeviceGetPerformanceState",), (), _performance_state),
    (
        "throttle_reasons",
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        (),
        int,
    ),
    ("power_throttle_nanoseconds", ("nvmlDeviceGetViolationStatus",), (0,), lambda time: time.violationTime),
    ("thermal_throttle_nanoseconds", ("nvmlDeviceGetViolationStatus",), (1,), lambda time: time.violationTime),
    ("temperature_celsius", ("nvmlDeviceGetTemperature",), (0,), int),
    ("shutdown_temperature_celsius", ("nvmlDeviceGetTemperatureThreshold",), (0,), _positive),
    ("slowdown_temperature_celsius", ("nvmlDeviceGetTemperatureThreshold",), (1,), _positive),
    ("utilization_percent", ("nvmlDeviceGetUtilizationRates",), (), lambda rates: rates.gpu),
    ("ecc_mode", ("nvmlDeviceGetEccMode",), (), _at(0, bool)),
    ("ecc_pending_mode", ("nvmlDeviceGetEccMode",), (), _at(1, bool)),
    ("ecc_corrected_errors", ("nvmlDeviceGetTotalEccErrors",), (0, 0), int),
    ("ecc_uncorrected_errors", ("nvmlDeviceGetTotalEccErrors",), (1, 0), int),
    ("mig_mode", ("nvmlDeviceGetMigMode",), (), _at(0, bool)),
    ("mig_pending_mode", ("nvmlDeviceGetMigMode",), (), _at(1, bool)),
    ("compute_mode", ("nvmlDeviceGetComputeMode",), (), int),
    ("remapped_rows_correctable", ("nvmlDeviceGetRemappedRows",), (), _at(0)),
    ("remapped_rows_uncorrectable", ("nvmlDeviceGetRemappedRows",), (), _at(1)),
    ("remapped_rows_pending", ("nvmlDeviceGetRemappedRows",), (), _at(2, bool)),
    ("remapped_rows_failed", ("nvmlDeviceGetRemappedRows",), (), _at(3, bool)),
    ("retired_pages_pending", ("nvmlDeviceGetRetiredPagesPendingStatus",), (), bool),
    ("numa_node", ("nvmlDeviceGetNumaNodeId",), (), int),
    ("near_memory_nodes", ("nvmlDeviceGetMemoryAffinity",), (WORDS, 0), set_bits),
    (
        "compute_processes",
        # By their numbers: without one the binding refuses drivers that lack the newest.
        ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
        (),
        lambda found: sorted({process.pid for process in found}),
    ),
)
VALUES: tuple[tuple[str, int, Callable[[Any], Any]], ...] = (
    ("memory_temperature_celsius", 82, _positive),
    ("recovery_action", 230, among(_RECOVERY)),
)
"""What nvmlDeviceGetFieldValues tells: NVML_FI_DEV_MEMORY_TEMP and NVML_FI_DEV_GET_GPU_RECOVERY_ACTION."""
ALL = (
    *(field for field, *_ in FIELDS),
    *(field for field, *_ in VALUES),
    *("near_cpus", "nvlinks_active", "nvlinks", *FABRIC_FIELDS),
)
"""Every field of a GPU's answer that a question fills."""
