"""The XML of ``nvidia-smi -q -x``, or the text of ``nvidia-smi -q``, as NVML's answers (see `advisor.host.nvml`).

The elements: https://docs.nvidia.com/deploy/nvidia-smi/ ; names differ from driver to driver, so that a field has
several places. What a driver writes in words ("N/A", "[N/A]", "Not Supported" ...) is no value.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from advisor.model.facts import GapState
from advisor.probes._smi_fields import ERRORS, FIELDS, PLAIN, STATES, bus_id
from advisor.probes._smi_text import HEADING, parse_smi_text
from advisor.probes._xml import Element, NotReadable, expect_root, parse_xml

SMI_COMMAND = "nvidia-smi -q -x"
_ROOT = "nvidia_smi_log"
_END = f"</{_ROOT}>"
_BEGINNING = 4096
"""Where the heading of the text stands, perhaps behind warnings."""
_MOST_GPUS = 256
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
    root = parse_smi_text(text) if HEADING in text[:_BEGINNING] else parse_xml(_one_log(text))
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
    for field, (paths, shape) in FIELDS.items():
        value, state = _first_value(gpu, paths, shape)
        answer[field] = value
        if state is not None:
            answer["gaps"][field] = state
    answer["bus_id"] = answer["bus_id"] or bus_id(gpu.attributes.get("id", ""))
    if answer["bus_id"] is not None:
        answer["gaps"].pop("bus_id", None)
    lost = any("gpu is lost" in child.text.lower() for child in gpu.children)
    answer["lost"] = True if lost else (False if answer["uuid"] or answer["name"] else None)
    answer["throttle_reasons"], answer["compute_processes"] = _throttle_reasons(gpu), _processes(gpu)
    answer["ecc_corrected_errors"], answer["ecc_uncorrected_errors"] = (_errors(gpu, *names) for names in ERRORS)
    for field in ("throttle_reasons", "compute_processes", "ecc_corrected_errors", "ecc_uncorrected_errors"):
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
        state = state or STATES.get(element.text.strip("[] ").lower(), "error")
    return None, state or "not captured"


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


def _errors(gpu: Element, total: str, parts: str) -> int | None:
    """ECC errors since the driver was loaded: the total of older drivers, else the sum of newer ones' parts."""
    volatile = gpu.at("ecc_errors/volatile")
    if volatile is None:
        return None
    old = volatile.at(f"{total}/total")
    counts = [PLAIN(old.text)] if old is not None else [
        PLAIN(child.text) for child in volatile.children if re.fullmatch(parts, child.tag)
    ]  # fmt: skip
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _processes(gpu: Element) -> list[int] | None:
    processes = gpu.child("processes")
    if processes is None or processes.text.strip("[]").lower() in STATES:
        return None
    found = set()
    for process in processes.all("process_info"):
        kind, pid = process.child("type"), process.child("pid")
        if kind is not None and "C" in kind.text and pid is not None and re.fullmatch(r"[0-9]{1,10}", pid.text):
            found.add(int(pid.text))
    return sorted(found)
