"""What the data set and the checkpoints lie on: mount, file system, and the devices below it down to hardware."""

from typing import Annotated

from advisor.model.facts import Facts, Volatile
from advisor.model.job import Job
from advisor.probes.block import Block
from advisor.probes.mounts import Mounts


class Place(Facts):
    """What one path lies on."""

    path: Annotated[str, "the path asked for"]
    point: Annotated[str | None, "mount point"] = None
    fstype: Annotated[str | None, "file system"] = None
    kind: Annotated[str | None, "local, network, memory, overlay, fuse, automount or other"] = None
    options: Annotated[dict[str, str] | None, "of the mount"] = None
    available_bytes: Annotated[int | None, Volatile(), "free for this user"] = None
    size_bytes: int | None = None
    devices: Annotated[
        tuple[str, ...] | None, "block devices from the mounted one down to the drives; none: no block device"
    ] = None
    top: Annotated[
        str | None, "the whole device that is mounted, or has the mounted partition: read-ahead counts here"
    ] = None
    read_ahead_bytes: Annotated[int | None, "of that device"] = None
    drives: Annotated[tuple[str, ...] | None, "the devices at the bottom"] = None
    rotational: Annotated[bool | None, "some physical drive has rotating disks"] = None
    pci_addresses: Annotated[tuple[str, ...] | None, "of the drives or their controllers"] = None
    numa_nodes: Annotated[tuple[int, ...] | None, "of the drives"] = None


class Storage(Facts):
    """What the paths of the job lie on; nothing for a path that was not told."""

    data: Annotated[Place | None, "of the data set"] = None
    output: Annotated[Place | None, "of the checkpoints"] = None


def derive(job: Job, mounts: Mounts, block: Block | None) -> Storage:
    """What the paths of ``job`` lie on."""
    return Storage(origin=mounts.origin)
