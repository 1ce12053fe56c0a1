"""The XML of ``nvidia-smi -q -x`` as the answers that NVML would have given (see `advisor.host.nvml`).

The elements: https://docs.nvidia.com/deploy/nvidia-smi/ ; names differ from driver to driver, so that a field has
several places. What a driver writes in words ("N/A", "[N/A]", "Not Supported" ...) is no value.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from advisor.model.facts import GapState
from advisor.probes._xml import Element, NotReadable, expect_root, parse_xml

SMI_COMMAND = "nvidia-smi -q -x"
_ROOT = "nvidia_smi_log"
_END = f"</{_ROOT}>"
_MOST_GPUS = 256
_MIB = 1024 * 1024
_BUS_ID = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
_NUMBER = r"(-?\d{1,9}(?:\.\d{1,6})?)"
_STATES: Mapping[str, GapState] = {
    "n/a": "unsupported",
    "not supported": "unsupported",
    "requested functionality has been deprecated": "unsupported",
    "insufficient permissions": "denied",
    "unknown error": "error",
    "err!": "error",
    "gpu is lost": "error",
}
_COMPUTE_MODES = {"default": 0, "exclusive_thread": 1, "prohibited": 2, "exclusive_process": 3}
_REASON_BITS = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clocks_setting": 0x100,
}
"""nvmlClocksEventReasons."""


def parse_smi_xml(text: str) -> Mapping[str, object]:
    """The answers in the shape of `advisor.host.nvml`, as far as the file has them. Raises NotReadable.

    Sample: ``<nvidia_smi_log><driver_version>535.86.05</driver_version><gpu id="00000000:3B:00.0">
    <product_name>NVIDIA H100</product_name><fb_memory_usage><total>81559 MiB</total></fb_memory_usage></gpu>...``
    """
    root = parse_xml(_one_log(text))
    expect_root(root, _ROOT, f"the output of {SMI_COMMAND}")
    gpus = [_gpu(index, gpu) for index, gpu in enumerate(root.all("gpu"))]
    attached = root.child("attached_gpus")
    if len(gpus) > _MOST_GPUS:
        raise NotReadable(f"tells of {len(gpus)} GPUs, more than any machine has")
    if attached is not None and re.fullmatch(r"[0-9]{1,3}", attached.text) and int(attached.text) != len(gpus):
        raise NotReadable(f"holds {len(gpus)} of {attached.text} GPUs: make it without -i, of all GPUs")
    addresses = [gpu["bus_id"] for gpu in gpus if gpu["bus_id"] is not None]
    if len(set(addresses)) < len(addresses):
        raise NotReadable("holds one GPU twice: make it of one host, once")
    return {
        "driver_version": _version(root.child("driver_version")),
        "cuda_version": _version(root.child("cuda_version")),
        "gpus": gpus,
        "gaps": {},
    }


def _one_log(text: str) -> str:
    """The one document in ``text``; nvidia-smi may write warnings (an infoROM that is broken) behind it."""
    if text.count(_END) > 1:
        raise NotReadable(f"holds more than one output of {SMI_COMMAND}: give one, made without -l, of one host")
    inside, end, _ = text.partition(_END)
    return inside + end


def _version(element: Element | None) -> str | None:
    return element.text if element is not None and re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", element.text) else None


def _gpu(index: int, gpu: Element) -> dict[str, Any]:
    answer: dict[str, Any] = {"index": index, "gaps": {}}
    for field, (paths, shape) in _FIELDS.items():
        value, state = _first_value(gpu, paths, shape)
        answer[field] = value
        if state is not None:
            answer["gaps"][field] = state
    answer["bus_id"] = answer["bus_id"] or _bus_id(gpu.attributes.get("id", ""))
    if answer["bus_id"] is not None:
        answer["gaps"].pop("bus_id", None)
    lost = any("gpu is lost" in child.text.lower() for child in gpu.children)
    answer["lost"] = True if lost else (False if answer["uuid"] or answer["name"] else None)
    answer["throttle_reasons"], answer["compute_processes"] = _throttle_reasons(gpu), _processes(gpu)
    for field in ("throttle_reasons", "compute_processes"):
        if answer[field] is None:
            answer["gaps"][field] = "unsupported"
    return answer


def _first_value(gpu: Element, paths: tuple[str, ...], shape: Callable[[str], Any]) -> tuple[Any, GapState | None]:
    """The value at the first path that has one; else why there is none."""
    state: GapState | None = None
    for path in paths:
        element = gpu.at(path)
        if element is None:
            continue
        value = shape(element.text)
        if value is not None:
            return value, None
        state = state or _STATES.get(element.text.strip("[] ").lower(), "error")
    return None, state or "not captured"


def _text(text: str) -> str | None:
    plain = "".join(c for c in text if c.isprintable())[:128]
    return None if not plain or plain.strip("[] ").lower() in _STATES else plain


def _bus_id(text: str) -> str | None:
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


def _throttle_reasons(gpu: Element) -> int | None:
    """The bits that are on; ``None`` where one is neither on nor off."""
    for word in ("event", "throttle"):
        reasons = gpu.child(f"clocks_{word}_reasons")
        if reasons is None:
            continue
        told = {c.tag.removeprefix(f"clocks_{word}_reason_"): c.text for c in reasons.children}
        states = {name: {"Active": True, "Not Active": False}.get(told[name]) for name in _REASON_BITS if name in told}
        if states and None not in states.values():
            return sum(_REASON_BITS[name] for name, on in states.items() if on)
    return None


def _processes(gpu: Element) -> list[int] | None:
    processes = gpu.child("processes")
    if processes is None or processes.text.strip("[]").lower() in _STATES:
        return None
    found = set()
    for process in processes.all("process_info"):
        kind, pid = process.child("type"), process.child("pid")
        if kind is not None and "C" in kind.text and pid is not None and re.fullmatch(r"[0-9]{1,10}", pid.text):
            found.add(int(pid.text))
    return sorted(found)


_MHZ, _WATTS, _BYTES = _measured("MHz"), _measured("W", 1000), _measured("MiB", _MIB)
_PLAIN, _LANES = _measured(""), _measured("x")
_ENABLED, _YES = _word("enabled", "disabled"), _word("yes", "no")
_LINK, _POWER, _OLD_POWER = "pci/pci_gpu_link_info", "gpu_power_readings", "power_readings"


def _power(*names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names for folder in (_POWER, _OLD_POWER))


_FIELDS: Mapping[str, tuple[tuple[str, ...], Callable[[str], Any]]] = {
    "name": (("product_name",), _text),
    "uuid": (("uuid",), _uuid),
    "bus_id": (("pci/pci_bus_id",), _bus_id),
    "memory_total_bytes": (("fb_memory_usage/total",), _BYTES),
    "memory_used_bytes": (("fb_memory_usage/used",), _BYTES),
    "persistence_mode": (("persistence_mode",), _ENABLED),
    "pcie_generation": ((f"{_LINK}/pcie_gen/current_link_gen",), _PLAIN),
    "pcie_width": ((f"{_LINK}/link_widths/current_link_width",), _LANES),
    "pcie_max_generation": ((f"{_LINK}/pcie_gen/max_link_gen",), _PLAIN),
    "pcie_max_width": ((f"{_LINK}/link_widths/max_link_width",), _LANES),
    "pcie_gpu_max_generation": ((f"{_LINK}/pcie_gen/max_device_link_gen",), _PLAIN),
    "pcie_replays": (("pci/replay_counter",), _PLAIN),
    # Since 535 "current" is what the driver enforces and "requested" what somebody set.
    "power_limit_milliwatts": (_power("requested_power_limit", "power_limit"), _WATTS),
    "power_default_limit_milliwatts": (_power("default_power_limit"), _WATTS),
    "power_enforced_limit_milliwatts": (_power("current_power_limit", "enforced_power_limit"), _WATTS),
    "power_usage_milliwatts": (_power("power_draw", "average_power_draw", "instant_power_draw"), _WATTS),
    "sm_clock_mhz": (("clocks/sm_clock",), _MHZ),
    "sm_max_clock_mhz": (("max_clocks/sm_clock",), _MHZ),
    "memory_clock_mhz": (("clocks/mem_clock",), _MHZ),
    "memory_max_clock_mhz": (("max_clocks/mem_clock",), _MHZ),
    "performance_state": (("performance_state",), _state),
    "temperature_celsius": (("temperature/gpu_temp",), _measured("C")),
    "utilization_percent": (("utilization/gpu_util",), _measured("%")),
    "ecc_mode": (("ecc_mode/current_ecc",), _ENABLED),
    "ecc_pending_mode": (("ecc_mode/pending_ecc",), _ENABLED),
    "mig_mode": (("mig_mode/current_mig",), _ENABLED),
    "mig_pending_mode": (("mig_mode/pending_mig",), _ENABLED),
    "compute_mode": (("compute_mode",), lambda text: _COMPUTE_MODES.get(text.lower())),
    "remapped_rows_correctable": (("remapped_rows/remapped_row_corr",), _PLAIN),
    "remapped_rows_uncorrectable": (("remapped_rows/remapped_row_unc",), _PLAIN),
    "remapped_rows_pending": (("remapped_rows/remapped_row_pending",), _YES),
    "remapped_rows_failed": (("remapped_rows/remapped_row_failure",), _YES),
    "retired_pages_pending": (("retired_pages/pending_retirement", "retired_pages/pending_blacklist"), _YES),
}
