"""Prints NVML's answers as JSON. Run as a program by `advisor.host.nvml`,
which is to start fast: it imports next to nothing of advisor.

Each GPU is asked by a thread of its own: one that hangs does not keep the others from answering, and what it had
answered before stays. NVML reference: https://docs.nvidia.com/deploy/nvml-api/
"""

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from ctypes import ArgumentError, byref
from functools import partial
from pathlib import Path
from typing import Any

try:
    import pynvml
except ImportError:
    json.dump({"failure": "no binding", "state": "error"}, sys.stdout)
    sys.exit(0)

# Not found by itself: -P keeps this program's folder off the path, and advisor may run from a checkout.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from advisor.host._nvml_fields import (
    ALL,
    FABRIC_BITS,
    FABRIC_FIELDS,
    FABRIC_HEALTH,
    FABRIC_STATES,
    FIELDS,
    LINK_ERRORS,
    MISCONFIGURATIONS,
    NOT_AVAILABLE,
    P2P,
    REMOTES,
    VALUES,
    WORDS,
    Unanswered,
    address_in,
    among,
    plain_text,
    set_bits,
)

_STATES = {
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "unsupported",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "unsupported",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "unsupported",
    pynvml.NVML_ERROR_NO_PERMISSION: "denied",
    pynvml.NVML_ERROR_TIMEOUT: "timed out",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "absent",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "absent",
    # By number where older bindings lack the name: no data, ECC on a vGPU, frequency, version of a struct, deprecated.
    **dict.fromkeys((21, 22, 24, 25, 26), "unsupported"),
}
_FAILURES = {
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "no driver",
    pynvml.NVML_ERROR_TIMEOUT: "timed out",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no library",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "version mismatch",
}
_LOST, _RESET_REQUIRED = pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_RESET_REQUIRED
_SHARE_OF_GPUS = 0.8
"""Of the time; what is left is for pairs of GPUs."""
_MOST_LINKS = getattr(pynvml, "NVML_NVLINK_MAX_LINKS", 18)


def call(names: tuple[str, ...], *arguments: Any) -> Any:
    """The answer of the first function of ``names`` that both the binding and the driver have."""
    missing = Unanswered("unsupported", pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
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


def answers(seconds: float) -> dict[str, Any]:
    """Everything that is asked; a question without an answer stands in ``gaps`` beside the fields it would fill."""
    start = time.monotonic()
    found: dict[str, Any] = {"gaps": {}, "gpus": [], "p2p": []}
    for field, name in (("driver_version", "nvmlSystemGetDriverVersion"), ("nvml_version", "nvmlSystemGetNVMLVersion")):
        _ask(found, field, plain_text, (name,))
    _ask(found, "cuda_version", _cuda, ("nvmlSystemGetCudaDriverVersion",))
    _ask(found, "confidential_compute", lambda state: bool(state.ccFeature), ("nvmlSystemGetConfComputeState",))
    count = call(("nvmlDeviceGetCount",))
    found["gpus"] = [_unasked(index) for index in range(count)]
    handles: dict[int, Any] = {}
    threads = [_started(_gpu, gpu, handles) for gpu in found["gpus"]]
    done = [_ended(thread, start + seconds * _SHARE_OF_GPUS) for thread in threads]
    asked = {index: handle for index, handle in sorted(handles.items()) if done[index]}
    done.append(_ended(_started(_pairs, found["p2p"], asked), start + seconds))
    if not all(done):
        found["failure"] = "timed out"
    return found


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _started(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _ended(thread: threading.Thread, deadline: float) -> bool:
    thread.join(max(0.0, deadline - time.monotonic()))
    return not thread.is_alive()


def _unasked(index: int) -> dict[str, Any]:
    """A GPU that has not answered yet, and may never."""
    gaps = dict.fromkeys((*ALL, "lost", "reset_required"), "timed out")
    return {"index": index, "lost": None, "reset_required": None, **dict.fromkeys(ALL), "gaps": gaps}


def _gpu(gpu: dict[str, Any], handles: dict[int, Any]) -> None:
    """Asks one GPU everything."""
    try:
        handle = call(("nvmlDeviceGetHandleByIndex",), gpu["index"])
    except Unanswered as error:
        _tell(gpu, error, *ALL)
    else:
        handles[gpu["index"]] = handle
        for field, names, arguments, shape in FIELDS:
            _ask(gpu, field, shape, names, handle, *arguments)
        for field, number, shape in VALUES:
            _fill(gpu, field, partial(_field_value, handle, number, shape))
        _fill(gpu, "near_cpus", partial(_near_cpus, handle))
        _nvlinks(gpu, handle)
        _fabric(gpu, handle)
    for field in ("lost", "reset_required"):
        gpu[field] = gpu[field] is True
        gpu["gaps"].pop(field, None)


def _ask(
    into: dict[str, Any], field: str, shape: Callable[[Any], Any], names: tuple[str, ...], *arguments: Any
) -> None:
    """Fills a field with what ``shape`` makes of NVML's answer."""
    _fill(into, field, lambda: shape(call(names, *arguments)))


def _fill(into: dict[str, Any], field: str, ask: Callable[[], Any]) -> None:
    try:
        value = ask()
        if value in NOT_AVAILABLE:
            raise Unanswered("unsupported")
    except Unanswered as error:
        _tell(into, error, field)
    except (ValueError, TypeError, AttributeError, IndexError, ArgumentError):
        # Text that is none, or a binding whose answer has another shape.
        _tell(into, Unanswered("error"), field)
    else:
        into[field] = value
        into["gaps"].pop(field, None)


def _tell(into: dict[str, Any], error: Unanswered, *fields: str) -> None:
    """Writes down why ``fields`` have no value."""
    for field in fields:
        into[field] = None
        into["gaps"][field] = error.state
    for field, number in (("lost", _LOST), ("reset_required", _RESET_REQUIRED)):
        if field in into and error.number == number:
            into[field] = True


def _field_value(handle: Any, number: int, shape: Callable[[Any], Any]) -> Any:
    value = call(("nvmlDeviceGetFieldValues",), handle, [number])[0]
    if value.nvmlReturn != pynvml.NVML_SUCCESS:
        raise Unanswered(_STATES.get(value.nvmlReturn, "error"), value.nvmlReturn)
    # All numbers of the union start at its first byte.
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return shape(getattr(value.value, kinds[value.valueType]))


def _near_cpus(handle: Any) -> list[int]:
    try:
        return set_bits(call(("nvmlDeviceGetCpuAffinityWithinScope",), handle, WORDS, 0))
    except Unanswered as error:
        if error.number != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
            raise
        return set_bits(call(("nvmlDeviceGetCpuAffinity",), handle, WORDS))


def _nvlinks(gpu: dict[str, Any], handle: Any) -> None:
    """The NVLinks: numbers may be left out, and the first that NVML does not take at all ends them."""
    links: list[dict[str, Any]] = []
    missing = None
    for number in range(_MOST_LINKS):
        try:
            active = bool(call(("nvmlDeviceGetNvLinkState",), handle, number))
        except Unanswered as error:
            missing = error
            if error.number == pynvml.NVML_ERROR_NOT_SUPPORTED:
                continue
            break
        links.append({"number": number, "active": active, "gaps": {}})
    if missing is not None and (not links or missing.state != "unsupported"):
        _tell(gpu, missing, "nvlinks", "nvlinks_active")
        return
    for link in links:
        _nvlink(link, handle)
    _fill(gpu, "nvlinks", lambda: links)
    _fill(gpu, "nvlinks_active", lambda: sum(link["active"] for link in links))


def _nvlink(link: dict[str, Any], handle: Any) -> None:
    number = link["number"]
    _ask(link, "version", int, ("nvmlDeviceGetNvLinkVersion",), handle, number)
    _ask(link, "remote_kind", among(REMOTES), ("nvmlDeviceGetNvLinkRemoteDeviceType",), handle, number)
    _ask(link, "remote_bus_id", address_in, ("nvmlDeviceGetNvLinkRemotePciInfo",), handle, number)
    for counter, field in enumerate(LINK_ERRORS):
        _ask(link, field, int, ("nvmlDeviceGetNvLinkErrorCounter",), handle, number, counter)


def _fabric(gpu: dict[str, Any], handle: Any) -> None:
    """The fabric of NVSwitches, asked in the newest form that both sides know."""
    missing = Unanswered("unsupported")
    for form, function in (("v3", "V"), ("v2", "V"), ("", "")):
        kind = getattr(pynvml, f"c_nvmlGpuFabricInfo_{form}_t".replace("__", "_"), None)
        if kind is None:
            continue
        info = kind()
        try:
            call((f"nvmlDeviceGetGpuFabricInfo{function}",), handle, byref(info))
        except Unanswered as error:
            missing = error
            if error.state != "unsupported":
                break
        else:
            _fabric_fields(gpu, info)
            return
    _tell(gpu, missing, *FABRIC_FIELDS)


def _fabric_fields(gpu: dict[str, Any], info: Any) -> None:
    health = getattr(info, "healthMask", 0)
    done = FABRIC_STATES.get(info.state) == "completed"
    cluster = bytes(info.clusterUuid)
    _fill(gpu, "fabric_state", lambda: among(FABRIC_STATES)(info.state))
    # What follows means something only once the GPU has registered.
    _fill(gpu, "fabric_status", lambda: int(info.status) if done else -1)
    _fill(gpu, "fabric_clique", lambda: int(info.cliqueId) if done else -1)
    _fill(gpu, "fabric_cluster_uuid", lambda: str(uuid.UUID(bytes=cluster)) if done and any(cluster) else "")
    for name, shift in FABRIC_BITS:
        _fill(gpu, f"fabric_{name}", partial({1: True, 2: False}.get, health >> shift & 0b11, ""))
    _fill(gpu, "fabric_misconfiguration", lambda: among(MISCONFIGURATIONS)(health >> 8 & 0b1111))
    _fill(gpu, "fabric_health", lambda: among(FABRIC_HEALTH)(getattr(info, "healthSummary", 0)))


def _pairs(pairs: list[dict[str, Any]], handles: dict[int, Any]) -> None:
    """What two GPUs may do with each other's memory: NVML's status numbers, 0 for "it works"."""
    for a, b in ((a, b) for a in handles for b in handles if a < b):
        pair: dict[str, Any] = {"a": a, "b": b, "gaps": {}}
        for field, capability in P2P:
            _ask(pair, field, int, ("nvmlDeviceGetP2PStatus",), handles[a], handles[b], capability)
        _ask(pair, "common_ancestor", int, ("nvmlDeviceGetTopologyCommonAncestor",), handles[a], handles[b])
        pairs.append(pair)


def main() -> None:
    """Prints one JSON object: ``answers``, or ``failure`` and ``state`` when there are none."""
    start = time.monotonic()
    try:
        call(("nvmlInit",))
        document: dict[str, Any] = {"answers": answers(float(sys.argv[1]) - (time.monotonic() - start))}
    except Unanswered as error:
        failure = _FAILURES.get(error.number or 0, "error")
        document = {"failure": failure, "state": error.state, "number": error.number}
    print(_written(document), flush=True)
    # Without waiting for a thread that hangs in the driver.
    os._exit(0)


def _written(document: dict[str, Any]) -> str:
    while True:
        try:
            return json.dumps(document)
        except RuntimeError:
            # A thread that was given up has answered just now.
            time.sleep(0.01)


if __name__ == "__main__":
    main()
