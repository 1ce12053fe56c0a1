"""GPUs as NVML tells of them, else as far as PCI and the NVIDIA driver's /proc files go.

NVML: https://docs.nvidia.com/deploy/nvml-api/ ; the driver's files: kernel-open/nvidia/nv-procfs.c
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from advisor.host.base import ENVIRONMENT, NVML, Host, Output, command_origin
from advisor.host.nvml import FAILURES
from advisor.host.states import named_state
from advisor.model.facts import Facts, Seen, SeenAs, Volatile
from advisor.probes._collected import Collected
from advisor.probes._given import KINDS, SMI_XML, Disagreement, disagreement, filled
from advisor.probes._gpu_models import GpuDevice, Peer
from advisor.probes._gpu_nvml import told_gpu, told_gpus, told_peers
from advisor.probes._pci_codes import GPU_VENDORS, class_and_vendor, kind_of
from advisor.probes._smi_xml import parse_smi_xml
from advisor.probes._sysfs import PCI_DEVICES, pci_addresses, quiet_names
from advisor.probes._xml import NotReadable

VERSION = "/proc/driver/nvidia/version"
PROC_GPUS = "/proc/driver/nvidia/gpus"
SMI = ("nvidia-smi", "-q", "-x")
"""Asked where a driver is and NVML gives no answer: a collector can start programs, but not ask a library."""
CONFIDENTIAL = f"{NVML}/confidential_compute"
KFD = "/dev/kfd"
"""What programs on AMD GPUs open."""
SMI_COARSE = {
    **{f"power_{name}limit_watts": 0.01 for name in ("", "default_", "enforced_")},
    "memory_total_bytes": 1024 * 1024,
}
"""How much less exactly nvidia-smi writes than NVML answers."""
_VISIBLE = (
    ("nvidia", "CUDA_VISIBLE_DEVICES"),
    ("amd", "HIP_VISIBLE_DEVICES"),
    ("amd", "ROCR_VISIBLE_DEVICES"),
    ("amd", "CUDA_VISIBLE_DEVICES"),
)
"""Variables that choose GPUs, the first that is set counts."""


class Gpu(Facts):
    """The GPUs."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "nvml, /proc/driver/nvidia"
    source: Annotated[
        str | None,
        "nvml, nvidia-smi (its XML), or pci: only what the bus and the driver's files tell",
    ] = None
    gpus: Annotated[tuple[GpuDevice, ...] | None, "NVIDIA's GPUs; AMD's where there is none of NVIDIA's"] = None
    count: Annotated[int | None, "how many there are"] = None
    visible_count: Annotated[
        int | None, Volatile(), "how many a program started from here sees (CUDA_VISIBLE_DEVICES and its like)"
    ] = None
    nvml_failure: Annotated[
        str | None,
        "why NVML gave nothing or not all: no library, no driver, version mismatch (library and kernel driver), "
        "no permission, no binding (the Python package), timed out or error",
    ] = None
    driver_version: Annotated[str | None, "of the NVIDIA kernel driver"] = None
    nvml_version: Annotated[str | None, SeenAs("own"), "of the library that was asked"] = None
    open_kernel_module: Annotated[bool | None, "the open flavour of the NVIDIA kernel driver"] = None
    cuda_version: Annotated[str | None, "the newest that the driver supports"] = None
    confidential_compute: Annotated[bool | None, "GPUs encrypt what they exchange with the host"] = None
    peers: Annotated[tuple[Peer, ...] | None, "every pair of GPUs"] = None
    disagreements: Annotated[
        tuple[Disagreement, ...] | None, "where nvidia-smi's XML says otherwise; the host's value is kept"
    ] = None


def others_only(gpu: Gpu | None) -> bool:
    """Whether there are GPUs and none is NVIDIA's: nvidia-smi cannot tell of them."""
    gpus = (gpu.gpus if gpu is not None else None) or ()
    return bool(gpus) and all(one.vendor != "nvidia" for one in gpus)


COLLECTED = Collected(
    folders=(("/proc/driver/nvidia/gpus", ""), ("/proc/driver/nvidia/gpus/*", "information")),
    files=("/proc/driver/nvidia/version",),
    there=("/dev/kfd",),
    commands=(SMI,),
)


def read(host: Host) -> Gpu:
    """The GPUs of ``host``."""
    text = host.text(VERSION)
    version, is_open = parse_version(text or "")
    answers, failure = _nvml(host)
    if answers is None:
        gpus = _from_bus(host)
        values: dict[str, Any] = {"source": "pci", "driver_version": version}
    else:
        gpus = told_gpus(host, answers)
        told = answers.get("driver_version")
        values = {
            "source": NVML,
            "driver_version": told if isinstance(told, str) else version,
            "cuda_version": _word(answers.get("cuda_version")),
            "nvml_version": _word(answers.get("nvml_version")),
            "confidential_compute": _yes_or_no(host, answers),
            "peers": told_peers(host, answers),
        }
    told_by_smi: dict[str, str] = {}
    output = host.run(SMI) if text and answers is None and failure != "timed out" else None
    told_failure = failure_of_smi(output)
    failure = failure or told_failure
    for origin, given in _smi_answers(host, output):
        gpus, fields = _with_smi(host, origin, given, gpus, values)
        told_by_smi |= fields
    count = None if gpus is None else len(gpus)
    return Gpu(
        origin=NVML,
        gpus=gpus,
        count=count,
        visible_count=_visible(host, gpus),
        nvml_failure=failure,
        open_kernel_module=is_open,
        **values,
        origins={
            "open_kernel_module": VERSION,
            "confidential_compute": CONFIDENTIAL,
            **({} if answers else {"driver_version": VERSION, "gpus": PCI_DEVICES, "count": PCI_DEVICES}),
            "visible_count": ENVIRONMENT,
            **({"nvml_failure": command_origin(SMI)} if told_failure else {}),
            **told_by_smi,
        },
    )


def _nvml(host: Host) -> tuple[Mapping[str, object] | None, str | None]:
    """NVML's answers and why there are none or not all."""
    answers = host.nvml()
    if answers is None:
        return None, None
    told = answers.get("failure")
    failure = str(told) if told in FAILURES else "error" if told is not None else None
    if failure is not None and "gpus" not in answers:
        host.missed(NVML, named_state(str(answers.get("state"))) or "error")
        return None, failure
    return answers, failure


def _word(told: object) -> str | None:
    return told if isinstance(told, str) else None


def _yes_or_no(host: Host, answers: Mapping[str, object]) -> bool | None:
    """Whether GPUs keep secrets from the host; its gap is that of the field."""
    told, gaps = answers.get("confidential_compute"), answers.get("gaps")
    if isinstance(told, bool):
        return told
    state = gaps.get("confidential_compute", "not captured") if isinstance(gaps, dict) else "not captured"
    host.missed(CONFIDENTIAL, named_state(str(state)) or "error")
    return None


def parse_version(text: str) -> tuple[str | None, bool | None]:
    """Version of the driver and whether it is the open flavour.

    Samples: ``NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...`` and
    ``NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...``
    """
    line = next((line for line in text.split("\n") if line.startswith("NVRM version:")), "")
    found = re.search(r"\b(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\b", line, re.ASCII)
    return (found[1] if found else None), ("Open Kernel Module" in line if found else None)


def failure_of_smi(output: Output | None) -> str | None:
    """Why nvidia-smi ended without an answer, where NVML was not asked.

    Sample: ``Failed to initialize NVML: Driver/library version mismatch``
    """
    told = output is not None and output.returncode != 0 and "Driver/library version mismatch" in output.stdout
    return "version mismatch" if told else None


def _smi_answers(host: Host, output: Output | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The answers in nvidia-smi's XML, with its evidence: of the host's own command, and of the file that was given."""
    texts = [(command_origin(SMI), output.stdout)] if output is not None else []
    if SMI_XML in host.given:
        texts.append((KINDS[SMI_XML].origin, host.given[SMI_XML]))
    for origin, text in texts:
        try:
            answers: Mapping[str, Any] = parse_smi_xml(text)
        except NotReadable:
            host.missed(origin, "error")
            continue
        if host.kind == "live" and origin == KINDS[SMI_XML].origin:
            for gpu in answers["gpus"]:
                gpu["compute_processes"] = None  # those of the file may have ended
        yield origin, answers


def _with_smi(
    host: Host, origin: str, given: Mapping[str, Any], gpus: tuple[GpuDevice, ...] | None, values: dict[str, Any]
) -> tuple[tuple[GpuDevice, ...] | None, dict[str, str]]:
    """The GPUs with what only nvidia-smi's XML knows, and the evidence of fields that come from it; fills ``values``.

    The GPUs in it stand alone only where there is no bus to look at: else another machine's would be taken for ours.
    """
    differing: list[Disagreement] = list(values.get("disagreements") or ())
    origins = {"disagreements": origin}
    for field in ("driver_version", "cuda_version"):
        if values.get(field) is None and given[field] is not None:
            values[field], origins[field] = given[field], f"{origin}/{field}"
        elif given[field] is not None and values[field] != given[field]:
            differing.append(disagreement(origin, "GPUs", field, values[field], given[field]))
    from_nvml = values["source"] == NVML
    found = (told_gpu(host, gpu, origin, not from_nvml) for gpu in given["gpus"])
    told = tuple(gpu for gpu in found if gpu is not None)
    devices = {gpu.pci_address: gpu for gpu in told if gpu.pci_address is not None}
    values["disagreements"] = tuple(differing)
    if not gpus and not from_nvml and not host.names(PCI_DEVICES):
        values["source"] = "nvidia-smi"
        return told, {**origins, "gpus": origin, "count": origin}
    merged = []
    for gpu in gpus or ():
        if gpu.pci_address in devices:
            gpu, more = filled(gpu, devices[gpu.pci_address], f"GPU {gpu.pci_address}", SMI_COARSE)
            differing += more
            values["source"] = NVML if from_nvml else "nvidia-smi"
        merged.append(gpu)
    here = sorted(str(gpu.pci_address) for gpu in merged if gpu.vendor == "nvidia")
    there = sorted(str(gpu.pci_address) for gpu in told)
    if here != there:
        differing.append(disagreement(origin, "GPUs", "pci_address", ", ".join(here), ", ".join(there)))
    values["disagreements"] = tuple(differing)
    return tuple(merged), origins


def _from_bus(host: Host) -> tuple[GpuDevice, ...] | None:
    """GPUs by their PCI class; where sysfs is missing, by the NVIDIA driver's folders."""
    names = host.names(PCI_DEVICES)
    found = [(name, vendor) for name in pci_addresses(names or ()) if (vendor := _vendor(host, name))]
    known = quiet_names(host, PROC_GPUS)
    if not found and known:
        found = [(name, "nvidia") for name in pci_addresses(known)]
    if any(vendor == "nvidia" for _, vendor in found):
        # As NVML has it: what AMD processors have built in drives a screen, and no job runs on both makers' GPUs.
        found = [(name, vendor) for name, vendor in found if vendor == "nvidia"]
    if names is None and known is None:
        return () if host.gaps.get(PCI_DEVICES) == "absent" else None
    return tuple(_bus_device(host, index, *gpu, known or ()) for index, gpu in enumerate(found))


def _vendor(host: Host, address: str) -> str | None:
    codes = class_and_vendor(host, f"{PCI_DEVICES}/{address}")
    return GPU_VENDORS.get(codes[1] or "") if kind_of(*codes) == "gpu" else None


def _bus_device(host: Host, index: int, address: str, vendor: str, known: tuple[str, ...]) -> GpuDevice:
    origin = f"{PROC_GPUS}/{address}/information"
    model = parse_model(host.text(origin) or "") if address in known else None
    if model is None:
        origin = f"{PCI_DEVICES}/{address}"
    return GpuDevice(
        origin=origin,
        index=index,
        pci_address=address,
        vendor=vendor,
        name=model,
        origins={"pci_address": origin, "name": origin},
    )


def parse_model(text: str) -> str | None:
    """The model in the driver's ``information`` file. Sample: ``Model: \t\t NVIDIA H100 80GB HBM3``"""
    line = next((line for line in text.split("\n") if line.startswith("Model:")), "")
    return line.partition(":")[2].strip() or None


def _visible(host: Host, gpus: tuple[GpuDevice, ...] | None) -> int | None:
    """GPUs that a program can use: those whose driver answers, less what the environment takes away."""
    environment = host.environment()
    if environment is None or gpus is None:
        return None
    makers = {gpu.vendor for gpu in gpus}
    if "nvidia" in makers and NVML in host.gaps:
        # Containers see every card of the host in /sys; without the driver's library they can use none.
        return 0 if host.gaps[NVML] == "absent" else None
    if makers == {"amd"} and not host.exists(KFD):
        return 0
    there = [gpu for gpu in gpus if not gpu.lost]
    names = [name for maker, name in _VISIBLE if maker in makers and name in environment]
    return parse_visible(environment[names[0]], there) if names else len(there)


def parse_visible(text: str, gpus: Sequence[GpuDevice]) -> int:
    """How many GPUs a list of them leaves: CUDA stops at the first that does not exist.

    Samples: ``0,1``, ``GPU-8932f937,GPU-...``, the empty text for none; ``MIG-...`` is an instance of a GPU
    """
    if any(word.startswith("MIG-") for word in text.split(",")):
        return len(text.split(","))
    count = 0
    uuids = [gpu.uuid for gpu in gpus if gpu.uuid]
    indexes = {gpu.index for gpu in gpus}
    for word in (word.strip() for word in text.split(",")):
        if word.startswith("GPU-"):
            if uuids and not any(uuid.startswith(word) for uuid in uuids):
                break
        elif not (word.isascii() and word.isdecimal() and int(word) in indexes):
            break
        count += 1
    return count
