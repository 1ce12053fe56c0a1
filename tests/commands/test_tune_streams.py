"""``advisor tune`` on streams: whatever is known of how workers share one is in every file."""

import json
from pathlib import Path

import pytest

from advisor.cli import run

STREAM = """
import time
import torch
from advisor import Workload


class Lines(torch.utils.data.IterableDataset):
    def __iter__(self):
        for number in range(20_000):
            time.sleep(0.001)
            yield torch.full((16,), float(number))


def factory():
    return Workload(Lines(), batch_size=8)
"""


def test_a_stream_that_each_worker_gives_all_of_gets_one_worker_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "lines.py").write_text(STREAM)
    out = tmp_path / "OUT"
    command = ["tune", "--workload", f"{tmp_path}/lines.py:factory", "--out", str(out), "--ranks", "1"]
    assert run([*command, "--budget", "15s", "--allow-busy", "--max-trials", "4"]) == 0
    said = "each worker gives every sample of Lines once more"
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Note")]
    assert any(said in note and "torch.utils.data.get_worker_info()" in note for note in notes)
    record = json.loads((out / "tuning.json").read_text())
    assert {trial["config"]["num_workers"] for trial in record["trials"]} <= {0, 1}
    assert said in record["stream"]
    workers = next(p for p in record["space"] if p["name"] == "num_workers")
    assert workers["choices"] == [0, 1]
    assert said in (out / "report.md").read_text()
    assert said in (out / "job/dataloader.py").read_text().splitlines()[0]
    assert json.loads((out / "job/dataloader.json").read_text())["num_workers"] <= 1
    header = (out / "job/dataloader.py").read_text()
    assert run(["render", "--out", str(out)]) in (0, 1)
    assert (out / "job/dataloader.py").read_text() == header
