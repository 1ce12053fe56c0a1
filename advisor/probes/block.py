"""Block devices: queue settings, what they are stacked on, md arrays.

Loop devices, RAM disks, zram, optical and floppy drives are left out; the hidden paths of a multipath NVMe namespace
stand under their head.
Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block and
https://docs.kernel.org/admin-guide/md.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File

ORIGIN = "/sys/block"


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
    model: Annotated[str | None, File("device/model")] = None
    physical: Annotated[bool | None, "hardware of this machine; false for virtio, network and stacked devices"] = None
    rotational: Annotated[bool | None, File("queue/rotational"), "as the device claims; virtual disks guess"] = None
    scheduler: Annotated[str | None, File("queue/scheduler", bracketed=True), "the one in use"] = None
    schedulers: Annotated[tuple[str, ...] | None, File("queue/scheduler"), "those that can be chosen"] = None
    read_ahead_bytes: Annotated[int | None, File("queue/read_ahead_kb", scale=1024)] = None
    nr_requests: Annotated[int | None, File("queue/nr_requests"), "requests that may wait"] = None
    max_request_bytes: Annotated[int | None, File("queue/max_sectors_kb", scale=1024)] = None
    write_cache: Annotated[
        str | None, File("queue/write_cache"), "write back or write through: whether the kernel flushes the cache"
    ] = None
    disk_cache: Annotated[str | None, "what a SCSI disk says of its cache: write back, write through ..."] = None
    removable: Annotated[bool | None, File("removable")] = None
    read_only: Annotated[bool | None, File("ro")] = None
    pci_address: Annotated[str | None, File("device"), "of the drive or its controller"] = None
    numa_node: Annotated[int | None, File("device"), "of that PCI device, else of its nearest parent"] = None
    multipath: Annotated[tuple[str, ...], "hidden NVMe paths behind this head"] = ()
    partitions: Annotated[tuple[Partition, ...] | None, "by number"] = None
    slaves: Annotated[tuple[str, ...] | None, File("slaves"), "devices or partitions it is made of"] = None
    holders: Annotated[tuple[str, ...] | None, File("holders"), "devices made of it as a whole"] = None
    dm_name: Annotated[str | None, File("dm/name"), "device mapper name"] = None
    dm_kind: Annotated[str | None, File("dm/uuid"), "LVM, CRYPT, mpath, part ..."] = None


class Array(Facts):
    """One md (software RAID) array, from its folder ``md`` in sysfs."""

    name: str
    level: Annotated[str | None, File("level"), "raid0, raid1, raid5, linear ..."] = None
    raid_disks: Annotated[int | None, File("raid_disks"), "members it should have"] = None
    degraded: Annotated[int | None, File("degraded"), "members that are missing; raid0 has no such file"] = None
    array_state: Annotated[str | None, File("array_state"), "clean, active, readonly, inactive ..."] = None
    sync_action: Annotated[str | None, File("sync_action"), "idle, resync, recover, check, repair, frozen"] = None
    chunk_bytes: Annotated[int | None, File("chunk_size")] = None
    members: Annotated[tuple[str, ...] | None, "devices or partitions it is made of"] = None


class Block(Facts):
    """The block devices."""

    devices: Annotated[tuple[BlockDevice, ...] | None, "by name"] = None
    md: Annotated[tuple[Array, ...] | None, "md arrays by name"] = None


def read(host: Host) -> Block:
    """The block devices of ``host``."""
    return Block(origin=ORIGIN)
