"""Files given beside the host: where they count, what is said of those that differ, and which are refused."""

import json
import os
from pathlib import Path

import pytest

from advisor.cli import run
from tests.given_files import SMI_GPU, TOPO_M, nccl_topo, smi_xml
from tests.trees import write_tree

BUS = "/sys/bus/pci/devices/0000:3b:00.0"


@pytest.fixture
def tree(tmp_path: Path) -> str:
    write_tree(
        tmp_path / "tree", {f"{BUS}/class": "0x030200\n", f"{BUS}/vendor": "0x10de\n", f"{BUS}/numa_node": "1\n"}
    )
    return str(tmp_path / "tree")


def given(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_probe_fills_in_the_gpu_and_never_writes_the_files_name(
    tree: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smi = given(tmp_path, "node17.xml", smi_xml(SMI_GPU))
    topo = given(tmp_path, "node17.txt", TOPO_M.replace("\t0-47,96-143\t0\t\tN/A", ""))
    out = tmp_path / "out"
    assert run(["probe", "--root", tree, "--nvidia-smi-xml", smi, "--topo-m", topo, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "1 x NVIDIA H100 80GB HBM3; driver 550.90.07" in shown
    assert "Cut        file: topo-m.txt: what it says of GPU0 is not whole" in shown
    text = (out / "facts.json").read_text()
    told = json.loads(text)["facts"]["gpu"]["gpus"][0]
    assert told["memory_total_bytes"] == 81559 << 20
    assert "temperature_celsius" not in told
    assert "node17" not in text


def test_what_differs_is_shown(tree: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smi = given(tmp_path, "smi.xml", smi_xml(SMI_GPU.replace("3B:00.0", "5E:00.0")))
    assert run(["probe", "--root", tree, "--nvidia-smi-xml", smi, "--out", str(tmp_path / "out")]) == 0
    assert (
        "Differs    GPUs, pci_address: here 0000:3b:00.0, there 0000:5e:00.0 (file: nvidia-smi.xml); kept the host's"
        in capsys.readouterr().out
    )


def test_rules_see_what_the_file_tells(tree: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    smi = given(tmp_path, "smi.xml", smi_xml(SMI_GPU.replace("<uuid>", "<serial>GPU is lost</serial><uuid>")))
    assert run(["explain", "fallen-off-the-bus", "--root", tree, "--nvidia-smi-xml", smi]) == 0
    assert "GPU 0 at 0000:3b:00.0 no longer answers" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["probe"], ["check"], ["render"], ["explain", "persistence-off"], ["tune"]], ids=lambda c: c[0]
)
@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--nvidia-smi-xml", "<html></html>", "it holds <html>, not <nvidia_smi_log>; such a file comes from"),
        ("--topo-m", "\x1b]0;x\x07nothing", "is not the output of nvidia-smi topo -m"),
        ("--nccl-topo", "", "is not XML: line 1: no element found"),
    ],
    ids=["an error page", "no matrix", "empty"],
)
def test_a_wrong_file_is_one_sentence(
    command: list[str], option: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = given(tmp_path, "wrong\n.txt", text)
    assert run([*command, option, path]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert "\x1b" not in told


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    with open(tmp_path / "large", "wb") as large:
        large.truncate(1 << 30)
    for name, said in (("fifo", "not a regular file"), (".", "not a regular file"), ("large", "is larger than")):
        assert run(["check", "--topo-m", str(tmp_path / name)]) == 2
        assert said in capsys.readouterr().err


def test_a_capture_says_where_the_file_is_to_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capture", str(tmp_path / "dest"), "--topo-m", given(tmp_path, "topo.txt", TOPO_M)]) == 2
    assert "advisor check --root CAPTURE --topo-m FILE" in capsys.readouterr().err
    assert not (tmp_path / "dest").exists()


def test_facts_of_an_earlier_run_are_not_mixed_with_a_file(
    tree: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["probe", "--root", tree, "--quiet", "--out", str(tmp_path / "out")]) == 0
    nccl = given(tmp_path, "nccl.xml", nccl_topo())
    assert run(["check", "--facts", str(tmp_path / "out/facts.json"), "--nccl-topo", nccl]) == 2
    assert "--facts and --nccl-topo exclude each other" in capsys.readouterr().err
