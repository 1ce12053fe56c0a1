"""The NVIDIA kernel driver and what stands beside it: parameters, peer memory, device nodes, Fabric Manager.

The driver's files: kernel-open/nvidia/nv-procfs.c and nv-reg.h in NVIDIA/open-gpu-kernel-modules. Whether a NIC may
reach GPU memory is asked as NCCL does, in src/transport/net_ib/gdr.cc. Services, as nvidia-persistenced, stand in
`systemd`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Root, Seen, SeenAs
from advisor.probes._collected import Collected
from advisor.probes._sysfs import pci_addresses
from advisor.probes.gpu import PROC_GPUS, VERSION

PARAMS = "/proc/driver/nvidia/params"
PEERS = "/sys/kernel/mm/memory_peers"
IMEX = "/dev/nvidia-caps-imex-channels"
FABRIC_MANAGER = ("nv-fabricmanager", "--version")
MOST_NODES = 32
"""Device nodes of GPUs that a collector looks for."""


class Parameters(Facts):
    """Parameters of the nvidia module as the driver took them (NVreg_... in modprobe.d; most hide from /sys/module)."""

    read_from: ClassVar[str] = "/proc/driver/nvidia/params"
    stream_memory_operations: Annotated[bool | None, "EnableStreamMemOPs"] = None
    profiling_needs_root: Annotated[
        bool | None, "RmProfilingAdminOnly, set by NVreg_RestrictProfilingToAdminUsers: nsys and ncu read no counters"
    ] = None
    relaxed_ordering: Annotated[bool | None, "EnablePCIERelaxedOrderingMode"] = None
    resizable_bar: Annotated[bool | None, "EnableResizableBar"] = None
    gpu_firmware: Annotated[int | None, "EnableGpuFirmware: bits, 18 is the driver's own choice"] = None
    preserve_memory: Annotated[bool | None, "PreserveVideoMemoryAllocations, over sleep"] = None
    gpudirect_topology_override: Annotated[
        bool | None, "GrdmaPciTopoCheckOverride: GPUDirect RDMA even where the bus looks unfit"
    ] = None
    coherent_memory_mode: Annotated[str | None, "CoherentGPUMemoryMode: numa or driver; empty is the default"] = None
    initialize_system_memory: Annotated[bool | None, "InitializeSystemMemoryAllocations: pages are cleared first"] = (
        None
    )
    nvlink_disabled: Annotated[bool | None, "NvLinkDisable"] = None
    imex_channels: Annotated[int | None, "ImexChannelCount"] = None
    user_numa_management: Annotated[bool | None, "EnableUserNUMAManagement"] = None
    registry_dwords: Annotated[str | None, "RegistryDwords: further settings by name"] = None


_KEYS: Mapping[str, str] = {
    "stream_memory_operations": "EnableStreamMemOPs",
    "profiling_needs_root": "RmProfilingAdminOnly",
    "relaxed_ordering": "EnablePCIERelaxedOrderingMode",
    "resizable_bar": "EnableResizableBar",
    "gpu_firmware": "EnableGpuFirmware",
    "preserve_memory": "PreserveVideoMemoryAllocations",
    "gpudirect_topology_override": "GrdmaPciTopoCheckOverride",
    "coherent_memory_mode": "CoherentGPUMemoryMode",
    "initialize_system_memory": "InitializeSystemMemoryAllocations",
    "nvlink_disabled": "NvLinkDisable",
    "imex_channels": "ImexChannelCount",
    "user_numa_management": "EnableUserNUMAManagement",
    "registry_dwords": "RegistryDwords",
}
_OTHERWISE_CALLED = {"NVreg_RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}
_NUMBERS = ("gpu_firmware", "imex_channels")
_TEXTS = ("coherent_memory_mode", "registry_dwords")


class Card(Facts):
    """A GPU that the driver has taken, from its ``information`` file. NVML does not tell of excluded ones."""

    read_from: ClassVar[str] = "/proc/driver/nvidia/gpus/*/information"
    address: Annotated[str, "as sysfs writes it"]
    model: Annotated[str | None, "Model"] = None
    vbios_version: Annotated[str | None, "Video BIOS"] = None
    minor_number: Annotated[int | None, "Device Minor: N of /dev/nvidiaN"] = None
    firmware_version: Annotated[str | None, "GPU Firmware: of the GSP; none where it is not used"] = None
    excluded: Annotated[bool | None, "GPU Excluded: the driver was told to leave it alone"] = None
    node_there: Annotated[
        bool | None, SeenAs("own"), "its /dev/nvidiaN is there; a container sees what it was given"
    ] = None


class Nvidia(Facts):
    """The NVIDIA kernel driver, as far as files tell; version and flavour stand in `gpu`, modules in `modules`."""

    read_from: ClassVar[str] = "/"
    seen: ClassVar[Seen | None] = "host"

    parameters: Annotated[Parameters | None, "as the driver took them"] = None
    cards: Annotated[tuple[Card, ...] | None, "GPUs that the driver has taken"] = None
    hmm_disabled: Annotated[
        bool | None,
        File("sys/module/nvidia_uvm/parameters/uvm_disable_hmm"),
        "GPUs cannot read memory of the process that was allocated the ordinary way",
    ] = None
    ats_mode: Annotated[
        bool | None, File("sys/module/nvidia_uvm/parameters/uvm_ats_mode"), "translation by the CPU's tables (Grace)"
    ] = None
    modeset: Annotated[
        bool | None, File("sys/module/nvidia_drm/parameters/modeset"), Root(), "the driver runs displays"
    ] = None
    peermem_version: Annotated[
        str | None, File("sys/module/nvidia_peermem/version"), "of nvidia_peermem: NICs reach GPU memory through it"
    ] = None
    legacy_peermem_version: Annotated[
        str | None, File("sys/kernel/mm/memory_peers/nv_mem/version"), "of nv_peer_mem, its predecessor"
    ] = None
    peer_memory_clients: Annotated[tuple[str, ...] | None, "drivers whose memory RDMA reaches; OFED only"] = None
    control_node_there: Annotated[bool | None, SeenAs("own"), "/dev/nvidiactl"] = None
    uvm_node_there: Annotated[bool | None, SeenAs("own"), "/dev/nvidia-uvm, without which CUDA does not start"] = None
    imex_channel_nodes: Annotated[
        int | None, SeenAs("own"), "channels through which GPUs of other nodes are reached (multi-node NVLink)"
    ] = None
    persistenced_socket_there: Annotated[
        bool | None, SeenAs("own"), "nvidia-persistenced listens; a container may be given its socket"
    ] = None
    fabric_manager_version: Annotated[
        str | None, SeenAs("own"), "of Fabric Manager, which must be that of the driver to the last digit"
    ] = None


SOCKET = "/run/nvidia-persistenced/socket"
CONTROL, UVM = "/dev/nvidiactl", "/dev/nvidia-uvm"
COLLECTED = Collected(
    models=(("", Nvidia),),
    folders=((PROC_GPUS, ""), (f"{PROC_GPUS}/*", "information"), (PEERS, ""), (IMEX, "")),
    files=(VERSION, PARAMS),
    there=(CONTROL, UVM, SOCKET, *(f"/dev/nvidia{number}" for number in range(MOST_NODES))),
    commands=(FABRIC_MANAGER,),
)


def read(host: Host) -> Nvidia:
    """The NVIDIA kernel driver of ``host``."""
    channels = host.names(IMEX)
    return read_fields(
        host,
        Nvidia,
        "/",
        parameters=_parameters(host),
        cards=_cards(host),
        peer_memory_clients=host.names(PEERS),
        control_node_there=host.exists(CONTROL),
        uvm_node_there=host.exists(UVM),
        imex_channel_nodes=None if channels is None else sum(name.startswith("channel") for name in channels),
        persistenced_socket_there=host.exists(SOCKET),
        fabric_manager_version=_fabric_manager(host),
        origins={
            "parameters": PARAMS,
            "cards": PROC_GPUS,
            "control_node_there": CONTROL,
            "uvm_node_there": UVM,
            "peer_memory_clients": PEERS,
            "imex_channel_nodes": IMEX,
            "persistenced_socket_there": SOCKET,
            "fabric_manager_version": command_origin(FABRIC_MANAGER),
        },
    )


def _parameters(host: Host) -> Parameters | None:
    text = host.text(PARAMS)
    if text is None:
        return None
    told = parse_keys(text)
    values: dict[str, Any] = {}
    origins = {}
    for field, key in _KEYS.items():
        values[field] = _parameter(field, told.get(key))
        if values[field] is None:
            origins[field] = f"{PARAMS}: {key}"
            host.missed(origins[field], "absent" if key not in told else "unsupported")
    return Parameters(origin=PARAMS, origins=origins, **values)


def parameter_taken(parameters: Parameters, name: str) -> str | None:
    """The value of a parameter of modprobe.d (``NVreg_EnableResizableBar``) as text; ``None``: not among the facts."""
    key = _OTHERWISE_CALLED.get(name, name.removeprefix("NVreg_"))
    field = next((field for field, known in _KEYS.items() if known == key), None)
    value = None if field is None or not name.startswith("NVreg_") else getattr(parameters, field)
    return None if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def parse_keys(text: str) -> Mapping[str, str]:
    """The values by key in a file of the driver, without quotes. Samples: ``EnableResizableBar: 0``,
    ``RegistryDwords: ""``, ``GPU Excluded:\\t No``"""
    lines = (line.partition(":") for line in text.split("\n") if ":" in line)
    return {key.strip(): value.strip().strip('"') for key, _, value in lines}


def _parameter(field: str, text: str | None) -> Any:
    if text is None or field in _TEXTS:
        return text
    if field in _NUMBERS:
        return _number(text)
    return {"0": False, "1": True}.get(text)


def _number(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else None


def _cards(host: Host) -> tuple[Card, ...] | None:
    names = host.names(PROC_GPUS)
    return None if names is None else tuple(_card(host, address) for address in pci_addresses(names))


def _card(host: Host, address: str) -> Card:
    """One GPU. What the driver does not know before the GPU is first opened it writes with question marks."""
    origin = f"{PROC_GPUS}/{address}/information"
    told = parse_keys(host.text(origin) or "")
    known = {key: value for key, value in told.items() if value and "?" not in value and value != "N/A"}
    number = _number(known.get("Device Minor"))
    minor = number if number is not None and number < MOST_NODES else None
    node = f"/dev/nvidia{minor}"
    return Card(
        origin=origin,
        address=address,
        model=known.get("Model"),
        vbios_version=known.get("Video BIOS"),
        minor_number=minor,
        firmware_version=known.get("GPU Firmware"),
        excluded={"Yes": True, "No": False}.get(known.get("GPU Excluded", "")),
        node_there=None if minor is None else host.exists(node),
        origins={} if minor is None else {"node_there": node},
    )


def _fabric_manager(host: Host) -> str | None:
    output = host.run(FABRIC_MANAGER)
    if output is None:
        return None
    version = parse_fabric_manager(output.stdout)
    if version is None:
        host.missed(command_origin(FABRIC_MANAGER), "unsupported")
    return version


def parse_fabric_manager(text: str) -> str | None:
    """The version. Sample: ``Fabric Manager version is : 535.104.05``"""
    found = re.search(r"\b(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)\b", text, re.ASCII)
    return found[1] if found else None
