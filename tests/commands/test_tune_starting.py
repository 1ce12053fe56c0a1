"""Workers that cannot be forked, through ``advisor tune`` and through its trials: other ways of starting are tried."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._measured import Asked, measure
from advisor.commands._workload import Wanted, describe
from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.session import Limits
from advisor.tuning.space import Resources
from advisor.tuning.trial import run_trial

WORKLOADS = Path(__file__).resolve().parent.parent / "tuning" / "forked_workloads.py"
NOT_FORKED = sys.version_info >= (3, 14)
pytestmark = pytest.mark.skipif(NOT_FORKED, reason="a Python that stands in for one that forks its workers")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tune(factory: str, out: Path, budget: str, *options: str) -> int:
    command = ["tune", "--workload", f"{WORKLOADS}:{factory}", "--out", str(out), "--budget", budget, *options]
    return run([*command, "--allow-busy", "--ranks", "1", "--max-trials", "4"])


def test_workers_that_cannot_use_cuda_when_forked_are_started_by_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "OUT"
    assert tune("uses_cuda", out, "150s") == 0
    said = capsys.readouterr().out
    evidence = "forked workers, the default here, cannot use CUDA: w2 p2 b4 a1 ended with"
    assert f"Note      {evidence}" in said
    assert "w2 p2 b4 a1: user-error: RuntimeError: Cannot re-initialize CUDA" in said

    loader = json.loads((out / "job/dataloader.json").read_text())
    record = json.loads((out / "tuning.json").read_text())
    assert record["choice"]["config"]["multiprocessing_context"] == "forkserver"
    assert loader["multiprocessing_context"] == "forkserver"
    assert loader["num_workers"] == record["choice"]["config"]["num_workers"] > 0
    code = (out / "job/dataloader.py").read_text()
    assert "'multiprocessing_context': 'forkserver'" in code or '"multiprocessing_context": "forkserver"' in code
    assert evidence in code
    assert "the first batch comes after " in code
    report = (out / "report.md").read_text()
    assert f"- Note: {evidence}" in report

    files = {p: p.read_bytes() for p in (out / "tuning.json", *sorted((out / "job").iterdir()))}
    assert tune("uses_cuda", out, "150s") == 0
    assert "is used again" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in files} == files


def test_workers_that_cannot_be_sent_what_they_need_either_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "OUT"
    assert tune("uses_cuda_and_cannot_be_sent", out, "150s", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    told = next(note for note in document["notes"] if note.startswith("workers cannot be used here, so none are: "))
    assert "must be picklable" in told
    assert document["chosen"]["num_workers"] == 0
    assert document["chosen"]["multiprocessing_context"] is None
    loader = json.loads((out / "job/dataloader.json").read_text())
    assert loader["num_workers"] == 0
    assert "multiprocessing_context" not in loader


def test_workers_that_hang_when_forked_are_started_by_a_server(tmp_path: Path) -> None:
    """With trials of 20 s instead of the command's 30, most of which the hanging one sleeps away."""
    wanted = Wanted(f"{WORKLOADS}:hangs", None, sys.executable, None, 60.0)

    def measured(config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        return run_trial(replace(wanted.request(config, part, windows), seconds=20.0))

    described = describe(wanted)
    asked = Asked(ranks=1, global_batch=None, limits=Limits(budget_seconds=60.0, max_trials=2))
    record, _ = measure(described, asked, described.parts, Resources(cpus=2.0), tmp_path, measured, io.StringIO())
    hung = [t for t in record.parts if t.measurement.outcome != "ok"]
    assert [(t.config.multiprocessing_context, t.measurement.outcome) for t in hung] == [(None, "timed-out")]
    told = next(note for note in record.notes if "hang" in note)
    assert told.startswith("forked workers, the default here, hang: w1 p2 b4 a1 was not done in ")
    assert "; started by forkserver they run" in told
    started = [t for t in record.parts if t.config.multiprocessing_context == "forkserver"]
    assert [t.measurement.outcome for t in started] == ["ok"]
    assert started[0].measurement.notes["start_method"] == "forkserver"
    assert {t.config.multiprocessing_context for t in record.trials if t.config.num_workers} <= {"forkserver"}
