"""NVML's answers, or those of a file of nvidia-smi in the same shape (see `advisor.host.nvml`), as facts.

They may come from a capture, so that anything may stand in them: what is not of its field's type is the gap ``error``,
what an older advisor did not ask yet is ``not captured``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from advisor.host.base import NVML, Host
from advisor.host.states import named_state
from advisor.model.facts import Facts, marks
from advisor.probes._gpu_models import CLOCK_REASONS, GpuDevice, NvLink, Peer

F = TypeVar("F", bound=Facts)
MOST_GPUS = 256
_THOUSANDTHS = {"_watts": 1000, "_seconds": 1_000_000_000}
"""Unit at the end of a field's name to how many of the answer's units (milliwatts, nanoseconds) make one."""
_P2P_REFUSALS = {1: "chipset", 2: "gpu", 3: "topology", 4: "disabled", 5: "not supported"}
"""NVML_P2P_STATUS_...; 0 is OK and 6 not known."""
_ANCESTORS = {0: "same board", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""NVML_TOPOLOGY_... in the words of ``nvidia-smi topo -m``."""


def told_gpus(host: Host, answers: Mapping[str, object]) -> tuple[GpuDevice, ...]:
    """The GPUs that NVML told of."""
    found = (told_gpu(host, gpu) for gpu in _dicts(answers.get("gpus"))[:MOST_GPUS])
    return tuple(gpu for gpu in found if gpu is not None)


def told_gpu(host: Host, gpu: Mapping[str, Any], source: str = NVML, keep_gaps: bool = True) -> GpuDevice | None:
    """One GPU; its gaps stand below ``source``. ``None`` when it has no number."""
    index = gpu.get("index")
    if type(index) is not int:
        return None
    origin = f"{source}/{index}"
    nvlinks = [_nvlink(host, link, origin) for link in _dicts(gpu.get("nvlinks"))]
    reasons = gpu.get("throttle_reasons")
    given: dict[str, Any] = {
        "index": index,
        "vendor": "nvidia",
        "nvlinks": tuple(link for link in nvlinks if link is not None)
        if isinstance(gpu.get("nvlinks"), list)
        else None,
        "throttle_names": clock_reasons(reasons) if type(reasons) is int else None,
    }
    return _told(host, GpuDevice, gpu, origin, given, keep_gaps)


def clock_reasons(bits: int) -> tuple[str, ...]:
    """Names of the reasons for which clocks are lower than they could be. Sample: 5 is gpu_idle and sw_power_cap"""
    return tuple(name for bit, name in CLOCK_REASONS.items() if bits & bit)


def told_peers(host: Host, answers: Mapping[str, object]) -> tuple[Peer, ...]:
    """What every two GPUs can do together."""
    peers = []
    for pair in _dicts(answers.get("p2p")):
        a, b = pair.get("a"), pair.get("b")
        if type(a) is not int or type(b) is not int:
            continue
        origin = f"{NVML}/{a}-{b}"
        given: dict[str, Any] = {"a": a, "b": b}
        given |= {name: _works(pair.get(name)) for name in ("read", "write", "nvlink", "atomics")}
        given["read_refusal"] = _among(_P2P_REFUSALS, pair.get("read"))
        given["common_ancestor"] = _among(_ANCESTORS, pair.get("common_ancestor"))
        for name in ("read", "write", "nvlink", "atomics", "common_ancestor"):
            if pair.get(name) is not None and given[name] is None:
                host.missed(f"{origin}/{name}", "unsupported")
        peers.append(_told(host, Peer, pair, origin, given, True))
    return tuple(peers)


def _nvlink(host: Host, link: Mapping[str, Any], gpu: str) -> NvLink | None:
    number = link.get("number")
    if type(number) is not int:
        return None
    return _told(host, NvLink, link, f"{gpu}/nvlinks/{number}", {"number": number}, True)


def _told(
    host: Host, model: type[F], answer: Mapping[str, Any], origin: str, given: Mapping[str, Any], keep_gaps: bool
) -> F:
    """A ``model`` of ``answer``; ``given`` are fields that are known already."""
    if keep_gaps:
        _keep_gaps(host, model, answer, origin)
    values: dict[str, Any] = {"origin": origin, **given}
    for field, mark in marks(model).items():
        if mark.file is not None and field not in given:
            values[field] = _scaled(field, answer.get(mark.file.name))
    try:
        return model(**values)
    except ValidationError as error:
        unfit = {str(problem["loc"][0]) for problem in error.errors()}
    for field in unfit:
        mark = marks(model)[field]
        host.missed(f"{origin}/{mark.file.name if mark.file else field}", "error")
    return model(**{field: value for field, value in values.items() if field not in unfit})


def _keep_gaps(host: Host, model: type[Facts], answer: Mapping[str, Any], origin: str) -> None:
    told = answer.get("gaps")
    gaps = told if isinstance(told, dict) else {}
    for mark in marks(model).values():
        name = mark.file.name if mark.file is not None else None
        if name is not None and answer.get(name) is None:
            state = "not captured" if name not in answer and name not in gaps else str(gaps.get(name))
            host.missed(f"{origin}/{name}", named_state(state) or "error")


def _scaled(field: str, value: Any) -> Any:
    parts = next((parts for unit, parts in _THOUSANDTHS.items() if field.endswith(unit)), None)
    if parts is not None and type(value) is int:
        return value / parts
    return tuple(value) if isinstance(value, list) else value


def _works(status: object) -> bool | None:
    return True if status == 0 and status is not False else None if _among(_P2P_REFUSALS, status) is None else False


def _among(words: Mapping[int, str], value: object) -> str | None:
    return words.get(value) if type(value) is int else None


def _dicts(told: object) -> Sequence[Mapping[str, Any]]:
    return [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
