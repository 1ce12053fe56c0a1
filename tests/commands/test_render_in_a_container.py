"""`advisor render` inside containers: what their start must give them, whatever the host's files say."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.cli import run
from tests.gpu_node import gpu_node
from tests.plans import body
from tests.trees import ALL_ABSENT, write_capture, write_link

ROOT = "30 1 0:90 / / rw,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c\n"
GROUPS = "31 30 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
SHM = "32 30 0:27 / /dev/shm rw - tmpfs shm rw\n"
MIB = 1 << 20


def container(folder: Path, shm_bytes: int, *, verbs: bool = True) -> Path:
    """A container of docker's defaults on a node with two GPUs and two RDMA cards, one of them slow."""
    made = gpu_node(cpus=16, gpus=2, nics=2, drives=1, vectors=8)
    made.files["/.dockerenv"] = ""
    made.files["/proc/self/cgroup"] = "0::/\n"
    made.files["/proc/self/mountinfo"] = ROOT + GROUPS + SHM
    made.put("/sys/fs/cgroup", **{"memory.max": 64 << 30, "memory.current": 1000, "cpu.max": "max 100000"})
    made.put("/proc/self", limits="Max locked memory         65536                65536                bytes")
    (rate,) = (path for path in made.files if path.endswith("/mlx5_1/ports/1/rate"))
    made.files[rate] = "100 Gb/sec (4X EDR)\n"
    for number in range(2 if verbs else 0):
        made.put(f"/sys/class/infiniband_verbs/uverbs{number}", ibdev=f"mlx5_{number}")
    blocks = shm_bytes // 4096
    statvfs = {"/dev/shm": [4096, blocks, blocks, 16000, 16000]}
    absent = [path for path in ALL_ABSENT if path != "/.dockerenv"]
    write_capture(folder, made.files, absent, affinity=list(range(16)), statvfs=statvfs)
    for path, target in made.links.items():
        write_link(folder / "fs", path, target)
    return folder


def flags(folder: Path, shm_bytes: int, *more: str, verbs: bool = True) -> Sequence[str]:
    root = container(folder / "cap", shm_bytes, verbs=verbs)
    assert run(["render", "--root", str(root), "--out", str(folder / "out"), *more]) == 0
    return body((folder / "out/suggested/container-flags.txt").read_text())


WORKERS = ("--workers", "8", "--batch-bytes", "200000000")
ROOM = 2 * (8 * 2 + 2) * 200_000_000 + 1024 * MIB


@pytest.mark.parametrize("shm_bytes", [64 * MIB, 2048 * MIB], ids=["docker's default", "more, and not enough"])
def test_the_loaders_get_the_same_room_however_little_there_is(tmp_path: Path, shm_bytes: int) -> None:
    assert f"--shm-size='{ROOM}'" in flags(tmp_path, shm_bytes, *WORKERS)


def test_without_a_plan_of_workers_it_is_what_nccl_wants(tmp_path: Path) -> None:
    assert f"--shm-size='{1024 * MIB}'" in flags(tmp_path, 64 * MIB)


def test_a_size_that_is_enough_is_left_alone(tmp_path: Path) -> None:
    assert not [line for line in flags(tmp_path, 16384 * MIB, *WORKERS) if "shm-size" in line]


def test_only_the_cards_of_the_job_are_given_to_it(tmp_path: Path) -> None:
    given = [line for line in flags(tmp_path, 64 * MIB) if "device" in line]
    assert given == ["--device='/dev/infiniband/uverbs0'"]


def test_where_their_nodes_are_not_known_that_is_left_to_the_operator(tmp_path: Path) -> None:
    assert not [line for line in flags(tmp_path, 64 * MIB, verbs=False) if "device" in line]
    assert "container:device/dev/infiniband is not set" in (tmp_path / "out/report.md").read_text()


def test_locked_memory_is_given_to_the_container_and_not_to_logins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--ulimit='memlock=-1'" in flags(tmp_path, 64 * MIB)
    told = [line for line in capsys.readouterr().out.splitlines() if "limits:*/soft/memlock" in line]
    assert [line.partition("): ")[2] for line in told] == [
        "this is a container, which limits.d does not reach: start it with --ulimit, or raise the limit of the service "
        "that starts it"
    ]
    assert not (tmp_path / "out/host").exists()
