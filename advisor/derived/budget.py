"""What one rank may use: CPUs, memory, shared memory and open files.

Usable CPUs are online, in the affinity of the process, in its cpuset and within its quota; each rank gets an equal
share.
"""

from typing import Annotated

from advisor.model.facts import Facts, Volatile
from advisor.model.job import Job
from advisor.probes.cgroup import Cgroup
from advisor.probes.cpu import Cpu
from advisor.probes.limits import Limits
from advisor.probes.memory import Memory
from advisor.probes.shm import Shm


class Budget(Facts):
    """The share of the host that a job started from here gets, as a whole and per rank."""

    usable: Annotated[tuple[int, ...] | None, "CPUs that are online, in the affinity and in the cpuset"] = None
    cpus: Annotated[int | None, "usable logical CPUs after the quota, rounded down, at least 1"] = None
    cpus_at_most: Annotated[int | None, "the same from what is known: an upper bound where cpus is unknown"] = None
    cores: Annotated[int | None, "physical cores among the usable CPUs, not more than cpus"] = None
    bound_by: Annotated[tuple[str, ...] | None, "what takes CPUs away: online, affinity, cpuset, quota"] = None
    ranks: Annotated[int | None, "training processes on this node"] = None
    cpus_per_rank: Annotated[float | None, "cpus divided by ranks"] = None
    whole_cpus_per_rank: Annotated[int | None, "the same rounded down, at least 1"] = None
    cpus_per_rank_at_most: Annotated[int | None, "from cpus_at_most, at least 1"] = None
    cores_per_rank: Annotated[float | None, "cores divided by ranks"] = None
    memory_bytes: Annotated[int | None, "memory that the job could ever have: the host's or the group's limit"] = None
    memory_available_bytes: Annotated[int | None, Volatile(), "memory that the job can have now"] = None
    memory_per_rank_bytes: Annotated[int | None, "memory_bytes divided by ranks"] = None
    memory_available_per_rank_bytes: Annotated[int | None, Volatile()] = None
    shm_bytes: Annotated[int | None, "shared memory that the job could ever have"] = None
    shm_per_rank_bytes: Annotated[int | None, "shm_bytes divided by ranks"] = None
    shm_available_per_rank_bytes: Annotated[int | None, Volatile()] = None
    open_files: Annotated[int | None, "soft limit of open files of each process"] = None
    open_files_unlimited: bool | None = None
    pids_left: Annotated[int | None, Volatile(), "tasks that may still be started; only when limited"] = None


def derive(cpu: Cpu, cgroup: Cgroup, memory: Memory, shm: Shm, limits: Limits, job: Job) -> Budget:
    """The budget of ``job`` on this host."""
    return Budget(origin="derived", ranks=job.ranks)
