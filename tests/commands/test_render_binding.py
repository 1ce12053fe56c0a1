"""`advisor render` and how ranks are to be bound: where they have CPUs, and with as many threads as those carry."""

from pathlib import Path

import pytest

from advisor.cli import run
from tests.gpu_node import GPU_CLASS, gpu_node
from tests.trees import ALL_ABSENT, write_capture, write_link


def sub_numa_node(folder: Path, vendor: str = "0x10de") -> Path:
    """Two sockets of two nodes each; both GPUs of a socket hang on its first node."""
    made = gpu_node(cpus=32, gpus=4, nics=0, drives=0, vectors=0)
    nodes = {0: "0-3,16-19", 1: "4-7,20-23", 2: "8-11,24-27", 3: "12-15,28-31"}
    for number, cpus in nodes.items():
        made.put(f"/sys/devices/system/node/node{number}", cpulist=cpus)
    made.put("/sys/devices/system/node", online="0-3", has_cpu="0-3", possible="0-3")
    for path in [path for path in made.files if path.endswith("/class") and made.files[path].startswith(GPU_CLASS)]:
        place = path.removesuffix("class")
        made.files[f"{place}vendor"] = f"{vendor}\n"
        made.files[f"{place}numa_node"] = "0\n" if "/pci0000" in path else "2\n"
    write_capture(folder, made.files, ALL_ABSENT, affinity=list(range(32)), environment={})
    for path, target in made.links.items():
        write_link(folder / "fs", path, target)
    return folder


@pytest.mark.parametrize(
    ("more", "binding", "threads"),
    [
        (("--workers", "3"), "socket", "2"),
        (("--workers", "1"), "node", "2"),
        (("--workers", "1", "--set", "launch:numa-binding=socket"), "socket", "4"),
        (("--workers", "3", "--set", "launch:numa-binding=node"), "node", "1"),
        (("--workers", "1", "--ranks", "2"), "node", "2"),
    ],
)
def test_ranks_are_bound_where_they_have_cpus_and_threads_follow(
    tmp_path: Path, more: tuple[str, ...], binding: str, threads: str
) -> None:
    root = sub_numa_node(tmp_path / "cap")
    assert run(["render", "--root", str(root), "--out", str(tmp_path / "out"), *more]) == 0
    assert f"\nbinding='{binding}'\n" in (tmp_path / "out/job/launch.sh").read_text()
    assert f"OMP_NUM_THREADS='{threads}'" in (tmp_path / "out/job/env.sh").read_text()


def test_more_workers_than_a_node_has_cpus_are_told_of_where_the_operator_binds_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = sub_numa_node(tmp_path / "cap")
    argv = ["check", "--root", str(root), "--workers", "5"]
    run([*argv, "--bound"])
    assert "10 workers (5 of each rank) on 8 CPUs of the same NUMA node" in capsys.readouterr().out
    run(argv)
    assert "more-workers-than-cpus" not in capsys.readouterr().out.partition("UNKNOWN")[0]


def test_a_gpu_of_the_processor_is_no_rank_and_needs_no_node(tmp_path: Path) -> None:
    made = gpu_node(cpus=16, gpus=1, nics=0, drives=0, vectors=0)
    place = "/sys/devices/pci0001:00/0001:00:01.0"
    made.put(place, vendor="0x1002", numa_node=1, local_cpulist="4-7,12-15", **{"class": "0x030000"})
    made.links["/sys/bus/pci/devices/0001:00:01.0"] = place
    write_capture(tmp_path / "cap", made.files, ALL_ABSENT, affinity=list(range(16)), environment={})
    for path, target in made.links.items():
        write_link(tmp_path / "cap/fs", path, target)
    argv = ["render", "--root", str(tmp_path / "cap"), "--out", str(tmp_path / "out"), "--workers", "3"]
    assert run(argv) == 0
    assert not (tmp_path / "out/job/env.sh").exists()
    assert not (tmp_path / "out/job/launch.sh").exists()


def test_gpus_of_another_maker_get_no_launcher_that_asks_nvidias_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = sub_numa_node(tmp_path / "cap", vendor="0x1002")
    assert run(["render", "--root", str(root), "--out", str(tmp_path / "out"), "--workers", "3"]) == 0
    assert not (tmp_path / "out/job/launch.sh").exists()
    assert "withheld  launch:numa-binding=socket" in (said := capsys.readouterr().out)
    assert "no GPU here is NVIDIA's" in said
    assert "OMP_NUM_THREADS='2'" in (tmp_path / "out/job/env.sh").read_text()
