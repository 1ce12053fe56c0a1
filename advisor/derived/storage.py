"""What the data set and the checkpoints lie on: mount, file system, and the devices below it down to hardware."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from advisor.derived._redundancy import survives
from advisor.model.facts import Facts, Volatile, evidence_path
from advisor.model.job import Job
from advisor.model.scrubbing import may_be
from advisor.probes.block import Block, BlockDevice
from advisor.probes.mounts import Mount, Mounts, OtherMount
from advisor.probes.raid import Raid

_RAM_DISKS = ("/dev/zram", "/dev/ram")
_OWN_REDUNDANCY = ("btrfs", "bcachefs", "zfs")
"""File systems that may keep copies on several devices, which no mount says."""
_LVM_PART = re.compile(r"(?:--|[^-])+-(?:--|[^-])+-(tpool|cow|real)")
"""Third parts of names are LVM's own; it doubles the dashes in names of groups and volumes."""
_LVM_PARTS = {"tpool": " thin pool", "cow": " snapshot", "real": " snapshot origin"}


class Place(Facts):
    """What one path lies on."""

    path: Annotated[str, "the path asked for"]
    point: Annotated[str | None, "mount point"] = None
    fstype: Annotated[str | None, "file system"] = None
    kind: Annotated[str | None, "local, network, memory (RAM disks too), overlay, fuse, automount or other"] = None
    family: Annotated[str | None, "what serves it: nfs, ceph, lustre, object store ...; as of the mount"] = None
    source: Annotated[str | None, "device, data set or label"] = None
    options: Annotated[dict[str, str] | None, "of the mount"] = None
    read_only: bool | None = None
    available_bytes: Annotated[int | None, Volatile(), "free for this user"] = None
    size_bytes: int | None = None
    devices: Annotated[
        tuple[str, ...] | None, "block devices from the mounted one down to the drives; none: no block device"
    ] = None
    layers: Annotated[
        tuple[str, ...] | None,
        "what each of devices is: partition, md raid0, dm LVM, dm LVM thin pool, dm CRYPT, nvme, scsi, virtio ...",
    ] = None
    top: Annotated[
        str | None, "the whole device that is mounted, or has the mounted partition: read-ahead counts here"
    ] = None
    read_ahead_bytes: Annotated[int | None, "of that device; of the network file system"] = None
    drives: Annotated[tuple[str, ...] | None, "the devices at the bottom"] = None
    rotational: Annotated[bool | None, "some physical drive has rotating disks"] = None
    pci_addresses: Annotated[tuple[str, ...] | None, "of the drives or their controllers"] = None
    numa_nodes: Annotated[tuple[int, ...] | None, "of the drives"] = None
    redundant: Annotated[
        bool | None, "any one drive may fail and nothing is lost; none: not told, as of networks and virtual disks"
    ] = None


class Storage(Facts):
    """What the paths of the job lie on; nothing for a path that was not told."""

    data: Annotated[Place | None, "of the data set"] = None
    output: Annotated[Place | None, "of the checkpoints"] = None


def derive(job: Job, mounts: Mounts, block: Block | None, raid: Raid | None = None) -> Storage:
    """What the paths of ``job`` lie on."""
    return Storage(
        origin=mounts.origin,
        data=_place(job.data_path, mounts, block, raid),
        output=_place(job.output_path, mounts, block, raid),
        origins={
            "data": evidence_path(job, "data_path") if job.data_path is None else mounts.origin,
            "output": evidence_path(job, "output_path") if job.output_path is None else mounts.origin,
        },
    )


def _place(path: str | None, mounts: Mounts, block: Block | None, raid: Raid | None) -> Place | None:
    if path is None or mounts.mounts is None:
        return None
    mount = mount_of(path, (*mounts.mounts, *(mounts.others or ())))
    if isinstance(mount, OtherMount):
        return Place(origin=mounts.origin, path=path, point=mount.point, fstype=mount.fstype, kind="other")
    if mount is None:
        return Place(origin=mounts.origin, path=path)
    return Place(
        origin=mount.origin,
        path=path,
        point=mount.point,
        fstype=mount.fstype,
        kind="memory" if (mount.source or "").startswith(_RAM_DISKS) else mount.kind,
        family=mount.family,
        source=mount.source,
        options=mount.options,
        read_only=mount.read_only,
        available_bytes=mount.available_bytes,
        size_bytes=mount.size_bytes,
        **_devices(mount, block, raid),
    )


def mount_of(path: str, mounts: Sequence[Mount | OtherMount]) -> Mount | OtherMount | None:
    """The mount that ``path`` (absolute, links resolved) lies on: the deepest one above it.

    Mount points out of a file may have lost a name; where that leaves two for ``path``, it is not known.
    """
    above = [m for m in mounts if may_be(m.point.rstrip("/"), _top(path, _depth(m)))]
    deepest = [m for m in above if _depth(m) == max(map(_depth, above))]
    exact = [m for m in deepest if m.point.rstrip("/") == _top(path, _depth(m))] or deepest
    return exact[0] if len({m.point for m in exact}) == 1 else None


def _depth(mount: Mount | OtherMount) -> int:
    return mount.point.rstrip("/").count("/")


def _top(path: str, depth: int) -> str:
    return "/".join(path.split("/")[: depth + 1])


def _devices(mount: Mount, block: Block | None, raid: Raid | None) -> dict[str, Any]:
    """The block devices below a mount."""
    if mount.kind in ("network", "memory", "automount"):
        far = mount.kind == "network"
        return {
            "devices": (),
            "layers": (),
            "drives": (),
            "pci_addresses": (),
            "numa_nodes": (),
            "read_ahead_bytes": mount.read_ahead_bytes,
            "origins": {"read_ahead_bytes": evidence_path(mount, "read_ahead_bytes")} if far else {},
        }
    if mount.kind != "local" or block is None or block.devices is None:
        return {}  # what an overlay or a FUSE file system is made of, the mount does not say
    by_name, whole = _names(block.devices)
    start = _mounted(mount, block.devices)
    if start is None:
        return {}
    stack = below(start, by_name, whole)
    top = by_name[whole[start]]
    drives = [by_name[name] for name in stack if name in by_name and not by_name[name].slaves]
    spinning = [drive.rotational for drive in drives if drive.physical]
    return {
        "devices": stack,
        "layers": tuple(_layer(name, by_name, {array.name: array.level for array in block.md or ()}) for name in stack),
        "top": top.name,
        "read_ahead_bytes": top.read_ahead_bytes,
        "drives": tuple(drive.name for drive in drives),
        "rotational": None if not spinning or None in spinning else any(spinning),
        "pci_addresses": tuple(sorted({drive.pci_address for drive in drives if drive.pci_address})),
        "numa_nodes": _nodes(drives),
        "redundant": None if mount.fstype in _OWN_REDUNDANCY else survives(start, block, raid),
        "origins": {
            "top": top.origin,
            "read_ahead_bytes": f"{top.origin}/queue/read_ahead_kb",
            **({"rotational": f"{drives[0].origin}/queue/rotational"} if drives else {}),
        },
    }


def _nodes(drives: Sequence[BlockDevice]) -> tuple[int, ...] | None:
    """The nodes of all drives; nothing when that of one is not told: it may be another."""
    nodes = {drive.numa_node for drive in drives}
    return None if None in nodes else tuple(sorted(node for node in nodes if node is not None))


def _layer(name: str, by_name: Mapping[str, BlockDevice], levels: Mapping[str, str | None]) -> str:
    """What a device is; md with its level and device mapper with who made it, where that is known."""
    if name not in by_name:
        return "partition"
    device = by_name[name]
    more = levels.get(name) if device.kind == "md" else _maker(device) if device.kind == "dm" else None
    return f"{device.kind} {more}" if more else device.kind


def _maker(device: BlockDevice) -> str | None:
    """Who made a device mapper device; LVM's with what part of a volume it is."""
    found = _LVM_PART.fullmatch(device.dm_name or "") if device.dm_kind == "LVM" else None
    part = _LVM_PARTS[found[1]] if found else ""
    return f"{device.dm_kind}{part}" if device.dm_kind else None


def _names(devices: Sequence[BlockDevice]) -> tuple[dict[str, BlockDevice], dict[str, str]]:
    """Whole devices by name, and the whole device of every device and partition."""
    by_name = {device.name: device for device in devices}
    whole = {device.name: device.name for device in devices}
    whole |= {part.name: device.name for device in devices for part in device.partitions or ()}
    return by_name, whole


def _mounted(mount: Mount, devices: Sequence[BlockDevice]) -> str | None:
    """Name of the device or partition that is mounted: by its number, else (btrfs, dumps) by its name."""
    for device in devices:
        numbers = {device.number: device.name, **{part.number: part.name for part in device.partitions or ()}}
        if mount.device is not None and mount.device in numbers:
            return numbers[mount.device]
    source = (mount.source or "").removeprefix("/dev/")
    for device in devices:
        names = [device.name, *(part.name for part in device.partitions or ())]
        if source in names:
            return source
        if device.dm_name and source == f"mapper/{device.dm_name}":
            return device.name
    return None


def below(start: str, by_name: Mapping[str, BlockDevice], whole: Mapping[str, str]) -> tuple[str, ...]:
    """``start`` and all that it is made of, the nearest first; a partition is made of its device."""
    stack: list[str] = []
    todo = [start]
    while todo:
        name = todo.pop(0)
        if name in stack or name not in whole:
            continue
        stack.append(name)
        todo += [whole[name]] if whole[name] != name else list(by_name[name].slaves or ())
    return tuple(stack)
