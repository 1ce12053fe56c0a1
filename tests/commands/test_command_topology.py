"""`advisor topology`, whole: the picture of a made-up node, of a machine that tells little, and as JSON."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from tests.gpu_node import gpu_node
from tests.trees import write_capture

PICTURE = """\
NUMA node 0: CPUs 0-1,4-5, memory 1008 GiB, distances 10 21
  pci0000:00
    0000:03:00.0 bridge
      0000:04:00.0 gpu 0 NVIDIA H100 80GB HBM3, x16
      0000:05:00.0 nic eth0 (400 Gb/s), mlx5_0, x16
    0000:0e:00.0 nvme nvme0n1 3.5 TiB, x16
NUMA node 1: CPUs 2-3,6-7, memory 1008 GiB, distances 21 10
"""


def test_the_picture_of_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = str(gpu_node(8, 2, 2, 2, 12).write(tmp_path))
    assert run(["topology", "--root", node]) == 0
    out = capsys.readouterr().out
    assert out.startswith(PICTURE)
    assert "  0000:04:00.0: network 0000:05:00.0 (PIX); drives 0000:0e:00.0 (PHB); CPUs 0-" in out
    assert run(["topology", "--root", node, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_the_same_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = str(gpu_node(8, 2, 2, 2, 12).write(tmp_path))
    assert run(["topology", "--root", node, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [node["number"] for node in told["nodes"]] == [0, 1]
    gpu = next(one for one in told["devices"] if one["kind"] == "gpu")
    assert (gpu["address"], gpu["numa_node"], gpu["root"], gpu["path"][-2:]) == (
        *("0000:04:00.0", 0, "pci0000:00"),
        ["0000:03:00.0", "0000:04:00.0"],
    )
    pair = {"a": "0000:04:00.0", "b": "0000:05:00.0", "kind": "nic", "distance": "PIX"}
    assert pair in told["pairs"]


def test_a_machine_that_tells_nothing_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "etc").mkdir()
    assert run(["topology", "--root", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "PCIe devices: unknown\nNUMA node unknown\n"


def test_a_device_whose_node_nobody_knows_is_shown_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = "/sys/bus/pci/devices/0000:00:05.0"
    write_capture(tmp_path, {f"{folder}/class": "0x010802\n", f"{folder}/numa_node": "-1\n"})
    assert run(["topology", "--root", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].endswith(("NUMA nodes", "NUMA node unknown"))
    assert "0000:00:05.0 nvme" in out
