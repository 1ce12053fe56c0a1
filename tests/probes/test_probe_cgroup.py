"""The limits of a control group are the least of all its ancestors', in v1, v2 and both at once."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.probes._cgroup_folders import Membership, parse_cgroup
from advisor.probes.cgroup import in_session, parse_bytes, parse_cpu_max, parse_keyed, read
from tests.trees import write_capture, write_tree

V2 = "/sys/fs/cgroup"
V2_MOUNT = f"30 23 0:26 / {V2} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = "".join(
    f"3{n} 23 0:2{n} / /sys/fs/cgroup/{names} rw,nosuid - cgroup cgroup rw,{names}\n"
    for n, names in enumerate(["cpu,cpuacct", "cpuset", "memory", "pids"])
)
V1_GROUPS = "4:pids:/job\n3:memory:/job/step\n2:cpuset:/job\n1:cpu,cpuacct:/job/step\n"
SELF = "/proc/self/cgroup"
MOUNTINFO = "/proc/self/mountinfo"


def v2(path: str, files: dict[str, str]) -> dict[str, str]:
    """A machine with v2 whose reader is in the group ``path``."""
    own = {f"{V2}/{path.strip('/')}/".replace("//", "/"): ""}
    placed = {f"{V2}/{name}": text for name, text in files.items()}
    return {SELF: f"0::{path}\n", MOUNTINFO: V2_MOUNT, **own, **placed}


def v1(files: dict[str, str]) -> dict[str, str]:
    """A machine with v1 whose reader is in the groups of ``V1_GROUPS``."""
    placed = {f"{V2}/{name}": text for name, text in files.items()}
    folders = {f"{V2}/{name}/": "" for name in ("memory/job/step", "cpuset/job", "pids/job", "cpu,cpuacct/job/step")}
    return {SELF: V1_GROUPS, MOUNTINFO: V1_MOUNTS, **folders, **placed}


def test_the_groups_of_a_process_are_read() -> None:
    text = "12:cpu,cpuacct:/a\n3:name=systemd:/b\n2:memory:/c:d\n0::/e f\nnonsense\n"
    assert parse_cgroup(text) == Membership({"cpu": "/a", "cpuacct": "/a", "memory": "/c:d"}, "/e f")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0::/user.slice/user-1000.slice/session-3.scope\n", True),
        ("4:memory:/\n1:name=systemd:/user.slice/user-1000.slice/session-c2.scope\n0::/\n", True),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/job.service\n", True),
        ("0::/system.slice/slurmstepd.scope/job_7/step_0\n", False),
        ("0::/\n", False),
    ],
)
def test_what_belongs_to_a_login_is_told_by_its_slice(tmp_path: Path, text: str, told: bool) -> None:
    assert in_session(text) is told
    assert read(write_capture(tmp_path, {SELF: text})).user_session is told


@pytest.mark.parametrize(
    ("text", "cpus"), [("max 100000", None), ("250000 100000", 2.5), ("50000 100000\n", 0.5)], ids=str
)
def test_a_quota_is_a_number_of_cpus(text: str, cpus: float | None) -> None:
    assert parse_cpu_max(text) == cpus


@pytest.mark.parametrize("text", ["", "100000", "0 100000", "100000 0", "-1 100000", "much 100000", "1 2 3"])
def test_nonsense_is_no_quota(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_cpu_max(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        pytest.param("max", None, id="v2 without limit"),
        pytest.param("9223372036854771712", None, id="v1 without limit"),
        pytest.param("9223372036854710272", None, id="v1 without limit and 64 KiB pages"),
        pytest.param("17179869184\n", 16 << 30, id="16 GiB"),
        pytest.param("0", 0, id="nothing"),
    ],
)
def test_a_size_limit_is_read(text: str, limit: int | None) -> None:
    assert parse_bytes(text) == limit


def test_counters_are_read_by_name() -> None:
    assert parse_keyed("usage_usec 12\nnr_throttled 3\nbroken\nx y\n") == {"usage_usec": 12, "nr_throttled": 3}


def test_the_least_quota_of_all_ancestors_binds(tmp_path: Path) -> None:
    files = {"a/cpu.max": "200000 100000", "a/b/cpu.max": "300000 100000", "a/b/c/cpu.max": "max 100000"}
    cgroup = read(write_capture(tmp_path, v2("/a/b/c", files)))
    assert (cgroup.version, cgroup.cpu_limited, cgroup.cpu_quota_cpus) == ("v2", True, 2.0)
    assert evidence_path(cgroup, "cpu_quota_cpus") == f"{V2}/a/cpu.max"


def test_the_least_memory_limit_of_all_ancestors_binds(tmp_path: Path) -> None:
    files = {
        "a/memory.max": str(8 << 30),
        "a/memory.current": str(7 << 30),
        "a/memory.stat": f"anon 1\ninactive_file {2 << 30}\n",
        "a/b/memory.max": str(16 << 30),
        "a/b/memory.current": str(1 << 30),
        "a/b/memory.high": str(12 << 30),
        "a/b/memory.events": "low 0\noom 2\noom_kill 1\n",
    }
    cgroup = read(write_capture(tmp_path, v2("/a/b", files)))
    assert (cgroup.memory_limited, cgroup.memory_limit_bytes) == (True, 8 << 30)
    assert (cgroup.memory_used_bytes, cgroup.memory_high_bytes, cgroup.oom_kills) == (7 << 30, 12 << 30, 1)
    # Idle page cache gives way: 8 - (7 - 2) GiB.
    assert cgroup.memory_headroom_bytes == 3 << 30
    assert evidence_path(cgroup, "memory_limit_bytes") == f"{V2}/a/memory.max"


def test_the_real_root_has_no_limits(tmp_path: Path) -> None:
    host = write_capture(tmp_path, v2("/", {}))
    cgroup = read(host)
    assert (cgroup.cpu_limited, cgroup.memory_limited, cgroup.pids_limited) == (False, False, False)
    assert (cgroup.cpu_quota_cpus, cgroup.memory_limit_bytes) == (None, None)


def test_a_plain_tree_without_the_files_says_nothing_of_limits(tmp_path: Path) -> None:
    host = write_tree(tmp_path, v2("/a", {}))
    cgroup = read(host)
    assert (cgroup.cpu_limited, cgroup.memory_limited, cgroup.cpuset_cpus) == (None, None, None)
    assert host.gaps[evidence_path(cgroup, "cpu_limited")] == "not captured"
    assert host.gaps[evidence_path(cgroup, "cpuset_cpus")] == "not captured"


def test_a_plain_tree_need_not_hold_what_the_root_never_has(tmp_path: Path) -> None:
    files = {"a/cpu.max": "max 100000", "a/memory.max": "1073741824", "a/pids.max": "512", "a/pids.current": "7"}
    cgroup = read(write_tree(tmp_path, v2("/a", files)))
    assert (cgroup.cpu_limited, cgroup.memory_limit_bytes) == (False, 1 << 30)
    assert (cgroup.pids_limited, cgroup.pids_max, cgroup.pids_current) == (True, 512, 7)


def test_in_a_container_the_mount_point_is_the_own_group(tmp_path: Path) -> None:
    """The path is the host's; the private mount shows the container's group as its root, with its files."""
    files = v2("/", {"cpu.max": "150000 100000", "cpuset.cpus.effective": "2-3"})
    cgroup = read(write_capture(tmp_path, {**files, SELF: "0::/docker/0123abcd\n"}))
    assert (cgroup.cpu_quota_cpus, cgroup.cpuset_cpus) == (1.5, (2, 3))


def test_a_bind_mounted_group_is_not_looked_for_below_itself(tmp_path: Path) -> None:
    files = {
        SELF: "1:memory:/docker/x/sub\n",
        MOUNTINFO: "31 23 0:21 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
        f"{V2}/memory/memory.limit_in_bytes": str(4 << 30),
        f"{V2}/memory/sub/memory.limit_in_bytes": "9223372036854771712",
    }
    cgroup = read(write_tree(tmp_path, files))
    assert (cgroup.version, cgroup.memory_limit_bytes) == ("v1", 4 << 30)


def test_a_process_above_its_namespace_is_seen_from_the_mount_point(tmp_path: Path) -> None:
    files = v2("/", {"cpu.max": "100000 100000"})
    assert read(write_capture(tmp_path, {**files, SELF: "0::/../../other\n"})).cpu_quota_cpus == 1.0


@pytest.mark.parametrize("why", ["ETIMEDOUT", "EACCES"])
def test_a_group_that_was_not_looked_at_is_not_taken_for_the_root(why: str, tmp_path: Path) -> None:
    write_capture(tmp_path, {SELF: "0::/job\n", MOUNTINFO: V2_MOUNT, f"{V2}/cgroup.procs": "1\n"}, absent=())
    (tmp_path / "errors.tsv").write_text(f"{V2}/job\t{why}\n")
    cgroup = read(open_root(str(tmp_path)))
    assert (cgroup.cpu_limited, cgroup.memory_limited, cgroup.pids_limited) == (None, None, None)


def test_v1_controllers_are_found_by_their_mounts(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/job/cpu.cfs_quota_us": "400000",
        "cpu,cpuacct/job/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/job/step/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/job/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 99\n",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "memory/job/memory.limit_in_bytes": "9223372036854771712",
        "memory/job/step/memory.limit_in_bytes": str(2 << 30),
        "memory/job/step/memory.usage_in_bytes": str(1 << 30),
        "memory/job/step/memory.stat": f"total_inactive_file {1 << 29}\n",
        "memory/job/step/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        "cpuset/job/cpuset.effective_cpus": "4-7",
        "cpuset/job/cpuset.mems": "1",
        "pids/job/pids.max": "max",
    }
    cgroup = read(write_tree(tmp_path, v1(files)))
    assert (cgroup.version, cgroup.cpu_limited, cgroup.cpu_quota_cpus) == ("v1", True, 4.0)
    assert (cgroup.cpu_periods, cgroup.cpu_throttled_periods) == (10, 4)
    assert (cgroup.memory_limit_bytes, cgroup.memory_headroom_bytes, cgroup.oom_kills) == (2 << 30, 3 << 29, 3)
    assert (cgroup.cpuset_cpus, cgroup.cpuset_mems, cgroup.pids_limited) == ((4, 5, 6, 7), (1,), False)
    assert evidence_path(cgroup, "cpuset_cpus") == f"{V2}/cpuset/job/cpuset.effective_cpus"


def test_without_any_v1_limit_nothing_is_limited(tmp_path: Path) -> None:
    files = {
        **{f"cpu,cpuacct{group}/cpu.cfs_quota_us": "-1" for group in ("", "/job", "/job/step")},
        **{f"memory{group}/memory.limit_in_bytes": "9223372036854771712" for group in ("", "/job", "/job/step")},
    }
    cgroup = read(write_tree(tmp_path, v1(files)))
    assert (cgroup.cpu_limited, cgroup.memory_limited) == (False, False)
    assert (cgroup.cpu_quota_cpus, cgroup.memory_limit_bytes) == (None, None)


def test_in_a_hybrid_each_controller_is_looked_up_where_it_is(tmp_path: Path) -> None:
    files = {
        SELF: "2:memory:/\n1:name=systemd:/\n0::/a\n",
        MOUNTINFO: "31 23 0:21 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 23 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": str(1 << 30),
        "/sys/fs/cgroup/unified/a/cpu.max": "100000 50000",
    }
    cgroup = read(write_tree(tmp_path, files))
    assert (cgroup.version, cgroup.memory_limit_bytes, cgroup.cpu_quota_cpus) == ("hybrid", 1 << 30, 2.0)


def test_a_cpuset_may_be_mounted_anywhere_with_short_names(tmp_path: Path) -> None:
    files = {
        "/proc/self/cpuset": "/batch\n",
        "/proc/mounts": "none /dev/cpuset cpuset rw,relatime 0 0\n",
        "/dev/cpuset/batch/cpus": "1,3\n",
        "/dev/cpuset/batch/mems": "0\n",
    }
    cgroup = read(write_tree(tmp_path, files))
    assert (cgroup.version, cgroup.cpuset_cpus, cgroup.cpuset_mems) == (None, (1, 3), (0,))


def test_a_group_without_the_controller_has_its_parents_cpuset(tmp_path: Path) -> None:
    cgroup = read(write_tree(tmp_path, v2("/a/b", {"a/cpuset.cpus.effective": "0-1"})))
    assert cgroup.cpuset_cpus == (0, 1)
    assert evidence_path(cgroup, "cpuset_cpus") == f"{V2}/a/cpuset.cpus.effective"


def test_a_limit_that_does_not_parse_makes_the_limit_unknown(tmp_path: Path) -> None:
    host = write_capture(tmp_path, v2("/a", {"a/cpu.max": "much\n", "cpu.max": "100000 100000"}))
    cgroup = read(host)
    assert cgroup.cpu_limited is None
    assert host.gaps[evidence_path(cgroup, "cpu_limited")] == "unsupported"


def test_a_kernel_without_control_groups_limits_nothing(tmp_path: Path) -> None:
    cgroup = read(write_capture(tmp_path / "capture", {}))
    assert (cgroup.version, cgroup.cpu_limited, cgroup.memory_limited) == (None, False, False)
    assert read(write_tree(tmp_path / "tree", {})).cpu_limited is None


def test_looking_for_files_that_groups_lack_leaves_no_gaps(tmp_path: Path) -> None:
    files = {"a/cpu.max": "max 100000", "a/memory.max": "max", "a/memory.high": "max", "a/pids.max": "max"}
    host = write_capture(tmp_path, v2("/a", {**files, "cpuset.cpus.effective": "0", "cpuset.mems.effective": "0"}))
    read(host)
    assert host.gaps == {}


def test_a_hidden_mount_says_nothing_of_limits(tmp_path: Path) -> None:
    """Something is mounted over /sys, so that the files are absent although groups may be limited."""
    host = write_capture(tmp_path, {SELF: "0::/\n", MOUNTINFO: V2_MOUNT})
    cgroup = read(host)
    assert (cgroup.cpu_limited, cgroup.memory_limited) == (None, None)
    assert host.gaps[evidence_path(cgroup, "cpu_limited")] == "denied"


def test_where_no_hierarchy_is_mounted_limits_are_not_known(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {SELF: "0::/a\n", MOUNTINFO: "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"})
    cgroup = read(host)
    assert (cgroup.version, cgroup.cpu_limited, cgroup.memory_limited) == ("v2", None, None)
    assert host.gaps[evidence_path(cgroup, "memory_limited")] == "denied"


def test_a_controller_that_no_hierarchy_has_limits_nothing(tmp_path: Path) -> None:
    files = {SELF: "1:cpuset:/\n", MOUNTINFO: "31 23 0:21 / /dev/cpuset rw - cgroup cgroup rw,cpuset\n"}
    cgroup = read(write_tree(tmp_path, {**files, "/dev/cpuset/cpuset.cpus": "0-3\n"}))
    assert (cgroup.version, cgroup.cpu_limited, cgroup.memory_limited) == ("v1", False, False)
    assert cgroup.cpuset_cpus == (0, 1, 2, 3)


def test_the_time_that_tasks_were_held_back_is_in_microseconds(tmp_path: Path) -> None:
    files = {"a/cpu.max": "100000 100000", "a/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_usec 1500\n"}
    assert read(write_tree(tmp_path / "v2", v2("/a", files))).cpu_throttled_usecs == 1500
    older = {"cpu,cpuacct/job/step/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000\n"}
    assert read(write_tree(tmp_path / "v1", v1(older))).cpu_throttled_usecs == 1500


def test_what_the_groups_memory_is_used_for_and_how_often_it_was_too_little(tmp_path: Path) -> None:
    files = {
        "a/memory.max": str(8 << 30),
        "a/memory.swap.max": "0",
        "a/b/memory.max": "max",
        "a/b/memory.swap.max": "max",
        "a/b/memory.stat": "anon 1\nshmem 4096\nfile_dirty 8192\n",
        "a/b/memory.events": "low 0\nhigh 5\nmax 7\noom 2\noom_kill 1\n",
    }
    cgroup = read(write_tree(tmp_path, v2("/a/b", files)))
    assert (cgroup.memory_swap_limited, cgroup.memory_swap_limit_bytes) == (True, 0)
    assert (cgroup.memory_shmem_bytes, cgroup.memory_dirty_bytes) == (4096, 8192)
    assert (cgroup.memory_limit_hits, cgroup.memory_high_hits, cgroup.memory_ooms, cgroup.oom_kills) == (7, 5, 2, 1)
    assert evidence_path(cgroup, "memory_swap_limit_bytes") == f"{V2}/a/memory.swap.max"


def test_version_1_limits_memory_and_swap_together(tmp_path: Path) -> None:
    files = {
        "memory/job/step/memory.limit_in_bytes": str(2 << 30),
        "memory/job/step/memory.memsw.limit_in_bytes": str(3 << 30),
        "memory/job/memory.memsw.limit_in_bytes": "9223372036854771712",
        "memory/memory.memsw.limit_in_bytes": "9223372036854771712",
        "memory/job/step/memory.failcnt": "12\n",
        "memory/job/step/memory.stat": "shmem 1\ntotal_shmem 4096\ntotal_dirty 0\n",
    }
    cgroup = read(write_tree(tmp_path, v1(files)))
    assert (cgroup.memory_and_swap_limit_bytes, cgroup.memory_swap_limited) == (3 << 30, None)
    assert (cgroup.memory_limit_hits, cgroup.memory_shmem_bytes, cgroup.memory_dirty_bytes) == (12, 4096, 0)


@pytest.mark.parametrize(
    ("hierarchical", "limit", "where"),
    [
        pytest.param(4 << 30, 4 << 30, "memory.stat", id="an ancestor that is not seen"),
        pytest.param(9223372036854771712, 6 << 30, "memory.limit_in_bytes", id="no limit above"),
        pytest.param(6 << 30, 6 << 30, "memory.limit_in_bytes", id="the own limit"),
    ],
)
def test_version_1_counts_limits_of_ancestors_that_a_container_does_not_see(
    hierarchical: int, limit: int, where: str, tmp_path: Path
) -> None:
    folder = f"{V2}/memory"
    files = {
        SELF: "1:memory:/docker/x\n",
        MOUNTINFO: f"31 23 0:21 /docker/x {folder} ro - cgroup cgroup rw,memory\n",
        f"{folder}/memory.limit_in_bytes": str(6 << 30),
        f"{folder}/memory.stat": f"cache 1\nhierarchical_memory_limit {hierarchical}\n",
    }
    cgroup = read(write_tree(tmp_path, files))
    assert (cgroup.memory_limit_bytes, evidence_path(cgroup, "memory_limit_bytes")) == (limit, f"{folder}/{where}")
