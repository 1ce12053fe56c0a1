"""Pressure is read where the kernel measures it, and is not known where it does not."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.probes.pressure import ORIGIN, parse_pressure, read
from tests.trees import write_capture, write_tree

SOME = "some avg10=1.50 avg60=0.25 avg300=0.00 total=1297180859\n"
FULL = "full avg10=0.00 avg60=0.12 avg300=0.00 total=77\n"
GROUP = "/sys/fs/cgroup/system.slice/job.scope"
V2 = {
    "/proc/self/cgroup": "0::/system.slice/job.scope\n",
    "/proc/self/mountinfo": "30 21 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
}
V1 = {
    "/proc/self/cgroup": "4:memory:/\n",
    "/proc/self/mountinfo": "30 21 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    "/sys/fs/cgroup/memory/memory.stat": "",
}


def test_shares_are_in_percent_and_totals_in_microseconds(tmp_path: Path) -> None:
    files = {f"{ORIGIN}/cpu": SOME + FULL, f"{ORIGIN}/memory": SOME + FULL, f"{ORIGIN}/io": SOME + FULL}
    cpu, memory, _ = read(write_tree(tmp_path, files)).host or ()
    assert (cpu.resource, cpu.some_10_percent, cpu.some_60_percent, cpu.some_usecs) == ("cpu", 1.5, 0.25, 1297180859)
    assert (memory.full_60_percent, memory.full_usecs) == (0.12, 77)


def test_that_all_tasks_of_the_host_wait_for_cpu_means_nothing(tmp_path: Path) -> None:
    files = V2 | {f"{ORIGIN}/cpu": SOME + FULL, f"{GROUP}/cpu.pressure": SOME + FULL}
    found = read(write_tree(tmp_path, files))
    assert [one.full_usecs for one in found.host or ()] == [None]
    assert [one.full_usecs for one in found.group or ()] == [77]


def test_a_kernel_started_without_psi_does_not_tell(tmp_path: Path) -> None:
    write_capture(tmp_path, {f"{ORIGIN}/": ""}, names={ORIGIN: ["cpu", "io", "memory"]})
    with open(tmp_path / "errors.tsv", "a") as errors:
        errors.writelines(f"{ORIGIN}/{name}\tEOPNOTSUPP\tdata\n" for name in ("cpu", "io", "memory"))
    host = open_root(str(tmp_path))
    found = read(host)
    assert found.host is None
    assert host.gaps[evidence_path(found, "host")] == "unsupported"


def test_a_kernel_that_cannot_measure_has_no_such_folder(tmp_path: Path) -> None:
    host = write_capture(tmp_path, V2)
    found = read(host)
    assert (found.host, host.gaps[evidence_path(found, "host")]) == (None, "absent")


def test_groups_of_version_1_have_no_pressure(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, V1)).group == ()


def test_the_group_is_not_known_without_its_files(tmp_path: Path) -> None:
    host = write_tree(tmp_path, V2)
    found = read(host)
    assert found.group is None
    assert host.gaps[evidence_path(found, "group")] == "not captured"


@pytest.mark.parametrize(
    "text",
    ["", "some", "some avg10=x avg60=0 avg300=0 total=0", "most avg10=0.00", "some avg10=-1 total=0", "\x1b[2J"],
)
def test_nonsense_is_no_pressure(text: str, tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{ORIGIN}/memory": text})
    assert parse_pressure(text) == {}
    assert read(host).host is None
    assert host.gaps[f"{ORIGIN}/memory"] == "unsupported"
