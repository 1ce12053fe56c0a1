"""``advisor tune --amp bfloat16``: what is measured, what is told, and what is written nowhere."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands import _summary
from advisor.commands._measured import Asked, Described, measure
from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.batching import Declared
from advisor.tuning.curve import measured_section
from advisor.tuning.record import Record, parse_record, record_text
from advisor.tuning.session import Limits
from advisor.tuning.space import Resources
from advisor.tuning.trial import TrialRequest, run_trial

WORKLOADS = Path(__file__).resolve().parent.parent / "tuning" / "autocast_workloads.py"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tune(factory: str, out: Path, *options: str) -> int:
    command = ["tune", "--workload", f"{WORKLOADS}:{factory}", "--out", str(out), "--allow-busy", "--ranks", "1"]
    return run([*command, *options])


@pytest.mark.parametrize(("amp", "outcome", "said"), [("bfloat16", "ok", ""), (None, "user-error", "not in autocast")])
def test_the_step_of_a_trial_is_in_autocast_and_the_optimizers_is_not(amp: str | None, outcome: str, said: str) -> None:
    config = replace(Config(batch_size=4), amp=amp)  # type: ignore[arg-type]
    measured = run_trial(TrialRequest(config, f"{WORKLOADS}:only_in_autocast", windows=1, window_seconds=0.1))
    assert measured.outcome == outcome, measured.message
    assert said in measured.message


def test_a_faster_step_is_measured_told_and_left_out_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "OUT"
    assert tune("faster", out, "--amp", "bfloat16", "--budget", "30s", "--max-trials", "2") == 0
    said = capsys.readouterr().out
    assert "in torch.autocast(bfloat16), backward pass included; " in said
    assert "; loops were measured with it, and the baseline without\n" in said
    assert "that training converges as before is yours to validate" in said
    record = json.loads((out / "tuning.json").read_text())
    assert record["validity"]["amp"] == "bfloat16"
    assert record["baseline"]["amp"] is None
    assert {p["config"]["amp"] for p in record["parts"] if p["part"] == "cached"} == {None, "bfloat16"}
    assert "torch.autocast(bfloat16)" in (out / "report.md").read_text().replace("\\", "")
    written = json.loads((out / "job/dataloader.json").read_text())
    assert "amp" not in written

    assert tune("faster", out, "--budget", "30s", "--diagnose-only") == 0  # it is not asked for now
    assert "torch.autocast" not in capsys.readouterr().out


def test_a_step_that_cannot_run_in_autocast_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "OUT"
    assert tune("never_in_autocast", out, "--amp", "bfloat16", "--budget", "30s", "--diagnose-only") == 0
    said = capsys.readouterr()
    assert "the step does not run in torch.autocast(bfloat16) (user-error: TypeError: the optimizer's" in said.out
    assert "measured without" in said.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("factory", "amp", "said"),
    [
        ("faster", "float16", "float16 needs loss scaling, which is in the job's own step; give bfloat16"),
        ("faster", "int8", "'int8' is not a type that can be measured; give bfloat16"),
        ("without_a_step", "bfloat16", "autocast_workloads.py:without_a_step has no training step to run in autocast"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], factory: str, amp: str, said: str
) -> None:
    assert tune(factory, tmp_path / "OUT", "--amp", amp) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert "--amp" in told.err
    assert told.out == ""
    assert not (tmp_path / "OUT").exists()


def test_a_time_beside_a_step_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("faster", tmp_path / "OUT", "--step-time", "5ms") == 2
    assert "has a training step of its own, which is measured; leave --step-time out" in capsys.readouterr().err


def searched(
    folder: Path, faster: float, cpus: float = 16.0, accelerators: int = 0, diagnose_only: bool = False
) -> Record:
    """A step of 1 ms a sample that is so many times faster in autocast, and a loader of 4 ms of CPU time a sample."""

    def simulated(config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        step = 1e-3 / (faster if config.amp else 1.0)
        feed = 4e-3 / config.num_workers if config.num_workers else 4e-3 + step
        seconds = step if part == "cached" else feed if part == "loader" else max(step, feed)
        notes = {} if part == "cached" else {"cpu_seconds_per_sample": 4e-3, "blocked_seconds_per_sample": 0.0}
        rates = tuple((1 + n / 1000) / seconds for n in range(windows))
        return Measurement("ok", samples_per_second=rates, step_seconds=(step,), wait_share=0.5, notes=notes)

    described = Described("x.py:f", Declared(batch_size=32, has_step=True), accelerators, {})
    asked = Asked(1, None, Limits(diagnose_only=diagnose_only), amp="bfloat16")
    record, _ = measure(described, asked, {}, Resources(cpus=cpus), folder, simulated, io.StringIO())
    return record


def test_the_choice_says_that_it_rests_on_autocast(tmp_path: Path) -> None:
    record = searched(tmp_path, faster=2.0)
    assert record.choice.config is not None
    assert record.choice.config.amp == "bfloat16"
    assert record.choice.config.num_workers >= 8
    text, report = _summary.text(record, None, None), measured_section(record)
    assert ", with the step in torch.autocast(bfloat16): " in text
    assert "the step alone measured +100 %" in text
    assert "Ceiling: the training step alone gives 2,00" in report
    assert "that training converges as before is yours to validate" in report
    assert parse_record(record_text(record), "tuning.json") == record
    assert json.loads(_summary.as_json(record, None, None))["chosen"]["amp"] == "bfloat16"


@pytest.mark.parametrize("diagnose_only", [True, False])
def test_loops_in_autocast_are_spoken_of_only_where_there_were_any(tmp_path: Path, diagnose_only: bool) -> None:
    record = searched(tmp_path, faster=2.0, diagnose_only=diagnose_only)
    assert record.notes[0].startswith("the step alone measured +100 %")
    assert ("loops were measured with it" in record.notes[0]) is not diagnose_only


def test_autocast_that_brings_nothing_is_a_note_with_its_figures(tmp_path: Path) -> None:
    record = searched(tmp_path, faster=1.01)
    assert {t.config.amp for t in record.trials} == {None}
    assert "torch.autocast(bfloat16) brings nothing here: the step alone measured +1.0 %" in record.notes[0]
    assert "autocast(" not in _summary.text(record, None, None).replace(record.notes[0], "")


@pytest.mark.parametrize(("accelerators", "noted"), [(1, True), (0, False)], ids=["gpu", "cpu"])
def test_workers_that_leave_launching_little_are_told_on_an_accelerator(
    tmp_path: Path, accelerators: int, noted: bool
) -> None:
    record = searched(tmp_path, faster=1.0, cpus=6.0, accelerators=accelerators)
    assert record.choice.config is not None
    assert record.choice.config.num_workers in (4, 5)
    assert any(note.startswith("the workers take about 4 of the 6 CPUs of a rank") for note in record.notes) is noted
