"""Block devices: queue settings, what they are stacked on, md arrays.

Loop devices, RAM disks, zram, optical and floppy drives are left out; the hidden paths of a multipath NVMe namespace
stand under their head.
Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block and
https://docs.kernel.org/admin-guide/md.html
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Root, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._lvm import LVS_ORIGIN, LogicalVolume, read_volumes
from advisor.probes._md import MDSTAT, Array, Member, arrays_of_mdstat, read_arrays
from advisor.probes._sysfs import link_name, near_numa_node, pci_chain, quiet_names, quiet_text

ORIGIN = "/sys/block"
CLASS = "/sys/class/block"
_LEFT_OUT = re.compile(r"(loop|ram|zram|sr|fd|mtdblock)\d")
_NVME_PATH = re.compile(r"nvme\d+c\d+n\d+")
_KINDS = (
    (r"nvme\d", "nvme"),
    (r"sd[a-z]|cciss!|ida!", "scsi"),
    (r"vd[a-z]", "virtio"),
    (r"md\d|md_", "md"),
    (r"dm-\d", "dm"),
    (r"xvd[a-z]", "xen"),
    (r"mmcblk\d", "mmc"),
    (r"nbd\d", "nbd"),
    (r"rbd\d", "rbd"),
    (r"pmem\d", "pmem"),
)
_SCSI_TRANSPORTS = (
    (r"/usb\d", "usb"),
    (r"/session\d", "iscsi"),
    (r"/rport-\d", "fc"),
    (r"/end_device-\d", "sas"),
    (r"/ata\d", "sata"),
)
"""What the path of a SCSI disk runs through."""


class Partition(Facts):
    """One partition of a device."""

    name: str
    number: Annotated[str | None, File("dev"), "major:minor"] = None
    size_bytes: Annotated[int | None, File("size", scale=512)] = None


class BlockDevice(Facts):
    """One whole block device, from its folder in sysfs."""

    name: Annotated[str, "as below /dev"]
    kind: Annotated[str, "nvme, scsi, virtio, md, dm, xen, mmc, nbd, rbd, pmem or other"]
    number: Annotated[str | None, File("dev"), "major:minor"] = None
    size_bytes: Annotated[int | None, File("size", scale=512)] = None
    driver: Annotated[str | None, File("device/driver"), "kernel driver: sd, nvme, virtio_blk ..."] = None
    transport: Annotated[str | None, "pcie, tcp, rdma, fc, loop (NVMe); sata, sas, fc, iscsi, usb (SCSI)"] = None
    model: Annotated[str | None, File("device/model", unknown=("",))] = None
    physical: Annotated[bool | None, "hardware of this machine; false for virtio, network and stacked devices"] = None
    rotational: Annotated[bool | None, File("queue/rotational"), "as the device claims; virtual disks guess"] = None
    scheduler: Annotated[str | None, File("queue/scheduler", bracketed=True), "the one in use"] = None
    schedulers: Annotated[tuple[str, ...] | None, File("queue/scheduler"), "those that can be chosen"] = None
    read_ahead_bytes: Annotated[int | None, File("queue/read_ahead_kb", scale=1024)] = None
    nr_requests: Annotated[int | None, File("queue/nr_requests"), "requests that may wait"] = None
    max_request_bytes: Annotated[int | None, File("queue/max_sectors_kb", scale=1024)] = None
    no_merges: Annotated[
        int | None, File("queue/nomerges"), "0 all merges of requests, 1 only the simplest, 2 none"
    ] = None
    rq_affinity: Annotated[
        int | None, File("queue/rq_affinity"), "completion: 0 anywhere, 1 near the CPU that asked, 2 on that CPU"
    ] = None
    io_poll: Annotated[int | None, File("queue/io_poll"), "1: has queues that are polled"] = None
    io_statistics: Annotated[bool | None, File("queue/iostats"), "counts requests, which costs a little each"] = None
    write_throttle_microseconds: Annotated[
        int | None,
        File("queue/wbt_lat_usec", unknown=("-1",)),
        "latency of reads that writeback is slowed down for; 0: never; unsupported without writeback throttling",
    ] = None
    logical_block_bytes: Annotated[int | None, File("queue/logical_block_size"), "smallest request"] = None
    physical_block_bytes: Annotated[
        int | None, File("queue/physical_block_size"), "smallest write without reading first"
    ] = None
    minimum_io_bytes: Annotated[int | None, File("queue/minimum_io_size"), "chunk of an array"] = None
    optimal_io_bytes: Annotated[int | None, File("queue/optimal_io_size"), "stripe of an array; 0: not told"] = None
    discard_granularity_bytes: Annotated[
        int | None, File("queue/discard_granularity"), "smallest piece that can be discarded; 0: none can"
    ] = None
    discard_max_bytes: Annotated[int | None, File("queue/discard_max_bytes"), "0: no discard (TRIM)"] = None
    force_unit_access: Annotated[bool | None, File("queue/fua"), "single writes can pass its cache"] = None
    write_cache: Annotated[
        str | None, File("queue/write_cache"), "write back or write through: whether the kernel flushes the cache"
    ] = None
    disk_cache: Annotated[str | None, "what a SCSI disk says of its cache: write back, write through ..."] = None
    state: Annotated[
        str | None, File("device/state", unknown=("",)), "SCSI: running, offline, blocked ...; NVMe: see nvme"
    ] = None
    firmware: Annotated[str | None, File("device/rev", unknown=("",)), "revision of a SCSI disk"] = None
    vendor: Annotated[str | None, File("device/vendor", unknown=("",)), "of a SCSI disk"] = None
    in_flight: Annotated[tuple[int, ...] | None, File("inflight"), Volatile(), "reads, writes being done"] = None
    statistics: Annotated[
        tuple[int, ...] | None,
        File("stat"),
        Volatile(),
        "reads done, merged, sectors of 512 bytes, ms; the same of writes; in flight, ms busy, ms weighted; the four "
        "of discards (since 4.18); flushes done, ms (since 5.5)",
    ] = None
    removable: Annotated[bool | None, File("removable")] = None
    read_only: Annotated[bool | None, File("ro")] = None
    pci_address: Annotated[str | None, File("device"), "of the drive or its controller"] = None
    numa_node: Annotated[int | None, File("device"), "of that PCI device, else of its nearest parent"] = None
    multipath: Annotated[tuple[str, ...], "hidden NVMe paths behind this head"] = ()
    partitions: Annotated[tuple[Partition, ...] | None, "by number"] = None
    slaves: Annotated[tuple[str, ...] | None, File("slaves"), "devices or partitions it is made of"] = None
    holders: Annotated[tuple[str, ...] | None, File("holders"), "devices made of it as a whole"] = None
    dm_name: Annotated[str | None, File("dm/name", unknown=("",)), "device mapper name"] = None
    dm_kind: Annotated[str | None, File("dm/uuid"), "LVM, CRYPT, mpath, part ..."] = None


class Block(Facts):
    """The block devices."""

    seen: ClassVar[Seen | None] = "host"
    devices: Annotated[tuple[BlockDevice, ...] | None, "by name"] = None
    md: Annotated[tuple[Array, ...] | None, "md arrays by name"] = None
    lvm: Annotated[
        tuple[LogicalVolume, ...] | None, Root(), "segments of LVM's logical volumes; none where nothing is LVM's"
    ] = None


COLLECTED = Collected(
    models=(
        (f"{ORIGIN}/*", BlockDevice),
        (f"{ORIGIN}/*/md", Array),
        (f"{ORIGIN}/*/md/dev-*", Member),
        (f"{ORIGIN}/*/*[0-9]", Partition),
    ),
    folders=(
        (ORIGIN, "*"),
        (CLASS, "*"),
        (f"{ORIGIN}/*/slaves", "*"),
        (f"{ORIGIN}/*/holders", "*"),
        (f"{ORIGIN}/*/device", "device driver numa_node transport model state rev vendor"),
        (f"{ORIGIN}/*/device/device", "driver"),
        (f"{ORIGIN}/*/device/scsi_disk", ""),
        (f"{ORIGIN}/*/device/scsi_disk/*", "cache_type"),
        ("/sys/class/nvme/*", "transport"),
    ),
    files=(MDSTAT,),
)


def read(host: Host) -> Block:
    """The block devices of ``host``."""
    names = host.names(ORIGIN)
    reals = _reals(host, names) if names is not None else _reals_of_class(host)
    if reals is None:
        nothing = () if host.gaps.get(ORIGIN) == "absent" else None
        return Block(
            origin=ORIGIN, devices=nothing, lvm=nothing, md=arrays_of_mdstat(host) or nothing, origins={"md": MDSTAT}
        )
    folder = CLASS if names is None else ORIGIN
    kept = {name: real for name, real in reals.items() if not _LEFT_OUT.match(name) and not _NVME_PATH.match(name)}
    paths = [name for name in reals if _NVME_PATH.match(name)]
    devices = tuple(_device(host, f"{folder}/{name}", name, real, paths, reals) for name, real in kept.items())
    arrays = {device.name: device for device in devices if device.kind == "md"}
    return Block(
        origin=folder,
        devices=devices,
        md=read_arrays(
            host,
            {name: f"{folder}/{name}/md" for name in arrays},
            {name: device.slaves for name, device in arrays.items()},
        ),
        lvm=read_volumes(host, {d.dm_name: d.name for d in devices if d.dm_kind == "LVM" and d.dm_name}),
        origins={"lvm": LVS_ORIGIN},
    )


def _reals(host: Host, names: tuple[str, ...]) -> dict[str, str]:
    return {name: host.real(f"{ORIGIN}/{name}") or f"{ORIGIN}/{name}" for name in names}


def _reals_of_class(host: Host) -> dict[str, str] | None:
    """The whole devices below /sys/class/block, which also has partitions; some dumps have nothing else."""
    names = host.names(CLASS)
    if names is None:
        return None
    reals = {name: host.real(f"{CLASS}/{name}") or f"{CLASS}/{name}" for name in names}
    return {name: real for name, real in reals.items() if real.split("/")[-2] not in reals}


_NO_MAKER: dict[str, object] = {"vendor": None}
"""``device/vendor`` of a virtio disk is the number of virtio's own vendor, not who made the disk."""


def _device(
    host: Host, folder: str, name: str, real: str, nvme_paths: list[str], reals: Mapping[str, str]
) -> BlockDevice:
    kind = kind_of(name)
    names = host.names(folder) or ()
    stacked = kind in ("dm", "md")
    multipath = tuple(path for path in nvme_paths if _head(path) == name)
    hardware = reals[multipath[0]] if multipath else real
    transport, disk_cache = _transport(host, folder, kind, hardware), _disk_cache(host, folder, kind)
    given = _stacked(host, folder, kind) if stacked else _hardware(host, folder, hardware, multipath)
    scheduler, schedulers = parse_scheduler(host.text(f"{folder}/queue/scheduler") or "")
    return read_fields(
        host,
        BlockDevice,
        folder,
        **given,
        name=name.replace("!", "/"),
        kind=kind,
        transport=transport,
        physical=is_physical(kind, transport, hardware),
        disk_cache=disk_cache,
        **_NO_MAKER if kind == "virtio" else {},
        scheduler=scheduler,
        schedulers=schedulers,
        multipath=multipath,
        partitions=tuple(_partition(host, folder, part) for part in names if _is_partition(part, name)),
        slaves=_device_names(host, f"{folder}/slaves"),
        holders=_device_names(host, f"{folder}/holders"),
    )


def kind_of(name: str) -> str:
    """The kind of a device by its name. Samples: ``nvme0n1``, ``sda``, ``vdb``, ``md127``, ``dm-3``"""
    return next((kind for start, kind in _KINDS if re.match(start, name)), "other")


def is_physical(kind: str, transport: str | None, real: str) -> bool | None:
    """Whether it is a drive or an array of this machine, not a network's, a hypervisor's or made of others."""
    if kind in ("virtio", "xen", "nbd", "rbd", "dm", "md"):
        return False
    if kind in ("nvme", "scsi") and transport is not None:
        return transport in ("pcie", "sata", "sas", "usb")
    if kind == "scsi" and re.search(r"/virtio\d|/VMBUS|/vbd-", real):
        return False
    # Any other SCSI disk may be a RAID controller's or a hypervisor's.
    return True if kind in ("mmc", "pmem") else None


def _head(path: str) -> str:
    """The multipath head of a hidden path: ``nvme0n1`` for ``nvme0c3n1``."""
    return re.sub(r"c\d+n", "n", path)


def _stacked(host: Host, folder: str, kind: str) -> dict[str, object]:
    given: dict[str, object] = dict.fromkeys(("driver", "model", "pci_address", "numa_node"))
    if kind == "dm":
        uuid = host.text(f"{folder}/dm/uuid")
        return {**given, "dm_kind": parse_dm_kind(uuid or "")}
    return {**given, "dm_name": None, "dm_kind": None}


def parse_dm_kind(uuid: str) -> str | None:
    """Who made a device mapper device. Samples: ``LVM-Rkq...``, ``CRYPT-LUKS2-0a...``, ``mpath-36...``"""
    word = re.match(r"[A-Za-z]+", uuid)
    return word[0] if word else None


def _hardware(host: Host, folder: str, real: str, multipath: tuple[str, ...]) -> dict[str, object]:
    chain = pci_chain(real)
    below = f"{folder.rpartition('/')[0]}/{multipath[0]}" if multipath else folder
    own = f"{below}/device/numa_node"
    node, near = near_numa_node(host, own, real) if chain else (None, own)
    driver = link_name(host, f"{folder}/device/driver") if not multipath else None
    if driver is None and "/nvme/" in real:
        # Between a namespace and the driver stands the controller.
        driver = link_name(host, f"{below}/device/device/driver")
    return {
        "driver": driver,
        "pci_address": chain[-1] if chain else None,
        "numa_node": node,
        "dm_name": None,
        "dm_kind": None,
        "origins": {"numa_node": near, "pci_address": real},
    }


def _transport(host: Host, folder: str, kind: str, real: str) -> str | None:
    if kind == "nvme":
        return quiet_text(host, f"{real.rpartition('/')[0]}/transport") or ("pcie" if pci_chain(real) else None)
    if kind == "scsi":
        return next((name for part, name in _SCSI_TRANSPORTS if re.search(part, real)), None)
    return None


def _disk_cache(host: Host, folder: str, kind: str) -> str | None:
    if kind != "scsi":
        return None
    disks = quiet_names(host, f"{folder}/device/scsi_disk") or ()
    return host.text(f"{folder}/device/scsi_disk/{disks[0]}/cache_type") if disks else None


def parse_scheduler(text: str) -> tuple[str | None, tuple[str, ...] | None]:
    """The scheduler in use and those that can be chosen. Samples: ``[none] mq-deadline kyber``, ``none``"""
    words = text.split()
    chosen = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    if not words:
        return None, None
    return (chosen[0] if chosen else words[0] if len(words) == 1 else None), tuple(word.strip("[]") for word in words)


def _is_partition(part: str, device: str) -> bool:
    """Whether a folder below a device is a partition of it: ``sda1``, ``nvme0n1p1``, ``md0p2``."""
    return part.startswith(device) and re.fullmatch(r"p?\d+", part[len(device) :], re.ASCII) is not None


def _partition(host: Host, folder: str, name: str) -> Partition:
    return read_fields(host, Partition, f"{folder}/{name}", name=name.replace("!", "/"))


def _device_names(host: Host, path: str) -> tuple[str, ...] | None:
    names = host.names(path)
    return None if names is None else tuple(name.replace("!", "/") for name in names)
