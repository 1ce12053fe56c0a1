"""PCI devices that matter for training, the bridges above them, their links and NUMA nodes.

Listed are GPUs, network cards, NVMe drives, RAID and SAS controllers, NVSwitches, and every bridge above one.
Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-bus-pci
"""

import re
from typing import Annotated, ClassVar, TypeVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._pci_bars import Bar, read_bars
from advisor.probes._pci_codes import class_and_vendor, kind_of, parse_hex
from advisor.probes._pci_config import Config, read_config
from advisor.probes._sysfs import PCI_DEVICES, link_name, near_numa_node, pci_addresses, pci_chain

T = TypeVar("T")
IOMMU_GROUPS = "/sys/kernel/iommu_groups"
_ASLEEP = ("suspended", "suspending")
_NO_WIDTH = (0, 63, 255)
"""What the kernel prints when the link does not answer."""
_UPSTREAM = {"upstream_max_link_speed_gts": "max_link_speed", "upstream_max_link_width": "max_link_width"}
_NOT_OF_BRIDGES = (
    "subsystem_vendor",
    "subsystem_device",
    "local_cpulist",
    "iommu_group",
    "physical_function",
    "virtual_functions",
    "virtual_functions_most",
    "numa_node_unset",
    "bars",
)
"""Files that are not read of bridges: a big host has a hundred of them."""
_AER = {
    "correctable_errors": "aer_dev_correctable",
    "nonfatal_errors": "aer_dev_nonfatal",
    "fatal_errors": "aer_dev_fatal",
}


class Device(Facts):
    """One PCI device, from its folder in sysfs."""

    seen: ClassVar[Seen | None] = "host"

    address: Annotated[str, "as sysfs writes it: 0000:3b:00.0"]
    kind: Annotated[str, "gpu, display (no compute), nic, nvme, raid, sas, nvswitch or bridge"]
    vendor: Annotated[str | None, File("vendor"), "four hex digits, 10de is NVIDIA"] = None
    device: Annotated[str | None, File("device"), "four hex digits"] = None
    subsystem_vendor: Annotated[str | None, File("subsystem_vendor"), "four hex digits"] = None
    subsystem_device: Annotated[str | None, File("subsystem_device"), "four hex digits"] = None
    class_code: Annotated[str | None, File("class"), "six hex digits: class, subclass, interface"] = None
    driver: Annotated[str | None, File("driver"), "the kernel driver bound to it"] = None
    numa_node: Annotated[int | None, File("numa_node", unknown=("-1",)), "as its own file says"] = None
    near_numa_node: Annotated[int | None, File("numa_node"), "its own, else that of the nearest parent"] = None
    numa_node_unset: Annotated[bool | None, File("numa_node"), "the firmware named none: its own file says -1"] = None
    local_cpulist: Annotated[str | None, File("local_cpulist"), "CPUs near it, as the kernel writes lists"] = None
    link_speed_gts: Annotated[
        float | None, File("current_link_speed"), Volatile(), "GT/s per lane now; falls when a GPU is idle"
    ] = None
    link_width: Annotated[int | None, File("current_link_width"), "lanes in use"] = None
    max_link_speed_gts: Annotated[float | None, File("max_link_speed"), "GT/s per lane that the device can"] = None
    max_link_width: Annotated[int | None, File("max_link_width"), "lanes that the device has"] = None
    upstream: Annotated[str | None, "address of the bridge right above it; none: it sits on the root bus"] = None
    upstream_max_link_speed_gts: Annotated[float | None, "GT/s per lane that the bridge above can"] = None
    upstream_max_link_width: Annotated[int | None, "lanes that the bridge above has"] = None
    path: Annotated[
        tuple[str, ...], "addresses from the root port down to the device itself; of bridges, see upstream"
    ] = ()
    root: Annotated[str | None, "the root complex: pci0000:3a"] = None
    iommu_group: Annotated[str | None, File("iommu_group"), "none: no IOMMU works on it"] = None
    iommu_type: Annotated[str | None, "identity (passes through), DMA or DMA-FQ (translated)"] = None
    virtual_function: Annotated[bool | None, "a part of an SR-IOV card; a VM cannot tell"] = None
    physical_function: Annotated[str | None, File("physfn"), "address of the card that it is a part of"] = None
    virtual_functions: Annotated[int | None, File("sriov_numvfs"), "how many of its own are in use"] = None
    virtual_functions_most: Annotated[int | None, File("sriov_totalvfs"), "how many it can have"] = None
    correctable_errors: Annotated[int | None, File("aer_dev_correctable"), Counter(), "since boot"] = None
    nonfatal_errors: Annotated[int | None, File("aer_dev_nonfatal"), Counter(), "since boot"] = None
    fatal_errors: Annotated[int | None, File("aer_dev_fatal"), Counter(), "since boot"] = None
    bars: Annotated[tuple[Bar, ...] | None, File("resource"), "windows into its memory and registers"] = None
    runtime_status: Annotated[
        str | None,
        File("power/runtime_status"),
        Volatile(),
        "active, suspended ... by the kernel's power management; unsupported: it is never put to sleep",
    ] = None
    answers: Annotated[
        bool | None, Volatile(), "its configuration space can be read; false: gone, as one that fell off the bus"
    ] = None
    config: Annotated[Config | None, "its configuration space; of devices that are awake"] = None


class Pci(Facts):
    """The PCI devices of the host."""

    read_from: ClassVar[str] = "/sys/bus/pci/devices"
    seen: ClassVar[Seen | None] = "host"

    devices: Annotated[tuple[Device, ...] | None, "those listed above, by address"] = None
    count: Annotated[int | None, "all PCI devices, those not listed too"] = None
    iommu_groups: Annotated[int | None, "IOMMU groups; 0: no IOMMU is at work"] = None


COLLECTED = Collected(
    models=((f"{PCI_DEVICES}/*", Device),),
    config_spaces=(f"{PCI_DEVICES}/*",),
    folders=(
        (PCI_DEVICES, "*"),
        (f"{PCI_DEVICES}/*/msi_irqs", ""),
        (IOMMU_GROUPS, ""),
        (f"{IOMMU_GROUPS}/*", "type"),
    ),
)


def read(host: Host) -> Pci:
    """The PCI devices of ``host``."""
    names = host.names(PCI_DEVICES)
    if names is None:
        # A machine without PCI has no such folder; that is an answer only where absence is one.
        nothing = host.gaps.get(PCI_DEVICES) == "absent"
        return Pci(origin=PCI_DEVICES, devices=() if nothing else None, count=0 if nothing else None)
    addresses = pci_addresses(names)
    classes = {address: class_and_vendor(host, f"{PCI_DEVICES}/{address}") for address in addresses}
    kinds = {address: kind for address, codes in classes.items() if (kind := kind_of(*codes)) is not None}
    reals = {address: host.real(f"{PCI_DEVICES}/{address}") or "" for address in kinds if kinds[address] != "bridge"}
    above = {bridge for address, real in reals.items() if kinds[address] != "display" for bridge in pci_chain(real)}
    listed = [address for address in addresses if address in reals or (address in above and address in kinds)]
    return Pci(
        origin=PCI_DEVICES,
        devices=tuple(_device(host, address, kinds[address], *classes[address]) for address in listed),
        count=len(addresses),
        iommu_groups=_iommu_groups(host),
        origins={"iommu_groups": IOMMU_GROUPS},
    )


def _device(host: Host, address: str, kind: str, class_code: str | None, vendor: str | None) -> Device:
    folder = f"{PCI_DEVICES}/{address}"
    names = host.names(folder) or ()
    real = host.real(folder) or folder
    node, near = near_numa_node(host, f"{folder}/numa_node", real)
    origins = {} if near == f"{folder}/numa_node" else {"near_numa_node": near}
    status = host.text(f"{folder}/power/runtime_status")
    # What a screen is connected to matters to no one here.
    config, answers = read_config(host, folder, awake=kind != "display" and status not in _ASLEEP)
    origins |= dict.fromkeys(("config", "answers"), f"{folder}/config")
    given = {
        **{
            field: parse_errors(host.text(f"{folder}/{name}")) if name in names else None
            for field, name in _AER.items()
        },
        **_link(host, folder),
        **_upstream(host, folder, pci_chain(real), real, origins),
        **(dict.fromkeys(_NOT_OF_BRIDGES) if kind == "bridge" else _endpoint(host, folder, names, real, origins)),
    }
    return read_fields(
        host,
        Device,
        folder,
        **given,
        address=address,
        kind=kind,
        vendor=vendor or _code(host, f"{folder}/vendor"),
        device=_code(host, f"{folder}/device"),
        class_code=class_code,
        driver=link_name(host, f"{folder}/driver"),
        runtime_status=status,
        config=config,
        answers=answers,
        numa_node=None if "near_numa_node" in origins else node,
        near_numa_node=node,
        origins=origins,
    )


def _endpoint(host: Host, folder: str, names: tuple[str, ...], real: str, origins: dict[str, str]) -> dict[str, object]:
    """What only matters of devices that are no bridges; ``origins`` gets where the type of the IOMMU group stands."""
    group = link_name(host, f"{folder}/iommu_group")
    origins["iommu_type"] = f"{IOMMU_GROUPS}/{group}/type" if group else f"{folder}/iommu_group"
    return {
        "subsystem_vendor": _code(host, f"{folder}/subsystem_vendor"),
        "subsystem_device": _code(host, f"{folder}/subsystem_device"),
        "path": pci_chain(real),
        "root": _root(real),
        "iommu_group": group,
        "iommu_type": host.text(origins["iommu_type"]) if group else None,
        "numa_node_unset": None if (node := host.text(f"{folder}/numa_node")) is None else node.strip() == "-1",
        "virtual_function": "physfn" in names if names else None,
        "physical_function": link_name(host, f"{folder}/physfn") if "physfn" in names else None,
        "virtual_functions": _number(host, f"{folder}/sriov_numvfs") if "sriov_numvfs" in names else None,
        "virtual_functions_most": _number(host, f"{folder}/sriov_totalvfs") if "sriov_totalvfs" in names else None,
        "bars": read_bars(host, f"{folder}/resource"),
    }


def _upstream(host: Host, folder: str, chain: tuple[str, ...], real: str, origins: dict[str, str]) -> dict[str, object]:
    """The bridge above and what its link can; ``origins`` gets where that stands."""
    if len(chain) < 2:
        # The parent of a device on the root bus is no PCI device: there is no such port.
        nowhere = f"{folder}/.."
        if _root(real) is not None:
            host.missed(nowhere, "absent")
        origins.update(dict.fromkeys(("upstream", *_UPSTREAM), nowhere))
        return {}
    above = f"{PCI_DEVICES}/{chain[-2]}"
    origins.update({field: f"{above}/{name}" for field, name in _UPSTREAM.items()})
    return {
        "upstream": chain[-2],
        "upstream_max_link_speed_gts": _speed(host, f"{above}/max_link_speed"),
        "upstream_max_link_width": _width(host, f"{above}/max_link_width"),
    }


def _unset(host: Host, path: str) -> bool | None:
    """Whether the file of the NUMA node says -1; ``None`` when it does not say anything."""
    text = host.text(path)
    return None if text is None else text.strip() == "-1"


def _link(host: Host, folder: str) -> dict[str, object]:
    return {
        "link_speed_gts": _speed(host, f"{folder}/current_link_speed"),
        "link_width": _width(host, f"{folder}/current_link_width"),
        "max_link_speed_gts": _speed(host, f"{folder}/max_link_speed"),
        "max_link_width": _width(host, f"{folder}/max_link_width"),
    }


def _root(real: str) -> str | None:
    roots = [part for part in real.split("/") if part.startswith("pci") and ":" in part]
    return roots[-1] if roots else None


def _speed(host: Host, path: str) -> float | None:
    return _kept(host, path, parse_link_speed(host.text(path)))


def _width(host: Host, path: str) -> int | None:
    value = parse_number(host.text(path))
    return _kept(host, path, None if value in _NO_WIDTH else value)


def _code(host: Host, path: str) -> str | None:
    return _kept(host, path, parse_hex(host.text(path), 4))


def _number(host: Host, path: str) -> int | None:
    return _kept(host, path, parse_number(host.text(path)))


def _kept(host: Host, path: str, value: T | None) -> T | None:
    """``value``; a file that was there and told nothing is a gap too."""
    if value is None:
        host.gaps.setdefault(path, "unsupported")
    return value


def parse_link_speed(text: str | None) -> float | None:
    """GT/s per lane. Samples: ``16.0 GT/s PCIe``, ``8 GT/s``, ``2.5 GT/s``, ``Unknown``"""
    found = re.match(r"(\d{1,4}(?:\.\d{1,3})?) GT/s", text.strip(), re.ASCII) if text else None
    return float(found[1]) if found else None


def parse_number(text: str | None) -> int | None:
    """A decimal number, ``None`` for anything else."""
    return int(text) if text and re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII) else None


def parse_errors(text: str | None) -> int | None:
    """All errors in an AER file, whose last line is their sum.

    Sample: ``RxErr 0``, ``BadTLP 2``, ``TOTAL_ERR_COR 2``, one a line
    """
    found = re.search(r"^TOTAL_ERR_\w+ (\d{1,18})$", text, re.ASCII | re.MULTILINE) if text else None
    return int(found[1]) if found else None


def _iommu_groups(host: Host) -> int | None:
    names = host.names(IOMMU_GROUPS)
    if names is None:
        return 0 if host.gaps.get(IOMMU_GROUPS) == "absent" else None
    return len(names)
