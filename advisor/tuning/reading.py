"""What a trial read from files, and what of that came from a device instead of the page cache. Pure.

``rchar`` counts what reading system calls brought, from files, pipes and sockets alike; ``read_bytes`` what was fetched
from a device for it (https://docs.kernel.org/filesystems/proc.html, /proc/PID/io). File systems that fetch over a
network, or let threads of their own fetch, leave ``read_bytes`` at 0: there it tells nothing. What is read by mapping
a file is in neither ``rchar`` nor, therefore, here.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COUNTED = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "xfs"}
"""File systems that ask the device for blocks as the process that reads, so that the kernel counts them as its own."""
LEAST_BYTES_PER_SAMPLE = 1024
"""Below that it is messages of the loader: indices, and some 150 bytes for each descriptor that is handed over."""
LEAST_BYTES = 256 * 1024
"""Of all samples: below that a few pages decide."""


@dataclass(frozen=True)
class Read:
    """What a process has read."""

    asked_bytes: int
    """By its system calls."""
    fetched_bytes: int
    """From a device."""


def parse_io(text: str) -> Read | None:
    """The figures of a /proc/PID/io; ``None`` when they are not there.

    Sample:

        rchar: 4292
        wchar: 0
        syscr: 13
        syscw: 0
        read_bytes: 4096
        write_bytes: 0
        cancelled_write_bytes: 0
    """
    found = dict(re.findall(r"^(rchar|read_bytes): (\d+)$", text, re.MULTILINE))
    return Read(int(found["rchar"]), int(found["read_bytes"])) if len(found) == 2 else None


def between(before: Mapping[int, Read] | None, after: Mapping[int, Read] | None) -> Read | None:
    """What processes read together between two readings; ``None`` when they are not the same processes."""
    if not before or not after or before.keys() != after.keys():
        return None
    return Read(
        sum(after[pid].asked_bytes - before[pid].asked_bytes for pid in before),
        sum(after[pid].fetched_bytes - before[pid].fetched_bytes for pid in before),
    )


def reading_notes(reads: Sequence[tuple[Read | None, int]], counted: bool) -> dict[str, float]:
    """Bytes read for a sample, and the share that a device gave; ``reads``: of each window, with its samples.

    Nothing where hardly anything was read: the data are in memory, or mapped. No share unless ``counted``, which says
    that the file system of the data lets the kernel count what it fetches.
    """
    known = [(read, samples) for read, samples in reads if read is not None]
    asked, samples = sum(read.asked_bytes for read, _ in known), sum(count for _, count in known)
    if samples <= 0 or asked < max(LEAST_BYTES, LEAST_BYTES_PER_SAMPLE * samples):
        return {}
    notes = {"read_bytes_per_sample": round(asked / samples, 1)}
    if counted:
        # Readahead may fetch more than was asked for, so it can be above 1.
        notes["read_bytes_share"] = round(sum(read.fetched_bytes for read, _ in known) / asked, 4)
    return notes


def filesystem_at(path: str, mountinfo: str) -> str | None:
    """The kind of the file system that the absolute ``path``, free of links, lies on; ``None``: not told.

    Sample of a line of /proc/self/mountinfo (https://docs.kernel.org/filesystems/proc.html):

        36 35 98:0 /mnt1 /mnt/two\\040words rw,noatime master:1 - ext3 /dev/root rw,errors=continue
    """
    found, longest = None, -1
    for line in mountinfo.splitlines():
        mount, _, source = line.partition(" - ")
        place, kind = mount.split(" "), source.split(" ")
        if len(place) < 5 or not kind[0]:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), place[4]).rstrip("/")
        # Of mounts on the same place the last one is seen.
        if (path == point or path.startswith(point + "/")) and len(point) >= longest:
            found, longest = kind[0], len(point)
    return found
