"""Resource limits and the capability that lifts one of them, of this process.

Format: getrlimit(2), capabilities(7).
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts

ORIGIN = "/proc/self/limits"


class Limits(Facts):
    """Limits that a job started from here inherits. A number is known only where it is not unlimited."""

    memlock_unlimited: Annotated[bool | None, "soft limit of locked memory is unlimited"] = None
    memlock_soft_bytes: int | None = None
    memlock_hard_unlimited: bool | None = None
    memlock_hard_bytes: int | None = None
    nofile_unlimited: Annotated[bool | None, "soft limit of open files is unlimited"] = None
    nofile_soft: Annotated[int | None, "open files per process"] = None
    nofile_hard_unlimited: bool | None = None
    nofile_hard: Annotated[int | None, "what the process may raise the soft limit to"] = None
    stack_unlimited: bool | None = None
    stack_soft_bytes: int | None = None
    stack_hard_unlimited: bool | None = None
    stack_hard_bytes: int | None = None
    nproc_unlimited: bool | None = None
    nproc_soft: Annotated[int | None, "threads of this user"] = None
    nproc_hard_unlimited: bool | None = None
    nproc_hard: int | None = None
    may_lock_memory: Annotated[bool | None, "has CAP_IPC_LOCK: the memlock limit does not bind"] = None


def read(host: Host) -> Limits:
    """The limits of the reader's process on ``host``."""
    return Limits(origin=ORIGIN)
