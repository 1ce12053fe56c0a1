"""Where ``nvidia-smi -q -x`` writes each of NVML's answers, and how its words become that answer.

Names of elements differ from driver to driver, so that a field has several places.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from advisor.model.facts import GapState

_MIB = 1024 * 1024
_BUS_ID = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
_NUMBER = r"(-?\d{1,9}(?:\.\d{1,6})?)"
STATES: Mapping[str, GapState] = {
    "n/a": "unsupported",
    "not supported": "unsupported",
    "requested functionality has been deprecated": "unsupported",
    "insufficient permissions": "denied",
    "unknown error": "error",
    "err!": "error",
    "gpu is lost": "error",
}
_COMPUTE_MODES = {"default": 0, "exclusive_thread": 1, "prohibited": 2, "exclusive_process": 3}


def _text(text: str) -> str | None:
    plain = "".join(c for c in text if c.isprintable())[:128]
    return None if not plain or plain.strip("[] ").lower() in STATES else plain


def bus_id(text: str) -> str | None:
    """An address as sysfs writes it. Sample: ``00000000:3B:00.0`` gives ``0000:3b:00.0``"""
    found = _BUS_ID.fullmatch(text.strip())
    return f"{int(found[1], 16):04x}:{found[2].lower()}" if found else None


def _uuid(text: str) -> str | None:
    return text if re.fullmatch(r"GPU-[0-9a-fA-F-]{8,64}", text) else None


def _measured(unit: str, scale: int = 1) -> Callable[[str], int | None]:
    """A whole number of ``unit``, times ``scale``. Sample: ``81559 MiB``, ``700.00 W`` in milliwatts"""
    pattern = re.compile(_NUMBER + r"\s*" + unit, re.ASCII)

    def shape(text: str) -> int | None:
        found = pattern.fullmatch(text.strip())
        number = round(float(found[1]) * scale) if found else None
        return number if number is not None and number >= 0 else None

    return shape


def _word(true: str, false: str) -> Callable[[str], bool | None]:
    return lambda text: {true: True, false: False}.get(text.lower())


def _state(text: str) -> int | None:
    """Sample: ``P8``"""
    found = re.fullmatch(r"P([0-9]{1,2})", text)
    return int(found[1]) if found and int(found[1]) < 16 else None


def _above_zero(shape: Callable[[str], int | None]) -> Callable[[str], int | None]:
    """For what cannot be 0, so that 0 means not known."""
    return lambda text: shape(text) or None


def _among(*words: str) -> Callable[[str], str | None]:
    """One of NVML's words, however it is written. Sample: ``Pass-Through``"""
    return lambda text: found if (found := text.lower().replace("pass-through", "passthrough")) in words else None


def _architecture(text: str) -> str | None:
    """Sample: ``Ada Lovelace``"""
    return _among(*_ARCHITECTURES)(text.partition(" ")[0])


def _cluster(text: str) -> str | None:
    """The identifier of an NVLink domain; one of zeros is none."""
    return text if re.fullmatch(r"[0-9a-fA-F-]{32,40}", text) and text.strip("0-") else None


_MHZ, _WATTS, _BYTES = _measured("MHz"), _measured("W", 1000), _measured("MiB", _MIB)
PLAIN, _LANES = _measured(""), _measured("x")
_ENABLED, _YES, _TRUE = _word("enabled", "disabled"), _word("yes", "no"), _word("true", "false")
_CELSIUS = _measured("C")
ERRORS = (("single_bit", "[sd]ram_correctable"), ("double_bit", "[sd]ram_uncorrectable.*"))
"""In the form of older drivers, and in that of newer ones."""
_BRANDS = (
    *("quadro", "tesla", "nvs", "grid", "geforce", "titan", "quadro rtx", "nvidia rtx", "nvidia", "geforce rtx"),
    *("titan rtx", "cloud gaming"),
)
_ARCHITECTURES = ("kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "rubin")
_HEALTH = "fabric/health"
_LINK, _POWER, _OLD_POWER = "pci/pci_gpu_link_info", "gpu_power_readings", "power_readings"


def _power(*names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names for folder in (_POWER, _OLD_POWER))


FIELDS: Mapping[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "name": (("product_name",), _text),
    "uuid": (("uuid",), _uuid),
    "bus_id": (("pci/pci_bus_id",), bus_id),
    "brand": (("product_brand",), _among(*_BRANDS)),
    "architecture": (("product_architecture",), _architecture),
    "serial": (("serial",), _text),
    "minor_number": (("minor_number",), PLAIN),
    "vbios_version": (("vbios_version",), _text),
    "gsp_firmware_version": (("gsp_firmware_version",), _text),
    "virtualization": (
        ("gpu_virtualization_mode/virtualization_mode",),
        _among("none", "passthrough", "vgpu", "host vgpu", "host vsga"),
    ),
    "addressing_mode": (("addressing_mode",), _among("none", "hmm", "ats")),
    "reset_required": (("gpu_reset_status/reset_required",), _YES),
    "recovery_action": (
        ("gpu_recovery_action",),
        _among("none", "reset", "reboot", "drain p2p", "drain and reset"),
    ),
    "memory_total_bytes": (("fb_memory_usage/total",), _BYTES),
    "memory_used_bytes": (("fb_memory_usage/used",), _BYTES),
    "bar1_total_bytes": (("bar1_memory_usage/total",), _BYTES),
    "bar1_used_bytes": (("bar1_memory_usage/used",), _BYTES),
    "persistence_mode": (("persistence_mode",), _ENABLED),
    "pcie_generation": ((f"{_LINK}/pcie_gen/current_link_gen",), PLAIN),
    "pcie_width": ((f"{_LINK}/link_widths/current_link_width",), _LANES),
    "pcie_max_generation": ((f"{_LINK}/pcie_gen/max_link_gen",), PLAIN),
    "pcie_max_width": ((f"{_LINK}/link_widths/max_link_width",), _LANES),
    "pcie_gpu_max_generation": ((f"{_LINK}/pcie_gen/max_device_link_gen",), PLAIN),
    "pcie_replays": (("pci/replay_counter",), PLAIN),
    # Since 535 "current" is what the driver enforces and "requested" what somebody set.
    "power_limit_milliwatts": (_power("requested_power_limit", "power_limit"), _WATTS),
    "power_default_limit_milliwatts": (_power("default_power_limit"), _WATTS),
    "power_enforced_limit_milliwatts": (_power("current_power_limit", "enforced_power_limit"), _WATTS),
    "power_min_limit_milliwatts": (_power("min_power_limit"), _WATTS),
    "power_max_limit_milliwatts": (_power("max_power_limit"), _WATTS),
    "power_usage_milliwatts": (_power("power_draw", "average_power_draw", "instant_power_draw"), _WATTS),
    "sm_clock_mhz": (("clocks/sm_clock",), _MHZ),
    "sm_max_clock_mhz": (("max_clocks/sm_clock",), _MHZ),
    "graphics_max_clock_mhz": (("max_clocks/graphics_clock",), _above_zero(_MHZ)),
    "graphics_application_clock_mhz": (("applications_clocks/graphics_clock",), _above_zero(_MHZ)),
    "graphics_default_application_clock_mhz": (("default_applications_clocks/graphics_clock",), _above_zero(_MHZ)),
    "memory_clock_mhz": (("clocks/mem_clock",), _MHZ),
    "memory_application_clock_mhz": (("applications_clocks/mem_clock",), _above_zero(_MHZ)),
    "memory_default_application_clock_mhz": (("default_applications_clocks/mem_clock",), _above_zero(_MHZ)),
    "memory_max_clock_mhz": (("max_clocks/mem_clock",), _MHZ),
    "performance_state": (("performance_state",), _state),
    "temperature_celsius": (("temperature/gpu_temp",), _CELSIUS),
    "memory_temperature_celsius": (("temperature/memory_temp",), _above_zero(_CELSIUS)),
    "slowdown_temperature_celsius": (("temperature/gpu_temp_slow_threshold",), _above_zero(_CELSIUS)),
    "shutdown_temperature_celsius": (("temperature/gpu_temp_max_threshold",), _above_zero(_CELSIUS)),
    "utilization_percent": (("utilization/gpu_util",), _measured("%")),
    "ecc_mode": (("ecc_mode/current_ecc",), _ENABLED),
    "ecc_pending_mode": (("ecc_mode/pending_ecc",), _ENABLED),
    "mig_mode": (("mig_mode/current_mig",), _ENABLED),
    "mig_pending_mode": (("mig_mode/pending_mig",), _ENABLED),
    "compute_mode": (("compute_mode",), lambda text: _COMPUTE_MODES.get(text.lower())),
    "remapped_rows_correctable": (("remapped_rows/remapped_row_corr",), PLAIN),
    "remapped_rows_uncorrectable": (("remapped_rows/remapped_row_unc",), PLAIN),
    "remapped_rows_pending": (("remapped_rows/remapped_row_pending",), _YES),
    "remapped_rows_failed": (("remapped_rows/remapped_row_failure",), _YES),
    "fabric_state": (("fabric/state",), _among("not supported", "not started", "in progress", "completed")),
    "fabric_status": (("fabric/status",), lambda text: {"success": 0}.get(text.lower())),
    "fabric_clique": (("fabric/cliqueId",), PLAIN),
    "fabric_cluster_uuid": (("fabric/clusterUuid",), _cluster),
    "fabric_bandwidth_degraded": ((f"{_HEALTH}/bandwidth",), _word("degraded", "full")),
    "fabric_route_recovery": ((f"{_HEALTH}/route_recovery_in_progress",), _TRUE),
    "fabric_route_unhealthy": ((f"{_HEALTH}/route_unhealthy",), _TRUE),
    "fabric_access_timeout": ((f"{_HEALTH}/access_timeout_recovery",), _TRUE),
    "fabric_misconfiguration": ((f"{_HEALTH}/incorrect_configuration",), _among("none")),
    "fabric_health": ((f"{_HEALTH}/summary",), _among("healthy", "unhealthy", "limited capacity")),
    "retired_pages_pending": (("retired_pages/pending_retirement", "retired_pages/pending_blacklist"), _YES),
}
