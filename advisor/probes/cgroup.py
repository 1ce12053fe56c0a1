"""The control group of this process: how much CPU time, memory and how many tasks it may have.

A limit of any ancestor binds too, so each limit is the smallest on the way up to the mount point.
Formats: https://docs.kernel.org/admin-guide/cgroup-v2.html and https://docs.kernel.org/admin-guide/cgroup-v1/
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, Volatile


class Cgroup(Facts):
    """Limits of this process's control group and of all its ancestors."""

    version: Annotated[str | None, "v1, v2, or hybrid: some controllers in each"] = None
    cpu_limited: Annotated[bool | None, "whether a CPU quota binds"] = None
    cpu_quota_cpus: Annotated[float | None, "CPU time per time, in CPUs; only when limited"] = None
    cpu_periods: Annotated[int | None, Volatile(), "quota periods that had runnable tasks, since creation"] = None
    cpu_throttled_periods: Annotated[int | None, Volatile(), "periods in which the quota ran out"] = None
    cpuset_cpus: Annotated[tuple[int, ...] | None, "CPUs of the effective cpuset"] = None
    cpuset_mems: Annotated[tuple[int, ...] | None, "NUMA nodes of the effective cpuset"] = None
    memory_limited: Annotated[bool | None, "whether a memory limit binds"] = None
    memory_limit_bytes: Annotated[int | None, "the smallest limit; only when limited"] = None
    memory_used_bytes: Annotated[int | None, Volatile(), "memory charged to the group whose limit binds"] = None
    memory_headroom_bytes: Annotated[int | None, Volatile(), "least of limit minus use; only when limited"] = None
    oom_kills: Annotated[int | None, Volatile(), "tasks killed for want of memory, since creation"] = None
    pids_limited: Annotated[bool | None, "whether the number of tasks is limited"] = None
    pids_max: Annotated[int | None, "the smallest limit of tasks; only when limited"] = None
    pids_current: Annotated[int | None, Volatile(), "tasks in the group whose limit binds"] = None


def read(host: Host) -> Cgroup:
    """The control group of the reader's process on ``host``."""
    return Cgroup(origin="/proc/self/cgroup")
