"""On a node on which nothing is wrong, one thing wrong with its GPUs or its system is one finding."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.model.job import Job
from tests.healthy_node import (
    CLOCK,
    JOB,
    calls,
    failing,
    healthy,
    nvml,
    report,
)

TUNED = {
    "/etc/tuned/active_profile": "balanced\n",
    "/usr/lib/tuned/balanced/tuned.conf": "[main]\nsummary=general\n",
    "/usr/lib/systemd/system/tuned.service": "[Service]\nType=dbus\n",
    "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs": "700\n",
}
CPUS_0_MEMORY_1 = {"cpus": "0-1\n", "mems": "1\n"}


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("gpu/power-limit-below-default", nvml(power_enforced_limit_milliwatts=500_000)),
        ("gpu/application-clocks-lowered", nvml(graphics_application_clock_mhz=1200)),
        ("gpu/reset-needed", nvml(reset_required=True)),
        ("gpu/drain-asked-for", nvml(recovery_action="drain and reset")),
        ("gpu/fabric-degraded", nvml(fabric_state="completed", fabric_status=0, fabric_bandwidth_degraded=True)),
        ("pcie/gpu-memory-window-small", nvml(bar1_total_bytes=256 << 20)),
        ("gpu/library-of-another-version", {"nvml": {"failure": "version mismatch", "state": "error", "number": 18}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_answer_wrong_is_one_finding(tmp_path: Path, rule: str, changed: Mapping[str, Any]) -> None:
    assert failing(report(tmp_path, healthy(), {**calls(), **changed})) == {rule}


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("gpu/profiling-needs-root", {"/proc/driver/nvidia/params": "RmProfilingAdminOnly: 1\n"}),
        ("system/profilers-cannot-sample", {"/proc/sys/kernel/perf_event_paranoid": "4\n"}),
        ("system/kernel-tainted-by-fault", {"/proc/sys/kernel/tainted": "16\n"}),
        ("system/slow-clock-source", {f"{CLOCK}/current_clocksource": "hpet\n"}),
        ("system/sysctl-not-in-force", {"/proc/sys/vm/max_map_count": "65530\n"}),
        ("system/sysctl-overridden", {"/etc/sysctl.d/10-old.conf": "vm.max_map_count = 262144\n"}),
        (
            "system/sysctl-unknown-to-kernel",
            {"/etc/sysctl.d/10-old.conf": "kernel.sched_min_granularity_ns = 10000000\n"},
        ),
        ("system/module-option-not-in-force", {"/etc/modprobe.d/site.conf": "options mlx5_core debug_mask=1\n"}),
        ("system/tuned-profile-saves-power", TUNED),
        ("memory/shm-removed-by-a-logout", {"/etc/systemd/logind.conf": "[Login]\n#RemoveIPC=yes\n"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_file_wrong_is_one_finding(tmp_path: Path, rule: str, changed: Mapping[str, str]) -> None:
    assert failing(report(tmp_path, {**healthy(), **changed}, calls())) == {rule}


def test_ranks_on_split_gpus_are_one_finding(tmp_path: Path) -> None:
    job = JOB.model_copy(update={"ranks": 2, "workers": 1})
    made = report(tmp_path, healthy(), {**calls(), **nvml(mig_mode=True, mig_pending_mode=True)}, job)
    assert failing(made) == {"gpu/split-with-several-ranks"}


@pytest.mark.parametrize(
    ("rule", "job", "environment"),
    [
        ("dataloader/threads-left-open", JOB.model_copy(update={"ranks": 2}), {}),
        ("dataloader/threads-exceed-cpus", JOB, {"OMP_NUM_THREADS": "8"}),
    ],
)
def test_threads_that_do_not_suit_the_node(tmp_path: Path, rule: str, job: Job, environment: dict[str, str]) -> None:
    assert failing(report(tmp_path, healthy(), {**calls(), "environment": environment}, job)) == {rule}


def test_a_container_without_the_library_of_the_driver(tmp_path: Path) -> None:
    files = {**healthy(), "/.dockerenv": "", "/dev/nvidiactl": ""}
    answers = {**calls(), "nvml": {"failure": "no library", "state": "absent"}}
    assert failing(report(tmp_path, files, answers)) == {"container/gpu-library-missing"}


def test_cpus_of_one_node_and_memory_of_another_are_one_finding(tmp_path: Path) -> None:
    groups = {f"/sys/fs/cgroup/user.slice/cpuset.{what}.effective": text for what, text in CPUS_0_MEMORY_1.items()}
    answers = {**calls(), "affinity": [0, 1]}
    job = JOB.model_copy(update={"ranks": 1})
    made = report(tmp_path, {**healthy(), **groups}, answers, job)
    assert "numa/cpus-without-their-memory" in failing(made)
