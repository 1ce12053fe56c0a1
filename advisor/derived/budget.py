"""What one rank may use: CPUs, memory, shared memory and open files.

Usable CPUs are online, in the affinity of the process, in its cpuset and within its quota; each rank gets an equal
share. A part that is not known makes the sum unknown; ``..._at_most`` says what it cannot exceed all the same.
"""

from dataclasses import dataclass
from typing import Annotated

from advisor.model.facts import Facts, Volatile, evidence_path
from advisor.model.job import Job
from advisor.probes.cgroup import Cgroup
from advisor.probes.cpu import Cpu, core_of
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
    memory_bytes: Annotated[int | None, "memory that the job could ever have: the host's or its group's limit"] = None
    memory_available_bytes: Annotated[int | None, Volatile(), "memory that the job can have now"] = None
    memory_per_rank_bytes: Annotated[int | None, "memory_bytes divided by ranks"] = None
    memory_available_per_rank_bytes: Annotated[int | None, Volatile()] = None
    shm_bytes: Annotated[int | None, "shared memory that the job could ever have: /dev/shm within its memory"] = None
    shm_per_rank_bytes: Annotated[int | None, "shm_bytes divided by ranks"] = None
    shm_available_per_rank_bytes: Annotated[int | None, Volatile()] = None
    open_files: Annotated[int | None, "files that each process may open; only when limited"] = None
    open_files_unlimited: bool | None = None
    pids_left: Annotated[int | None, Volatile(), "tasks that may still be started; only when limited"] = None


@dataclass(frozen=True)
class _Cpus:
    """The CPU part of the budget."""

    usable: tuple[int, ...] | None
    cpus: int | None
    at_most: int | None
    cores: int | None
    bound_by: tuple[str, ...] | None


@dataclass(frozen=True)
class _Amount:
    """A bound and the file it stands in, or the file that would have to be known."""

    value: int | None
    path: str


def derive(
    cpu: Cpu, cgroup: Cgroup | None, memory: Memory | None, shm: Shm | None, limits: Limits | None, job: Job
) -> Budget:
    """The budget of ``job`` on this host."""
    cgroup, memory, shm, limits = cgroup or Cgroup(), memory or Memory(), shm or Shm(), limits or Limits()
    share, ranks = _cpus(cpu, cgroup), job.ranks
    ever = _least(_amount(memory, "total_bytes"), *_group_bounds(cgroup, "memory_limit_bytes", "memory_high_bytes"))
    now = _least(_amount(memory, "available_bytes"), *_group_bounds(cgroup, "memory_headroom_bytes"))
    shm_ever = _least(_amount(shm, "size_bytes"), ever)
    shm_now = _least(_amount(shm, "available_bytes"), now)
    return Budget(
        origin=cpu.origin,
        usable=share.usable,
        cpus=share.cpus,
        cpus_at_most=share.at_most,
        cores=share.cores,
        bound_by=share.bound_by,
        ranks=ranks,
        cpus_per_rank=_ratio(share.cpus, ranks),
        whole_cpus_per_rank=_at_least_one(_whole(share.cpus, ranks)),
        cpus_per_rank_at_most=_at_least_one(_whole(share.at_most, ranks)),
        cores_per_rank=_ratio(share.cores, ranks),
        memory_bytes=ever.value,
        memory_available_bytes=now.value,
        memory_per_rank_bytes=_whole(ever.value, ranks),
        memory_available_per_rank_bytes=_whole(now.value, ranks),
        shm_bytes=shm_ever.value,
        shm_per_rank_bytes=_whole(shm_ever.value, ranks),
        shm_available_per_rank_bytes=_whole(shm_now.value, ranks),
        open_files=limits.nofile_soft,
        open_files_unlimited=limits.nofile_unlimited,
        pids_left=_pids_left(cgroup),
        origins=_paths(_settling(cpu, cgroup), ever, now, shm_ever, shm_now, job)
        | dict.fromkeys(("open_files", "open_files_unlimited"), evidence_path(limits, "nofile_soft"))
        | {"pids_left": evidence_path(cgroup, "pids_max")},
    )


def _cpus(cpu: Cpu, cgroup: Cgroup) -> _Cpus:
    """The CPUs that may be used. A process's affinity lies inside its cpuset, which may thus stay unknown."""
    if cpu.online is None:
        return _Cpus(None, None, None, None, None)
    online = set(cpu.online)
    in_cpuset = online if cgroup.cpuset_cpus is None else online & set(cgroup.cpuset_cpus)
    left = in_cpuset if cpu.affinity is None else in_cpuset & set(cpu.affinity)
    bound = ["online"] if cpu.offline else []
    bound += ["cpuset"] if in_cpuset < online else []
    bound += ["affinity"] if left < in_cpuset else []
    known = cpu.affinity is not None
    quota = cgroup.cpu_quota_cpus if cgroup.cpu_limited else None
    whole = len(left) if quota is None else min(len(left), max(1, int(quota)))
    bound += ["quota"] if whole < len(left) else []
    counted = known and cgroup.cpu_limited is not None and whole > 0
    cores = _cores(cpu, left) if counted else None
    return _Cpus(
        usable=tuple(sorted(left)) if known else None,
        cpus=whole if counted else None,
        at_most=whole or None,
        cores=None if cores is None else min(cores, whole),
        bound_by=tuple(bound) if counted else None,
    )


def _cores(cpu: Cpu, usable: set[int]) -> int | None:
    """Physical cores that ``usable`` CPUs lie on."""
    keys = [core_of(one) for one in cpu.cpus or () if one.number in usable]
    return None if len(keys) < len(usable) or None in keys else len(set(keys))


def _amount(facts: Facts, name: str) -> _Amount:
    return _Amount(getattr(facts, name), evidence_path(facts, name))


def _group_bounds(cgroup: Cgroup, *names: str) -> list[_Amount]:
    """The group's bounds that are set; one without value while it is not known whether the group is limited."""
    if cgroup.memory_limited is None:
        return [_Amount(None, evidence_path(cgroup, "memory_limited"))]
    bounds = [_amount(cgroup, name) for name in names]
    return [bound for bound in bounds if bound.value is not None or (cgroup.memory_limited and bound is bounds[0])]


def _least(*amounts: _Amount) -> _Amount:
    """The least of all; unknown while one of them is."""
    return min(amounts, key=lambda amount: -1 if amount.value is None else amount.value)


def _whole(amount: int | None, ranks: int | None) -> int | None:
    return None if amount is None or not ranks else amount // ranks


def _ratio(amount: int | None, ranks: int | None) -> float | None:
    return None if amount is None or not ranks else amount / ranks


def _at_least_one(count: int | None) -> int | None:
    return None if count is None else max(1, count)


def _pids_left(cgroup: Cgroup) -> int | None:
    if not cgroup.pids_limited or cgroup.pids_max is None or cgroup.pids_current is None:
        return None
    return max(0, cgroup.pids_max - cgroup.pids_current)


def _settling(cpu: Cpu, cgroup: Cgroup) -> str:
    """The file that settles how many CPUs there are: the one that binds, or the one that would have to be known."""
    if cpu.online is None:
        return evidence_path(cpu, "online")
    if cpu.affinity is not None and cgroup.cpu_limited is not False:
        return evidence_path(cgroup, "cpu_limited")
    return evidence_path(cpu, "affinity")


def _paths(cpus: str, ever: _Amount, now: _Amount, shm_ever: _Amount, shm_now: _Amount, job: Job) -> dict[str, str]:
    """The file of each field; shares of an unknown number of ranks rest on the job."""
    whole = {
        **dict.fromkeys(("usable", "cores", "cpus", "cpus_at_most", "bound_by"), cpus),
        "ranks": job.origin,
        "memory_bytes": ever.path,
        "memory_available_bytes": now.path,
        "shm_bytes": shm_ever.path,
    }
    shares = {
        **dict.fromkeys(("cpus_per_rank", "whole_cpus_per_rank", "cpus_per_rank_at_most", "cores_per_rank"), cpus),
        "memory_per_rank_bytes": ever.path,
        "memory_available_per_rank_bytes": now.path,
        "shm_per_rank_bytes": shm_ever.path,
        "shm_available_per_rank_bytes": shm_now.path,
    }
    return whole | (shares if job.ranks else dict.fromkeys(shares, job.origin))
