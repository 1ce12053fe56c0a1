"""Interrupts of NICs, NVMe drives and GPUs: where they go, and how received packets are steered to CPUs.

Formats: https://docs.kernel.org/core-api/irq/irq-affinity.html and https://docs.kernel.org/networking/scaling.html
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, File, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._cpulist import numbered, parse_cpulist, parse_cpumask
from advisor.probes._interfaces import NET, physical_interfaces
from advisor.probes._interrupts import INTERRUPTS, Interrupt, read_interrupts
from advisor.probes._irqbalance import FILES, SLICES, UNIT, WANTS, Irqbalance, read_irqbalance
from advisor.probes._pci_codes import class_and_vendor, kind_of
from advisor.probes._sysfs import PCI_DEVICES, link_name, pci_addresses

ORIGIN = "/proc/irq"
KINDS = ("nic", "nvme", "gpu")
MANAGED_DRIVERS = ("nvme",)
"""Their queues' interrupts are spread by the kernel, which takes no other place for them. Since 6.12 such files are
read-only (kernel/irq/proc.c); before, only the driver's name tells."""
ANY = f"{ORIGIN}/N"
"""Stands for every interrupt where a file is missing for many: one gap instead of thousands."""
T = TypeVar("T")


class Vector(Facts):
    """One interrupt of a device, from its folder in /proc/irq. The daemon irqbalance may move it at any time."""

    read_from: ClassVar[str] = "/proc/irq/*"
    number: Annotated[int, "the kernel's number"]
    name: Annotated[str | None, "what the driver calls it: nvme0q1, mlx5_comp0@pci:0000:3b:00.0 ..."] = None
    affinity_list: Annotated[str | None, File("smp_affinity_list"), "CPUs it may go to, as a list"] = None
    effective_cpus: Annotated[tuple[int, ...] | None, File("effective_affinity_list"), "CPUs it goes to"] = None
    hint_cpus: Annotated[
        tuple[int, ...] | None, File("affinity_hint"), "CPUs the driver would like; empty: it has no wish"
    ] = None
    numa_node: Annotated[int | None, File("node"), "of its data in the kernel, unknown for -1"] = None
    managed: Annotated[
        bool | None, File("smp_affinity"), "placed by the kernel: its file is read-only, even root cannot move it"
    ] = None
    count: Annotated[
        int | None, Counter(bits=32), "interrupts since start, over all CPUs; each CPU's wraps at 2^32"
    ] = None
    counted_cpus: Annotated[tuple[int, ...] | None, Volatile(), "CPUs that have handled any"] = None
    counts: Annotated[tuple[int, ...] | None, Volatile(), "how many, in the order of those CPUs"] = None


class IrqDevice(Facts):
    """The interrupts of one device."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/sys/bus/pci/devices/*"
    pci_address: str
    kind: Annotated[str | None, File("class"), "nic, nvme or gpu"] = None
    driver: Annotated[str | None, File("driver"), "kernel driver"] = None
    vector_count: Annotated[int | None, File("msi_irqs"), "how many interrupts it has, as messages (MSI)"] = None
    managed_count: Annotated[int | None, "how many of them the kernel places"] = None
    vectors: Annotated[tuple[Vector, ...] | None, File("msi_irqs"), Volatile(), "its interrupts, by number"] = None


class Steering(Facts):
    """How software spreads the packets of one interface over CPUs, from its queues in sysfs."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "/sys/class/net/*/queues"
    name: Annotated[str, "interface"]
    rx_queues: Annotated[int | None, "receive queues"] = None
    rps_queues: Annotated[int | None, "receive queues whose packets are handed on to other CPUs (RPS)"] = None
    rps_cpus: Annotated[tuple[int, ...] | None, "CPUs they are handed to, over all queues"] = None
    rps_flow_entries: Annotated[int | None, "flows remembered for RFS, over all queues; 0: it is off"] = None
    tx_queues: Annotated[int | None, "transmit queues"] = None
    xps_queues: Annotated[int | None, "transmit queues that are chosen by the sender's CPU (XPS)"] = None
    xps_cpus: Annotated[tuple[int, ...] | None, "CPUs that choose so, over all queues"] = None


class Irq(Facts):
    """Interrupt placement and packet steering."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/proc/irq"
    devices: Annotated[tuple[IrqDevice, ...] | None, "NICs, NVMe drives and GPUs by PCI address"] = None
    irqbalance: Annotated[Irqbalance | None, "the daemon that moves interrupts"] = None
    steering: Annotated[tuple[Steering, ...] | None, "interfaces with hardware, by name"] = None


COLLECTED = Collected(
    models=((f"{ORIGIN}/[0-9]*", Vector),),
    folders=(
        (ORIGIN, ""),
        (f"{NET}/*/queues", ""),
        (f"{NET}/*/queues/rx-*", "rps_cpus rps_flow_cnt"),
        (f"{NET}/*/queues/tx-*", "xps_cpus"),
        *((folder, "") for folder in SLICES),
        *((f"{folder}/{UNIT}", "cgroup.procs") for folder in SLICES),
    ),
    files=(*FILES, WANTS),
    large_files=("/proc/interrupts",),
    modes=(f"{ORIGIN}/[0-9]*/smp_affinity",),
)


def read(host: Host) -> Irq:
    """The interrupts of the devices of ``host`` that matter."""
    names = physical_interfaces(host)
    return Irq(
        origin=ORIGIN,
        devices=_devices(host),
        irqbalance=read_irqbalance(host),
        steering=None if names is None else tuple(_steering(host, name) for name in names),
        origins={"devices": PCI_DEVICES, "steering": NET},
    )


def _devices(host: Host) -> tuple[IrqDevice, ...] | None:
    names = host.names(PCI_DEVICES)
    if names is None:
        return () if host.gaps.get(PCI_DEVICES) == "absent" else None
    kinds = {name: kind_of(*class_and_vendor(host, f"{PCI_DEVICES}/{name}")) for name in pci_addresses(names)}
    chosen = {name: kind for name, kind in kinds.items() if kind in KINDS}
    if not chosen:
        return ()
    numbers = {name: _numbers(host, name) for name in chosen}
    # Where a device does not list its interrupts, newer kernels tell in the table whose they are.
    wanted = None if None in numbers.values() else {n for told in numbers.values() for n in told or ()}
    table = read_interrupts(host, wanted)
    shown = host.names(ORIGIN) is not None
    drivers = {name: link_name(host, f"{PCI_DEVICES}/{name}/driver") for name in chosen}
    found: dict[str, tuple[Vector, ...] | None] = {}
    where: dict[str, dict[str, str]] = {}
    for name, told in numbers.items():
        mine = told
        if told is None and (mine := _of_table(table, name)) is not None:
            where[name] = dict.fromkeys(("vectors", "vector_count"), INTERRUPTS)
            del host.gaps[f"{PCI_DEVICES}/{name}/msi_irqs"]
        found[name] = None if mine is None else tuple(_vector(host, n, (table or {}).get(n), shown) for n in mine)
    shows = any(vector.managed for vectors in found.values() for vector in vectors or ())
    return tuple(
        _device(name, kind, drivers[name], found[name], shows, where.get(name, {})) for name, kind in chosen.items()
    )


def _numbers(host: Host, address: str) -> tuple[int, ...] | None:
    """The interrupts that a device has as messages; ``None`` when its list is missing."""
    path = f"{PCI_DEVICES}/{address}/msi_irqs"
    names = host.names(path)
    if names is None:
        return () if host.gaps.get(path) == "absent" else None
    return numbered(names, "")


def _of_table(table: Mapping[int, Interrupt] | None, address: str) -> tuple[int, ...] | None:
    found = tuple(sorted(row.number for row in (table or {}).values() if row.pci_address == address))
    return found or None


def _device(
    address: str,
    kind: str | None,
    driver: str | None,
    vectors: tuple[Vector, ...] | None,
    kernel_shows: bool,
    where: dict[str, str],
) -> IrqDevice:
    """A device with its vectors. ``kernel_shows``: this kernel makes files of managed interrupts read-only."""
    if vectors and not kernel_shows and driver in MANAGED_DRIVERS:
        # The first one is that of the administration queue, which may be placed unless it shares with another.
        known = [None, *[True] * (len(vectors) - 1)]
        vectors = tuple(v.model_copy(update={"managed": m}) for v, m in zip(vectors, known, strict=True))
    managed = [vector.managed for vector in vectors or ()]
    return IrqDevice(
        origin=f"{PCI_DEVICES}/{address}",
        pci_address=address,
        kind=kind,
        driver=driver,
        vector_count=None if vectors is None else len(vectors),
        managed_count=None if vectors is None or None in managed else managed.count(True),
        vectors=vectors,
        origins={"managed_count": f"{ANY}/smp_affinity", **where},
    )


def _vector(host: Host, number: int, row: Interrupt | None, shown: bool) -> Vector:
    values: dict[str, Any] = {}
    folder = f"{ORIGIN}/{number}"
    origins = dict.fromkeys(("name", "count", "counted_cpus", "counts"), INTERRUPTS)
    if shown:
        values = {
            "affinity_list": _shared_gap(host, f"{folder}/smp_affinity_list", _checked_list),
            "effective_cpus": _shared_gap(host, f"{folder}/effective_affinity_list", _cached_list),
            "hint_cpus": _shared_gap(host, f"{folder}/affinity_hint", _cached_mask),
            "numa_node": _shared_gap(host, f"{folder}/node", _node),
            "managed": _is_read_only(host, f"{folder}/smp_affinity"),
        }
    for name in ("affinity_list", "effective_cpus", "hint_cpus", "numa_node", "managed"):
        if values.get(name) is None:
            origins[name] = f"{ANY}/{_FILES[name]}" if shown else ORIGIN
    if row is not None:
        values |= {
            "name": row.name,
            "count": sum(row.counts.values()),
            "counted_cpus": tuple(row.counts),
            "counts": tuple(row.counts.values()),
        }
    return Vector(origin=folder, number=number, **values, origins=origins)


_FILES = {
    "affinity_list": "smp_affinity_list",
    "effective_cpus": "effective_affinity_list",
    "hint_cpus": "affinity_hint",
    "numa_node": "node",
    "managed": "smp_affinity",
}


def _shared_gap(host: Host, path: str, parse: Callable[[str], T | None]) -> T | None:
    """The parsed content of one interrupt's file; its gap stands once for all interrupts."""
    text = host.text(path)
    try:
        value = None if text is None else parse(text.strip())
    except ValueError:
        value = None
    if value is None:
        state = host.gaps.pop(path, "unsupported")
        host.gaps.setdefault(f"{ANY}/{path.rpartition('/')[2]}", state)
    return value


@lru_cache(maxsize=4096)
def _cached_list(text: str) -> tuple[int, ...] | None:
    return parse_cpulist(text) or None


@lru_cache(maxsize=4096)
def _cached_mask(text: str) -> tuple[int, ...]:
    return parse_cpumask(text)


def _checked_list(text: str) -> str | None:
    return text if _cached_list(text) else None


def _node(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


def _is_read_only(host: Host, path: str) -> bool | None:
    """Whether nobody may write; in a plain tree the bits are those of whoever copied it."""
    mode = None if host.kind == "tree" else host.mode(path)
    if mode is None:
        host.gaps.setdefault(f"{ANY}/smp_affinity", host.gaps.pop(path, "not captured"))
        return None
    return not mode & 0o222


def _steering(host: Host, name: str) -> Steering:
    folder = f"{NET}/{name}/queues"
    queues = host.names(folder)
    if queues is None:
        return Steering(origin=folder, name=name)
    rx, tx = numbered(queues, "rx-"), numbered(queues, "tx-")
    origins: dict[str, str] = {}
    rps = _each(host, folder, [f"rx-{n}/rps_cpus" for n in rx], _cached_mask, origins, ("rps_queues", "rps_cpus"))
    flows = _each(host, folder, [f"rx-{n}/rps_flow_cnt" for n in rx], _count, origins, ("rps_flow_entries",))
    xps = _each(host, folder, [f"tx-{n}/xps_cpus" for n in tx], _cached_mask, origins, ("xps_queues", "xps_cpus"))
    return Steering(
        origin=folder,
        name=name,
        rx_queues=len(rx),
        rps_queues=None if rps is None else sum(map(bool, rps)),
        rps_cpus=None if rps is None else tuple(sorted({cpu for cpus in rps for cpu in cpus})),
        rps_flow_entries=None if flows is None else sum(flows),
        tx_queues=len(tx),
        xps_queues=None if xps is None else sum(map(bool, xps)),
        xps_cpus=None if xps is None else tuple(sorted({cpu for cpus in xps for cpu in cpus})),
        origins=origins,
    )


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _each(
    host: Host,
    folder: str,
    files: list[str],
    parse: Callable[[str], T | None],
    origins: dict[str, str],
    fields: tuple[str, ...],
) -> list[T] | None:
    """The values of every queue; at the first that cannot be read the rest is not tried, and its file is the gap."""
    values: list[T] = []
    for file in files:
        path = f"{folder}/{file}"
        text = host.text(path)
        try:
            value = None if text is None else parse(text.strip())
        except ValueError:
            value = None
        if value is None:
            host.gaps.setdefault(path, "unsupported")
            origins.update(dict.fromkeys(fields, path))
            return None
        values.append(value)
    return values
