"""Resource limits, asked for or read, and the capability that lifts one."""

from pathlib import Path

import pytest

from advisor.host.base import Limit
from advisor.model.facts import evidence_path
from advisor.probes.limits import parse_capability, parse_limit, read
from tests.trees import write_capture, write_tree

TEXT = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max locked memory         8388608              unlimited            bytes
"""


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("nofile", Limit(1024, 524288)),
        ("memlock", Limit(8388608, None)),
        ("stack", Limit(8388608, None)),
        ("nproc", Limit(96365, 96365)),
    ],
)
def test_a_limit_is_read(name: str, limit: Limit) -> None:
    assert parse_limit(TEXT, name) == limit


def test_a_container_may_lack_what_places_memory(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, {"/proc/self/status": "CapEff:\t0000000000800000\n"})).may_place_memory is True


def test_a_line_that_is_missing_or_cut_is_no_limit() -> None:
    assert parse_limit("Max open files            1024", "nofile") is None
    assert parse_limit(TEXT.replace("1024", "many"), "nofile") is None


def test_a_plain_tree_tells_by_its_files(tmp_path: Path) -> None:
    files = {"/proc/self/limits": TEXT, "/proc/self/status": "Name:\tcat\nCapEff:\t0000000000004000\n"}
    limits = read(write_tree(tmp_path, files))
    assert (limits.nofile_soft, limits.nofile_hard, limits.nofile_unlimited) == (1024, 524288, False)
    assert (limits.memlock_hard_unlimited, limits.memlock_hard_bytes) == (True, None)
    assert (limits.may_lock_memory, limits.may_place_memory) == (True, False)


def test_answers_of_the_system_come_first(tmp_path: Path) -> None:
    limits = read(write_capture(tmp_path, {}, limits={"nofile": [4096, None], "memlock": [None, None]}))
    assert (limits.nofile_soft, limits.nofile_hard_unlimited) == (4096, True)
    assert (limits.memlock_unlimited, limits.memlock_soft_bytes) == (True, None)
    assert limits.stack_unlimited is None


def test_what_nobody_tells_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    limits = read(host)
    assert (limits.nofile_unlimited, limits.memlock_unlimited, limits.may_lock_memory) == (None, None, None)
    assert limits.services is None
    assert host.gaps == dict.fromkeys(
        ("/proc/self/limits", "/proc/self/status", "/sys/fs/cgroup/system.slice"), "not captured"
    )


def test_a_capability_is_one_bit() -> None:
    assert parse_capability("CapPrm:\t0\nCapEff:\t000001ffffffffff\n", 14) is True
    assert parse_capability("CapEff:\t00000000a80425fb\n", 14) is False
    assert parse_capability("CapPrm:\t000001ffffffffff\n", 14) is None


SLICE = "/sys/fs/cgroup/system.slice"


def service(unit: str, **processes: str) -> dict[str, str]:
    """The group of a unit, and its processes: number to name; all may lock as many bytes as their number says."""
    files = {f"{SLICE}/{unit}/cgroup.procs": "".join(f"{pid[1:]}\n" for pid in processes)}
    for pid, name in processes.items():
        files[f"/proc/{pid[1:]}/comm"] = f"{name}\n"
        files[f"/proc/{pid[1:]}/limits"] = f"Max locked memory         {pid[1:]}              unlimited   bytes\n"
    return files


def test_limits_of_services_are_those_of_their_own_program(tmp_path: Path) -> None:
    files = service("slurmd.service", p30="slurmstepd", p40="slurmd") | service("ssh.service", p20="sshd")
    files |= service("cron.service", p9="cron")
    services = read(write_tree(tmp_path, files)).services or ()
    assert [(one.program, one.memlock_soft_bytes, one.memlock_hard_unlimited) for one in services] == [
        ("slurmd", 40, True),
        ("sshd", 20, True),
    ]
    told = evidence_path(services[0], "memlock_soft_bytes")
    assert told == f"/proc/PID/limits of a PID in {SLICE}/slurmd.service/cgroup.procs"


def test_a_service_without_processes_does_not_run(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, service("docker.service"))).services == ()


def test_limits_of_a_service_that_hides_are_not_known(tmp_path: Path) -> None:
    files = service("containerd.service", p7="containerd", p8="containerd-shim")
    del files["/proc/7/limits"]
    host = write_tree(tmp_path, files)
    (one,) = read(host).services or ()
    assert (one.memlock_unlimited, one.memlock_soft_bytes, one.nofile_soft) == (None, None, None)
    assert host.gaps[evidence_path(one, "memlock_unlimited")] == "not captured"
    assert not any(path.startswith("/proc/7") for path in host.gaps)


@pytest.mark.parametrize("text", ["../../etc\n", "x\n", "-1\n", "9" * 50])
def test_nonsense_is_no_process(text: str, tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{SLICE}/slurmd.service/cgroup.procs": text})
    (one,) = read(host).services or ()
    assert (one.memlock_unlimited, host.gaps[one.origin]) == (None, "error")
