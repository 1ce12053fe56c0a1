"""What `advisor tune` says and writes of the batch: told, assumed, or one that the job cannot have."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands import _summary
from advisor.tuning.batching import Declared
from advisor.tuning.curve import measured_section
from tests.commands.simulated_tune import arguments, files, tuned

SAID = "assumed, as neither the workload nor --global-batch tells a batch"
HOW = "tell it by --global-batch N, or by batch_size of advisor.Workload"


def test_a_batch_that_nobody_told_is_said_to_be_assumed_wherever_it_is_told(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(has_step=True), ranks=64)
    written, text = files(record), _summary.text(record, None, None)
    assert f"Batch     global batch 4096 ({SAID}), ranks 64\n" in text
    assert f"Note      a batch size of 64 is {SAID}: the figures are those of such batches; {HOW}\n" in text
    assert f"a batch size of 64 is {SAID}" in measured_section(record)
    script = written["job/dataloader.py"]
    assert f"# batch_size:\n# assumed: nobody told it: neither the workload nor --global-batch; {HOW}\n" in script
    assert json.loads(written["job/dataloader.json"])["assumed"] == ["accumulation", "batch_size"]
    assert arguments(record)["DATALOADER"]["batch_size"] == 64
    assert {trial.config.batch_size for trial in record.trials} == {64}


@pytest.mark.parametrize(
    ("declared", "global_batch"),
    [(Declared(batch_size=64), None), (Declared(global_batch=64), None), (Declared(), 64)],
    ids=["batch-size", "global-batch", "option"],
)
def test_a_batch_that_somebody_told_is_not(tmp_path: Path, declared: Declared, global_batch: int | None) -> None:
    record = tuned(tmp_path, declared, global_batch=global_batch)
    assert "assumed" not in _summary.text(record, None, None) + "".join(files(record).values())
    assert record.validity != tuned(tmp_path, Declared()).validity


def test_a_record_that_does_not_say_what_was_told_is_read_as_before(tmp_path: Path) -> None:
    assert "assumed" not in "".join(files(replace(tuned(tmp_path, Declared()), told=None)).values())


JOB = """
from advisor import Workload

def factory():
    return Workload([0.0] * 100, batch_size=16)
"""


def test_a_global_batch_that_the_job_cannot_have_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "job.py").write_text(JOB)
    out = tmp_path / "OUT"
    command = ["tune", "--workload", f"{tmp_path / 'job.py'}:factory", "--out", str(out), "--allow-busy"]
    assert run([*command, "--ranks", "1", "--global-batch", "127"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "give --global-batch 112 or 128" in told.err.splitlines()[-1]
    assert not out.exists()
