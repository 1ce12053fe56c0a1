"""Prints NVML's answers as JSON. Run as a program by `advisor.host.nvml`; imports nothing of advisor, to start fast.

NVML reference: https://docs.nvidia.com/deploy/nvml-api/
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import pynvml  # noqa: TID253 - this program is a process of its own

_STATES = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "unsupported",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "unsupported",
    pynvml.NVML_ERROR_NO_PERMISSION: "denied",
    pynvml.NVML_ERROR_TIMEOUT: "timed out",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "absent",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "absent",
}
_TEMPERATURE_GPU = 0
_CLOCK_SM = 1
_CLOCK_MEMORY = 2

# Field, functions from the newest to the oldest name, further arguments, what to make of the answer.
_FIELDS: tuple[tuple[str, tuple[str, ...], tuple[int, ...], Callable[[Any], Any]], ...] = (
    ("name", ("nvmlDeviceGetName",), (), str),
    ("uuid", ("nvmlDeviceGetUUID",), (), str),
    ("bus_id", ("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo"), (), lambda info: sysfs_address(_text(info.busId))),
    ("memory_total_bytes", ("nvmlDeviceGetMemoryInfo",), (), lambda memory: memory.total),
    ("memory_used_bytes", ("nvmlDeviceGetMemoryInfo",), (), lambda memory: memory.used),
    ("persistence_mode", ("nvmlDeviceGetPersistenceMode",), (), bool),
    ("pcie_generation", ("nvmlDeviceGetCurrPcieLinkGeneration",), (), int),
    ("pcie_width", ("nvmlDeviceGetCurrPcieLinkWidth",), (), int),
    ("pcie_max_generation", ("nvmlDeviceGetMaxPcieLinkGeneration",), (), int),
    ("pcie_max_width", ("nvmlDeviceGetMaxPcieLinkWidth",), (), int),
    ("pcie_gpu_max_generation", ("nvmlDeviceGetGpuMaxPcieLinkGeneration",), (), int),
    ("pcie_replays", ("nvmlDeviceGetPcieReplayCounter",), (), int),
    ("power_limit_milliwatts", ("nvmlDeviceGetPowerManagementLimit",), (), int),
    ("power_default_limit_milliwatts", ("nvmlDeviceGetPowerManagementDefaultLimit",), (), int),
    ("power_enforced_limit_milliwatts", ("nvmlDeviceGetEnforcedPowerLimit",), (), int),
    ("power_limits_milliwatts", ("nvmlDeviceGetPowerManagementLimitConstraints",), (), list),
    ("power_usage_milliwatts", ("nvmlDeviceGetPowerUsage",), (), int),
    ("sm_clock_mhz", ("nvmlDeviceGetClockInfo",), (_CLOCK_SM,), int),
    ("sm_max_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), (_CLOCK_SM,), int),
    ("memory_clock_mhz", ("nvmlDeviceGetClockInfo",), (_CLOCK_MEMORY,), int),
    ("memory_max_clock_mhz", ("nvmlDeviceGetMaxClockInfo",), (_CLOCK_MEMORY,), int),
    ("performance_state", ("nvmlDeviceGetPerformanceState",), (), int),
    (
        "throttle_reasons",
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        (),
        int,
    ),
    ("temperature_celsius", ("nvmlDeviceGetTemperature",), (_TEMPERATURE_GPU,), int),
    ("utilization_percent", ("nvmlDeviceGetUtilizationRates",), (), lambda rates: rates.gpu),
    ("ecc_mode", ("nvmlDeviceGetEccMode",), (), lambda modes: bool(modes[0])),
    ("ecc_pending_mode", ("nvmlDeviceGetEccMode",), (), lambda modes: bool(modes[1])),
    ("mig_mode", ("nvmlDeviceGetMigMode",), (), lambda modes: bool(modes[0])),
    ("mig_pending_mode", ("nvmlDeviceGetMigMode",), (), lambda modes: bool(modes[1])),
    ("compute_mode", ("nvmlDeviceGetComputeMode",), (), int),
    ("remapped_rows_correctable", ("nvmlDeviceGetRemappedRows",), (), lambda rows: rows[0]),
    ("remapped_rows_uncorrectable", ("nvmlDeviceGetRemappedRows",), (), lambda rows: rows[1]),
    ("remapped_rows_pending", ("nvmlDeviceGetRemappedRows",), (), lambda rows: bool(rows[2])),
    ("remapped_rows_failed", ("nvmlDeviceGetRemappedRows",), (), lambda rows: bool(rows[3])),
    ("retired_pages_pending", ("nvmlDeviceGetRetiredPagesPendingStatus",), (), bool),
    ("numa_node", ("nvmlDeviceGetNumaNodeId",), (), int),
    (
        "compute_processes",
        # By their numbers: without one the binding refuses drivers that lack the newest.
        ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"),
        (),
        lambda found: sorted({process.pid for process in found}),
    ),
)
# The binding's own names of the first two are tuples by mistake, so the numbers stand here.
_P2P = (("read", 0), ("write", 1), ("nvlink", 2), ("atomics", 3))


def sysfs_address(bus_id: str) -> str:
    """A PCI address as sysfs writes it: ``0000:3b:00.0`` for NVML's ``00000000:3B:00.0``."""
    domain, _, rest = bus_id.partition(":")
    return f"{int(domain, 16):04x}:{rest.lower()}"


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Unanswered(Exception):
    """A question without an answer; carries the gap state and NVML's number."""

    def __init__(self, state: str, number: int | None = None) -> None:
        super().__init__(state)
        self.state = state
        self.number = number


def call(names: tuple[str, ...], *arguments: Any) -> Any:
    """The answer of the first function of ``names`` that both the binding and the driver have."""
    missing = Unanswered("unsupported")
    for name in names:
        function = getattr(pynvml, name, None)
        if function is None:
            continue
        try:
            return function(*arguments)
        except pynvml.NVMLError as error:
            missing = Unanswered(_STATES.get(error.value, "error"), error.value)
            if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                break
    raise missing


def answers() -> dict[str, Any]:
    """Everything that is asked; a question without an answer stands in ``gaps`` beside the fields it would fill."""
    found: dict[str, Any] = {"gaps": {}, "gpus": [], "p2p": []}
    for field, name in (("driver_version", "nvmlSystemGetDriverVersion"), ("nvml_version", "nvmlSystemGetNVMLVersion")):
        _fill(found, field, (name,), (), _text)
    _fill(found, "cuda_version", ("nvmlSystemGetCudaDriverVersion",), (), lambda n: f"{n // 1000}.{n % 1000 // 10}")
    handles = {}
    for index in range(call(("nvmlDeviceGetCount",))):
        gpu: dict[str, Any] = {"index": index, "lost": False, "gaps": {}}
        found["gpus"].append(gpu)
        try:
            handle = call(("nvmlDeviceGetHandleByIndex",), index)
        except Unanswered as error:
            gpu["lost"] = error.number == pynvml.NVML_ERROR_GPU_IS_LOST
            gpu["gaps"] = {field: error.state for field, *_ in _FIELDS} | {"nvlinks_active": error.state}
            continue
        handles[index] = handle
        for field, names, arguments, shape in _FIELDS:
            _fill(gpu, field, names, (handle, *arguments), shape)
        _nvlinks(gpu, handle)
    found["p2p"] = [_pair(a, b, handles) for a in handles for b in handles if a < b]
    return found


def _fill(
    into: dict[str, Any], field: str, names: tuple[str, ...], arguments: Any, shape: Callable[[Any], Any]
) -> None:
    try:
        into[field] = shape(call(names, *arguments))
    except Unanswered as error:
        into[field] = None
        into["gaps"][field] = error.state
        into["lost"] = into.get("lost", False) or error.number == pynvml.NVML_ERROR_GPU_IS_LOST


def _nvlinks(gpu: dict[str, Any], handle: Any) -> None:
    """Counts the active NVLinks; how many the GPU has is told by the first number that NVML does not take."""
    active = 0
    for link in range(getattr(pynvml, "NVML_NVLINK_MAX_LINKS", 18)):
        try:
            active += bool(call(("nvmlDeviceGetNvLinkState",), handle, link))
        except Unanswered as error:
            if link == 0:
                gpu["nvlinks_active"] = None
                gpu["gaps"]["nvlinks_active"] = error.state
                return
            break
    gpu["nvlinks_active"] = active


def _pair(a: int, b: int, handles: dict[int, Any]) -> dict[str, Any]:
    """What two GPUs may do with each other's memory: NVML's status numbers, 0 for "it works"."""
    pair: dict[str, Any] = {"a": a, "b": b, "gaps": {}}
    for field, capability in _P2P:
        _fill(pair, field, ("nvmlDeviceGetP2PStatus",), (handles[a], handles[b], capability), int)
    _fill(pair, "common_ancestor", ("nvmlDeviceGetTopologyCommonAncestor",), (handles[a], handles[b]), int)
    pair.pop("lost", None)
    return pair


def main() -> None:
    """Prints one JSON object: ``answers``, or ``state`` when there are none."""
    try:
        call(("nvmlInit",))
        document: dict[str, Any] = {"answers": answers()}
    except Unanswered as error:
        document = {"state": error.state, "number": error.number}
    json.dump(document, sys.stdout)


if __name__ == "__main__":
    main()
