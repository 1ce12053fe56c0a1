"""What is written for a node is the same whether it is written on the node or from its capture."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.cli import run
from tests.gpu_node import gpu_node

WISHES = (
    *("sysctl:vm.max_map_count=262144", "limits:*/soft/nofile=65536"),
    *("env:OMP_NUM_THREADS=4", "dataloader:num_workers=8"),
)


def written(root: str, out: Path, *more: str) -> Mapping[str, str]:
    wishes = [word for wish in WISHES for word in ("--set", wish)]
    assert run(["render", "--root", root, "--out", str(out), "--ranks", "8", "--quiet", *wishes, *more]) == 0
    return {
        path.relative_to(out).as_posix(): path.read_text()
        for folder in ("host", "job", "suggested")
        for path in sorted((out / folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("more", [(), ("--no-redact",)], ids=["redacted", "as it is"])
def test_a_gpu_node_and_its_capture(tmp_path: Path, more: tuple[str, ...]) -> None:
    made = gpu_node(8, 2, 2, 2, 12)
    made.put("/proc/sys/vm", max_map_count=65530)
    node = str(made.write(tmp_path / "node"))
    assert run(["capture", str(tmp_path / "capture.tar.gz"), "--root", node, "--quiet", *more]) == 0
    here = written(node, tmp_path / "here")
    assert {"host/etc/sysctl.d/90-advisor.conf", "job/env.sh"} <= set(here)
    assert written(str(tmp_path / "capture.tar.gz"), tmp_path / "there") == here


def test_this_machine_and_its_capture(tmp_path: Path) -> None:
    assert run(["capture", str(tmp_path / "capture"), "--quiet"]) == 0
    here = written("/", tmp_path / "here")
    assert "job/env.sh" in here
    assert written(str(tmp_path / "capture"), tmp_path / "there") == here
