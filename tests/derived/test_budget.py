"""What a rank may use is the least of what binds, and unknown where what could bind is not known."""

import pytest

from advisor.derived.budget import Budget, derive
from advisor.model.facts import evidence_path
from advisor.model.job import Job
from advisor.probes.cgroup import Cgroup
from advisor.probes.cpu import Cpu, LogicalCpu
from advisor.probes.limits import Limits
from advisor.probes.memory import Memory
from advisor.probes.shm import Shm

GIB = 1 << 30
FREE = Cgroup(origin="/proc/self/cgroup", cpu_limited=False, memory_limited=False)


def cpus(count: int, threads: int = 2, affinity: tuple[int, ...] | None = None, off: tuple[int, ...] = ()) -> Cpu:
    """A machine whose threads of one core follow each other."""
    online = tuple(number for number in range(count) if number not in off)
    found = tuple(
        LogicalCpu(
            number=number,
            siblings=tuple(range(number // threads * threads, (number // threads + 1) * threads)),
            core=number // threads,
        )
        for number in online
    )
    return Cpu(
        origin="/sys/devices/system/cpu",
        online=online,
        offline=off,
        cpus=found,
        affinity=online if affinity is None else affinity,
        origins={"affinity": "call: sched_getaffinity"},
    )


def budget(cpu: Cpu, cgroup: Cgroup | None = FREE, ranks: int | None = 1, **more: object) -> Budget:
    """The budget with only CPUs known, unless more is given."""
    given = {"memory": None, "shm": None, "limits": None, **more}
    return derive(cpu, cgroup, job=Job(origin="--ranks", ranks=ranks), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpu", "cgroup", "usable", "count", "cores", "bound_by"),
    [
        pytest.param(cpus(8), FREE, 8, 8, 4, (), id="all of it"),
        pytest.param(cpus(8, off=(6, 7)), FREE, 6, 6, 3, ("online",), id="some are off"),
        pytest.param(cpus(8, affinity=(0, 1, 2)), FREE, 3, 3, 2, ("affinity",), id="affinity"),
        pytest.param(
            cpus(8, affinity=(4, 5)),
            FREE.model_copy(update={"cpuset_cpus": (4, 5, 6, 7)}),
            2,
            2,
            1,
            ("cpuset", "affinity"),
            id="affinity within a cpuset",
        ),
        pytest.param(
            cpus(8, affinity=(4, 5, 6, 7)),
            FREE.model_copy(update={"cpuset_cpus": (4, 5, 6, 7)}),
            4,
            4,
            2,
            ("cpuset",),
            id="cpuset",
        ),
        pytest.param(
            cpus(8),
            FREE.model_copy(update={"cpu_limited": True, "cpu_quota_cpus": 2.9}),
            8,
            2,
            2,
            ("quota",),
            id="quota",
        ),
        pytest.param(
            cpus(8),
            FREE.model_copy(update={"cpu_limited": True, "cpu_quota_cpus": 0.3}),
            8,
            1,
            1,
            ("quota",),
            id="quota below one",
        ),
        pytest.param(
            cpus(4), FREE.model_copy(update={"cpu_limited": True, "cpu_quota_cpus": 64.0}), 4, 4, 2, (), id="wide quota"
        ),
        pytest.param(
            cpus(8, threads=1, affinity=(0, 9)), FREE, 1, 1, 1, ("affinity",), id="affinity to a CPU not there"
        ),
    ],
)
def test_usable_cpus(cpu: Cpu, cgroup: Cgroup, usable: int, count: int, cores: int, bound_by: tuple[str, ...]) -> None:
    found = budget(cpu, cgroup)
    assert len(found.usable or ()) == usable
    assert (found.cpus, found.cpus_at_most, found.cores, found.bound_by) == (count, count, cores, bound_by)


def test_cpus_are_divided_by_ranks() -> None:
    found = budget(cpus(22), ranks=4)
    assert (found.cpus_per_rank, found.whole_cpus_per_rank, found.cores_per_rank) == (5.5, 5, 2.75)


def test_a_rank_has_at_least_one_cpu() -> None:
    found = budget(cpus(2), ranks=8)
    assert (found.cpus_per_rank, found.whole_cpus_per_rank, found.cpus_per_rank_at_most) == (0.25, 1, 1)


def test_without_ranks_nothing_is_divided() -> None:
    found = budget(cpus(8), ranks=None)
    assert (found.cpus, found.cpus_per_rank, found.whole_cpus_per_rank) == (8, None, None)
    assert evidence_path(found, "cpus_per_rank") == "--ranks"


def test_an_unknown_quota_leaves_an_upper_bound() -> None:
    groups = Cgroup(origin="/proc/self/cgroup", origins={"cpu_limited": "/sys/fs/cgroup/cpu.max"})
    found = budget(cpus(8), groups, ranks=2)
    assert (found.cpus, found.cores, found.bound_by, found.cpus_per_rank) == (None, None, None, None)
    assert (found.cpus_at_most, found.cpus_per_rank_at_most) == (8, 4)
    assert evidence_path(found, "cpus") == "/sys/fs/cgroup/cpu.max"


def test_an_unknown_affinity_leaves_an_upper_bound_within_the_cpuset() -> None:
    cpu = cpus(8).model_copy(update={"affinity": None, "origins": {"affinity": "/proc/self/status"}})
    found = budget(cpu, FREE.model_copy(update={"cpuset_cpus": (0, 1)}))
    assert (found.usable, found.cpus, found.cpus_at_most) == (None, None, 2)
    assert evidence_path(found, "cpus") == "/proc/self/status"


def test_without_any_cpu_known_there_is_no_bound() -> None:
    found = budget(Cpu(origin="/sys/devices/system/cpu"), None)
    assert (found.cpus, found.cpus_at_most, found.usable) == (None, None, None)
    assert evidence_path(found, "cpus") == "/sys/devices/system/cpu/online"


def test_cores_are_unknown_where_the_kernel_does_not_tell() -> None:
    cpu = cpus(2).model_copy(update={"cpus": (LogicalCpu(number=0), LogicalCpu(number=1))})
    assert (budget(cpu).cpus, budget(cpu).cores) == (2, None)


HOST = Memory(origin="/", total_bytes=64 * GIB, available_bytes=48 * GIB)
LIMITED = Cgroup(
    origin="/proc/self/cgroup",
    cpu_limited=False,
    memory_limited=True,
    memory_limit_bytes=16 * GIB,
    memory_headroom_bytes=6 * GIB,
    origins={"memory_limit_bytes": "/sys/fs/cgroup/a/memory.max"},
)


@pytest.mark.parametrize(
    ("memory", "cgroup", "ever", "now"),
    [
        pytest.param(HOST, FREE, 64 * GIB, 48 * GIB, id="the host's"),
        pytest.param(HOST, LIMITED, 16 * GIB, 6 * GIB, id="the group's"),
        pytest.param(
            HOST.model_copy(update={"available_bytes": 2 * GIB}), LIMITED, 16 * GIB, 2 * GIB, id="others use the host"
        ),
        pytest.param(HOST, Cgroup(), None, None, id="limit not known"),
        pytest.param(Memory(origin="/"), FREE, None, None, id="memory not known"),
        pytest.param(
            HOST, FREE.model_copy(update={"memory_high_bytes": 8 * GIB}), 8 * GIB, 48 * GIB, id="slowed down above"
        ),
    ],
)
def test_memory_is_the_least_of_host_and_group(
    memory: Memory, cgroup: Cgroup, ever: int | None, now: int | None
) -> None:
    found = budget(cpus(2), cgroup, memory=memory)
    assert (found.memory_bytes, found.memory_available_bytes) == (ever, now)


def test_memory_is_divided_by_ranks_and_names_what_binds() -> None:
    found = budget(cpus(2), LIMITED, ranks=4, memory=HOST)
    assert found.memory_per_rank_bytes == 4 * GIB
    assert found.memory_available_per_rank_bytes == 6 * GIB // 4
    assert evidence_path(found, "memory_per_rank_bytes") == "/sys/fs/cgroup/a/memory.max"
    free = budget(cpus(2), FREE, ranks=4, memory=HOST)
    assert evidence_path(free, "memory_per_rank_bytes") == "/proc/meminfo"


def test_shared_memory_counts_as_memory() -> None:
    shm = Shm(origin="/dev/shm", size_bytes=32 * GIB, available_bytes=20 * GIB)
    found = budget(cpus(2), LIMITED, ranks=2, memory=HOST, shm=shm)
    assert (found.shm_bytes, found.shm_per_rank_bytes) == (16 * GIB, 8 * GIB)
    # A page of shared memory is charged to the group, which has 6 GiB left.
    assert found.shm_available_per_rank_bytes == 3 * GIB
    assert budget(cpus(2), Cgroup(), memory=HOST, shm=shm).shm_bytes is None


def test_files_and_tasks_are_passed_on() -> None:
    groups = FREE.model_copy(update={"pids_limited": True, "pids_max": 100, "pids_current": 30})
    found = budget(cpus(2), groups, limits=Limits(origin="/proc/self/limits", nofile_soft=1024, nofile_unlimited=False))
    assert (found.open_files, found.open_files_unlimited, found.pids_left) == (1024, False, 70)
    assert budget(cpus(2)).pids_left is None
