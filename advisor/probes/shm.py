"""/dev/shm, where DataLoader workers and NCCL put shared memory.

Format: statvfs(3), https://docs.kernel.org/filesystems/tmpfs.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, Volatile

ORIGIN = "/dev/shm"


class Shm(Facts):
    """Size and use of ``/dev/shm``."""

    is_tmpfs: Annotated[bool | None, "whether a tmpfs is mounted there"] = None
    size_bytes: Annotated[int | None, "all that fits; its pages count as memory"] = None
    available_bytes: Annotated[int | None, Volatile(), "what still fits"] = None
    size_option: Annotated[str | None, "mount option size=, as mountinfo prints it; none: half of memory"] = None


def read(host: Host) -> Shm:
    """``/dev/shm`` of ``host``."""
    return Shm(origin=ORIGIN)
