"""A capture written by hand, as a collector without Python would: what it answers and what is wrong with it."""

import json
from pathlib import Path

import pytest

from advisor.errors import SourceError
from advisor.host.base import FileSystemUse, Limit, Output
from advisor.host.captured import open_root


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture with two files, a command and two things that were not to be had."""
    (tmp_path / "advisor-capture.json").write_text('{"version": 1, "root_user": false, "kernel": "6.12"}')
    (tmp_path / "fs/sys/class/net/eth0").mkdir(parents=True)
    (tmp_path / "fs/sys/class/net/eth0/mtu").write_text("1500\n")
    (tmp_path / "errors.tsv").write_text(
        "/sys/class/net/eth0/speed\tEINVAL\n/sys/firmware\tEACCES\n/sys/class/infiniband\tENOENT\n"
        "command: ethtool eth0\tENOENT\n/sys/class/net/eth0\tEACCES\tnames\nnvml\ttimed out\tnvml\n"
    )
    (tmp_path / "cmd").mkdir()
    for part, text in {"argv": "lsblk\n-J\n", "stdout": "{}\n", "stderr": "", "rc": "0\n"}.items():
        (tmp_path / f"cmd/lsblk.{part}").write_text(text)
    return tmp_path


def test_its_files_and_commands_answer(capture: Path) -> None:
    host = open_root(str(capture))
    assert (host.kind, host.root_user) == ("capture", False)
    assert host.text("/sys/class/net/eth0/mtu") == "1500"
    assert host.names("/sys/class/net") == ("eth0",)
    assert host.run(["lsblk", "-J"]) == Output(("lsblk", "-J"), 0, "{}\n")
    assert host.gaps == {}


def test_what_it_looked_for_in_vain_has_its_state(capture: Path) -> None:
    host = open_root(str(capture))
    assert host.text("/sys/class/net/eth0/speed") is None
    assert host.names("/sys/firmware") is None
    assert host.exists("/sys/class/infiniband") is False
    assert host.names("/sys/class/infiniband") is None
    assert host.exists("/sys/module/nvidia") is None
    assert host.run(["ethtool", "eth0"]) is None
    assert host.run(["lspci"]) is None
    assert host.nvml() is None
    assert host.gaps == {
        "/sys/class/net/eth0/speed": "unsupported",
        "/sys/firmware": "denied",
        "/sys/class/infiniband": "absent",
        "/sys/module/nvidia": "not captured",
        "command: ethtool eth0": "absent",
        "command: lspci": "not captured",
        "nvml": "timed out",
    }


def test_below_an_absent_folder_all_is_absent(capture: Path) -> None:
    host = open_root(str(capture))
    assert host.exists("/sys/class/infiniband/mlx5_0/ports") is False


def test_its_calls_answer(capture: Path) -> None:
    calls = {
        "statvfs": {"/": [4096, 10, 5, 100, 50]},
        "limits": {"memlock": [65536, None]},
        "affinity": [3, 1],
        "environment": {"NCCL_DEBUG": "INFO"},
        "nvml": {"gpus": []},
        "modes": {"/proc/irq/7/smp_affinity": 292},
        "exists": {"/dev/nvidia0": True},
    }
    (capture / "calls.json").write_text(json.dumps(calls))
    host = open_root(str(capture))
    assert host.statvfs("/") == FileSystemUse(4096, 10, 5, 100, 50)
    assert host.limit("memlock") == Limit(65536, None)
    assert host.affinity() == frozenset({1, 3})
    assert host.environment() == {"NCCL_DEBUG": "INFO"}
    assert host.nvml() == {"gpus": []}
    assert host.mode("/proc/irq/7/smp_affinity") == 0o444
    assert host.exists("/dev/nvidia0") is True
    assert host.data("/dev/nvidia0") is None
    assert host.gaps == {"/dev/nvidia0": "not captured"}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("advisor-capture.json", "{", "advisor-capture.json: "),
        ("advisor-capture.json", "[]", "advisor-capture.json: "),
        ("advisor-capture.json", "{}", "advisor-capture.json: version"),
        ("advisor-capture.json", '{"version": 2}', "version must be 1 but is 2"),
        ("calls.json", '{"affinity": "0-3"}', "calls.json: affinity"),
        ("calls.json", '{"secrets": 1}', "calls.json: secrets"),
        ("calls.json", "[" * 100_000, "calls.json: "),
        ("errors.tsv", "/sys/x\tENOENT\n/sys/y\tnope\n", "errors.tsv:2: 'nope' is no errno"),
        ("errors.tsv", "/sys/x", "errors.tsv:1: '' is no errno"),
        ("cmd/lsblk.rc", "one", "lsblk.rc must hold an exit status but holds 'one'"),
        ("cmd/lsblk.rc", "9" * 5000, "must hold an exit status"),
    ],
    ids=lambda value: None,
)
def test_a_broken_file_is_named(capture: Path, file: str, text: str, message: str) -> None:
    (capture / file).write_text(text)
    with pytest.raises(SourceError) as caught:
        open_root(str(capture))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_its_files_may_not_lie_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "advisor-capture.json").write_text('{"version": 1}')
    (tmp_path / "fs").symlink_to("/")
    with pytest.raises(SourceError, match="has its files in a folder fs"):
        open_root(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{}", "\0", "\x1b[31m", '{"version": "one"}'])
def test_messages_about_hostile_marks_are_printable(tmp_path: Path, text: str) -> None:
    (tmp_path / "fs").mkdir()
    (tmp_path / "advisor-capture.json").write_text(text)
    with pytest.raises(SourceError) as caught:
        open_root(str(tmp_path))
    assert str(caught.value).isprintable()
