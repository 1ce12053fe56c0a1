"""NCCL's topology file: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads.

The elements: NCCL, src/graph/xml.cc. A folder of ``pci`` is a switch; on virtual machines the switches are made up.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from advisor.probes._xml import Element, NotReadable, expect_root, parse_xml

_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_GPU_CLASSES = ("0x0302", "0x0380", "0x1200")
_NIC_CLASSES = ("0x0200", "0x0207")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s(?: PCIe)?", re.ASCII)
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(,[0-9a-fA-F]{1,8}){0,255}", re.ASCII)
_MOST_DEVICES = 512


@dataclass(frozen=True)
class NcclNet:
    """A network device of a card."""

    name: str
    port: int | None
    speed_mbps: int | None
    gdr: bool | None


@dataclass(frozen=True)
class NcclDevice:
    """A GPU or a network card, and what is above it."""

    address: str
    kind: str
    above: tuple[int, ...]
    """Numbers of the switches above it, the nearest first."""
    cpu: int
    """The number of its ``cpu`` element."""
    numa_node: int | None
    cpus: frozenset[int] | None
    link_gtps: float | None
    link_width: int | None
    index: int | None = None
    compute_capability: int | None = None
    gdr: bool | None = None
    links: Mapping[str, int] = field(default_factory=dict)
    """NVLinks or xGMI links by the address that they lead to."""
    nets: tuple[NcclNet, ...] = ()


def parse_nccl_topo(text: str) -> tuple[NcclDevice, ...]:
    """The GPUs and network cards of a topology file, in its order. Raises NotReadable.

    Sample: ``<system version="1"><cpu numaid="0" affinity="ffff"><pci busid="0000:01:00.0" class="0x060400">
    <pci busid="0000:0f:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"><gpu dev="0" sm="80" gdr="1"/>...``
    """
    root = parse_xml(text)
    expect_root(root, "system", "a topology file of NCCL")
    devices: list[NcclDevice] = []
    for number, cpu in enumerate(root.all("cpu")):
        devices += _devices_of(number, cpu)
    if len(devices) > _MOST_DEVICES:
        raise NotReadable(f"tells of {len(devices)} devices, more than any machine has")
    addresses = [device.address for device in devices]
    if len(set(addresses)) < len(addresses):
        raise NotReadable("holds one device twice: give the topology of one host")
    return tuple(devices)


def nccl_distance(a: NcclDevice, b: NcclDevice) -> str:
    """How NCCL reaches one device from the other, without NVLink: PIX, PXB, PHB or SYS."""
    common = [switch for switch in a.above if switch in b.above]
    if common:
        return "PIX" if a.above[0] == b.above[0] == common[0] else "PXB"
    return "PHB" if a.cpu == b.cpu else "SYS"


def _devices_of(number: int, cpu: Element) -> Iterator[NcclDevice]:
    node, cpus = _whole(cpu.attributes.get("numaid")), _cpus(cpu.attributes.get("affinity"))
    todo: list[tuple[Element, tuple[int, ...]]] = [(pci, ()) for pci in reversed(list(cpu.all("pci")))]
    while todo:
        pci, above = todo.pop()
        inside = list(pci.all("pci"))
        todo += [(child, (id(pci), *above)) for child in reversed(inside)]
        kind, address = _kind(pci), pci.attributes.get("busid", "")
        if kind is None or inside or not _ADDRESS.fullmatch(address):
            continue
        gpu = pci.child("gpu")
        told = gpu.attributes if gpu is not None else {}
        # AMD cards bring bridges of their own: the link of the card itself is one or two above.
        hides_link = kind == "gpu" and pci.attributes.get("class", "")[:6] != "0x0302"
        yield NcclDevice(
            address=_sysfs(address),
            kind=kind,
            above=above,
            cpu=number,
            numa_node=node,
            cpus=cpus,
            link_gtps=None if hides_link else _speed(pci.attributes.get("link_speed", "")),
            link_width=None if hides_link else _positive(pci.attributes.get("link_width")),
            index=_whole(told.get("dev")),
            compute_capability=_positive(told.get("sm")) if not hides_link else None,
            gdr=_flag(told.get("gdr")),
            links=_links(gpu),
            nets=tuple(_nets(pci)),
        )


def _kind(pci: Element) -> str | None:
    code = pci.attributes.get("class", "").lower()[:6]
    if pci.child("gpu") is not None or code in _GPU_CLASSES:
        return "gpu"
    return "nic" if pci.child("nic") is not None or code in _NIC_CLASSES else None


def _links(gpu: Element | None) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for link in gpu.children if gpu is not None else ():
        target, count = link.attributes.get("target", ""), _positive(link.attributes.get("count"))
        if link.tag in ("nvlink", "xgmi") and count is not None:
            name = _sysfs(target) if _ADDRESS.fullmatch(target) else ""
            found[name] = found.get(name, 0) + count
    return found


def _nets(pci: Element) -> Iterator[NcclNet]:
    for nic in pci.all("nic"):
        for net in nic.all("net"):
            told = net.attributes
            name = told.get("name", "")
            if re.fullmatch(r"[A-Za-z0-9_.:+-]{1,64}", name):
                speed = _positive(told.get("speed"))
                yield NcclNet(name, _whole(told.get("port")), speed, _flag(told.get("gdr")))


def _sysfs(address: str) -> str:
    domain, _, rest = address.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _speed(text: str) -> float | None:
    found = _SPEED.fullmatch(text.strip())
    return float(found[1]) if found else None


def _cpus(text: str | None) -> frozenset[int] | None:
    """CPUs of a mask. Sample: ``00000000,0000ffff``; groups may lack leading zeros; no CPU at all is not known."""
    if text is None or not _MASK.fullmatch(text):
        return None
    bits = int("".join(group.rjust(8, "0") for group in text.split(",")), 16)
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1) or None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,9}", text) else None


def _positive(text: str | None) -> int | None:
    return _whole(text) or None


def _flag(text: str | None) -> bool | None:
    return {"0": False, "1": True}.get(text or "")
