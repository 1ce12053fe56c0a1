"""``--data-file-bytes`` and ``--checkpoint-bytes`` decide rules."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from tests.trees import write_capture

MOUNTS = "36 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw\n42 36 0:50 / /data rw - nfs4 filer:/d rw,rsize=1048576,hard\n"
LARGE, SPACE = "storage/nfs-read-ahead-below-request", "storage/checkpoint-space-below-two"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    files = {"/proc/self/mountinfo": MOUNTS, "/sys/class/bdi/0:50/read_ahead_kb": "128\n"}
    write_capture(tmp_path, files, statvfs={"/": [4096, 10**6, 10**5, 10**6, 9 * 10**5]})
    return tmp_path


def verdicts(node: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, str]:
    paths = ("--data", "/data/set", "--checkpoints", "/ckpt", "--fail-on", "never", "--format", "json")
    assert run(["check", "--root", str(node), *paths, *more]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    return {one["rule"]: one["verdict"] for one in found if one["rule"] in (LARGE, SPACE)}


def test_what_was_not_told_leaves_rules_open(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verdicts(node, capsys) == {LARGE: "unknown", SPACE: "unknown"}


@pytest.mark.parametrize(
    ("file_bytes", "checkpoint_bytes", "expected"),
    [("1073741824", "300000000", ("fails", "fails")), ("1000", "1000", ("holds", "holds"))],
)
def test_what_was_told_decides_them(
    node: Path, capsys: pytest.CaptureFixture[str], file_bytes: str, checkpoint_bytes: str, expected: tuple[str, str]
) -> None:
    told = ("--data-file-bytes", file_bytes, "--checkpoint-bytes", checkpoint_bytes)
    assert verdicts(node, capsys, *told) == dict(zip((LARGE, SPACE), expected, strict=True))


@pytest.mark.parametrize("option", ["--data-file-bytes", "--checkpoint-bytes"])
def test_a_size_is_a_positive_number(node: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert run(["check", "--root", str(node), option, "0"]) == 2
    assert option in capsys.readouterr().err
