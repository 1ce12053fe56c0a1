"""Measuring, keeping and using again, with simulated trials; and what is printed of it."""

import io
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.commands import _summary
from advisor.commands._interrupt import stoppable
from advisor.commands._measured import (
    Asked,
    Described,
    Earlier,
    basis,
    committed_parts,
    earlier,
    measure,
    resources,
    validity,
)
from advisor.commands._progress import Tale
from advisor.derived.budget import Budget
from advisor.errors import Interrupted
from advisor.model.finding import Finding, Position, Report, Severity
from advisor.model.scrubbing import Known, Scrubber
from advisor.model.trial import Config, Measurement, Trial
from advisor.model.trial import Part as Piece
from advisor.tuning.batching import Declared, batching
from advisor.tuning.progress import Ended, Said
from advisor.tuning.record import Record, parse_record, record_text
from advisor.tuning.session import Limits
from advisor.tuning.sharing import Sharing
from advisor.tuning.space import Resources
from advisor.tuning.validity import Part

DESCRIBED = Described("made/up.py:factory", Declared(batch_size=32), 0, {"dataset": "abc", "torch": "2.13.0"})
ASKED = Asked(ranks=1, global_batch=None, limits=Limits())


def sleepy(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
    """Two milliseconds of waiting a sample, hardly any CPU time."""
    rate = max(config.num_workers, 1) * 490.0
    notes = {"cpu_seconds_per_sample": 30e-6, "blocked_seconds_per_sample": 2e-3}
    if config.num_workers > 20:
        return Measurement("no-space-in-shm", message="No space left on device (28)")
    return Measurement("ok", samples_per_second=(rate, rate * 1.001, rate * 0.999), batch_bytes=2048, notes=notes)


def parts(**conditions: Part) -> dict[str, Part]:
    return validity(DESCRIBED, batching(DESCRIBED.declared, 1, None), conditions)


def searched(folder: Path, asked: Asked = ASKED, stream: io.StringIO | None = None) -> Record:
    record, ended = measure(DESCRIBED, asked, parts(), Resources(cpus=2.0), folder, sleepy, stream or io.StringIO())
    ended()
    return record


def test_a_search_ends_in_a_record_that_can_be_read_back(tmp_path: Path) -> None:
    record = searched(tmp_path)
    assert record.choice.config is not None
    assert record.choice.config.num_workers >= 8
    assert record.basis == "measured on made/up.py:factory, one rank"
    assert parse_record(record_text(record), "tuning.json") == record


def test_the_same_conditions_use_the_record_again(tmp_path: Path) -> None:
    text = record_text(searched(tmp_path / "studies"))
    (tmp_path / "tuning.json").write_text(text)
    found = earlier(tmp_path, parts(), 300.0)
    again, note = found.record, found.note
    assert again is not None
    assert record_text(again) == text
    assert note is not None
    assert "used again; --fresh measures again" in note


def test_other_conditions_measure_again_and_are_named(tmp_path: Path) -> None:
    (tmp_path / "tuning.json").write_text(record_text(searched(tmp_path / "studies")))
    found = earlier(tmp_path, {**parts(cpu_model="Other"), "torch": "2.14.0"}, 300.0)
    again, note = found.record, found.note
    assert again is None
    assert note is not None
    assert "(cpu_model, torch)" in note


@pytest.mark.parametrize("content", ["", "{}", "\x00", "[" * 99_999], ids=["empty", "object", "nul", "deep"])
def test_a_broken_record_measures_again_and_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "tuning.json").write_text(content)
    found = earlier(tmp_path, parts(), 300.0)
    again, note = found.record, found.note
    assert again is None
    assert note is not None
    assert "tuning.json" in note
    assert "measuring again" in note


def test_a_record_without_a_successful_trial_is_not_used_again(tmp_path: Path) -> None:
    record, _ = measure(
        DESCRIBED,
        ASKED,
        parts(),
        Resources(),
        tmp_path / "studies",
        lambda config, part, windows: Measurement("user-error", message="boom"),
        io.StringIO(),
    )
    (tmp_path / "tuning.json").write_text(record_text(record))
    found = earlier(tmp_path, parts(), 300.0)
    again, note = found.record, found.note
    assert again is None
    assert note is not None
    assert "no successful trial" in note


def test_no_earlier_run_has_nothing_to_say(tmp_path: Path) -> None:
    assert earlier(tmp_path, parts(), 300.0) == Earlier()


def test_a_finished_search_is_not_resumed(tmp_path: Path) -> None:
    searched(tmp_path)
    stream = io.StringIO()
    searched(tmp_path, stream=stream)
    assert "kept from an earlier run" not in stream.getvalue()


def test_an_unwritten_search_is_resumed_without_measuring(tmp_path: Path) -> None:
    measure(DESCRIBED, ASKED, parts(), Resources(cpus=2.0), tmp_path, sleepy, io.StringIO())
    stream = io.StringIO()
    searched(tmp_path, stream=stream)
    announced, first, *_ = stream.getvalue().splitlines()
    assert announced.startswith("measuring for at most 5 min 0 s")
    assert "baseline, kept from an earlier run" in first


def test_each_fresh_diagnosis_measures_again_and_a_search_goes_on_from_it(tmp_path: Path) -> None:
    diagnosis = replace(ASKED, fresh=True, limits=Limits(diagnose_only=True))
    streams = [io.StringIO() for _ in range(3)]
    for asked, stream in zip((diagnosis, diagnosis, ASKED), streams, strict=True):
        searched(tmp_path, asked, stream)
    assert ["kept from an earlier run" in stream.getvalue() for stream in streams] == [False, False, True]
    assert "trials used again from an earlier run: 1\n" in streams[2].getvalue()
    assert ["if a comparison needs it" in stream.getvalue() for stream in streams] == [False, False, True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_signal_stops_in_order_and_the_same_command_resumes(tmp_path: Path, number: signal.Signals) -> None:
    runs = []

    def interrupted(config: Config, part: Piece, windows: int) -> Measurement:
        runs.append(config)
        if len(runs) == 4:
            try:
                os.kill(os.getpid(), number)
            finally:
                # A second one, while a trial cleans up, must not disturb that.
                os.kill(os.getpid(), signal.SIGINT)
        return sleepy(config)

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="run the same command to resume"), stoppable():
        measure(DESCRIBED, ASKED, parts(), Resources(cpus=2.0), tmp_path, interrupted, io.StringIO())
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    stream = io.StringIO()
    record = searched(tmp_path, stream=stream)
    assert stream.getvalue().count("kept from an earlier run") == 3
    run = sorted([*record.trials, *record.parts], key=lambda trial: trial.number)
    assert [t.config for t in run[:3]] == runs[:3]


def test_a_node_that_became_slower_during_the_search_is_told(tmp_path: Path) -> None:
    """The comparison measures in single windows, and finds everything a fifth slower."""

    def slowing(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        measured = sleepy(config, part, windows)
        rates = [rate * (0.8 if windows == 1 else 1.0) for rate in measured.samples_per_second]
        return replace(measured, samples_per_second=tuple(rates))

    record, _ = measure(DESCRIBED, ASKED, parts(), Resources(cpus=2.0), tmp_path / "slowing", slowing, io.StringIO())
    assert any(note.startswith("the node drifted: ") and "20% slower" in note for note in record.notes)
    assert not any("drifted" in note for note in searched(tmp_path / "steady").notes)


@pytest.mark.parametrize(
    ("ranks", "text"),
    [(1, "measured on the x, one rank"), (8, "measured on the x, one rank of 8, extrapolated")],
)
def test_a_measurement_of_one_rank_says_that_it_is_extrapolated(ranks: int, text: str) -> None:
    assert basis(replace(DESCRIBED, title="the x"), ranks) == text


def test_a_rank_may_use_the_least_that_is_known() -> None:
    budget = Budget(
        cpus_per_rank=2.5,
        cpus_per_rank_at_most=4,
        memory_per_rank_bytes=100,
        memory_available_per_rank_bytes=60,
        shm_per_rank_bytes=50,
        open_files=1024,
        pids_left=900,
        ranks=4,
    )
    expected = Resources(cpus=2.5, memory_bytes=60, shm_bytes=50, files=1024, tasks=225)
    assert resources(budget) == expected


@pytest.mark.parametrize(
    ("budget", "cpus"),
    [(None, None), (Budget(), None), (Budget(cpus_per_rank_at_most=3), 3)],
    ids=["no", "empty", "bound"],
)
def test_what_is_not_known_of_a_rank_stays_unknown(budget: Budget | None, cpus: float | None) -> None:
    assert resources(budget) == Resources(cpus=cpus)


def finding(severity: Severity, verdict: str = "fails") -> Finding:
    return Finding("area/bad", "", verdict, severity, "source", "t", "m", ())  # type: ignore[arg-type]


def test_the_summary_tells_choice_gain_failures_review_and_files(tmp_path: Path) -> None:
    report = Report((finding("critical"), finding("warn"), finding("warn"), finding("info", "unknown")))
    text = _summary.text(searched(tmp_path), report, _summary.Files("OUT", 14, 5))
    rows = {line[:9].strip(): line[10:] for line in text.splitlines()}
    assert rows["Measured"] == "measured on made/up.py:factory, one rank"
    assert "global batch 32 (the workload's batch size times ranks), ranks 1" in rows["Batch"]
    assert rows["Baseline"] == "num_workers 0, batch_size 32: 490 samples/s"
    assert rows["Chosen"].startswith("num_workers ")
    assert "over the baseline" in rows["Gain"]
    assert "no-space-in-shm: No space left on device (28)" in rows["Failed"]
    assert rows["Review"] == "1 critical, 2 warn; 1 could not be told; see OUT/report.md"
    assert rows["Files"] == "OUT: 14 files, 5 of them changed"


def test_the_summary_tells_what_is_disputed_apart(tmp_path: Path) -> None:
    positions = (Position("on", "a page", "hot"), Position("off", "another", "cold"))
    report = Report((finding("warn"), replace(finding("info"), positions=positions)))
    text = _summary.text(searched(tmp_path), report, None)
    assert "Review    1 warn; authorities disagree about 1\n" in text
    document = json.loads(_summary.as_json(searched(tmp_path), report, None))
    assert (document["failing"], document["disputed"]) == (["area/bad"], ["area/bad"])
    assert document["verdict"] == "unknown"  # there is no step


def test_what_a_changed_micro_batch_means_and_what_holds_the_loop_up_are_told(tmp_path: Path) -> None:
    """A step that takes 10 ms whatever its batch, and a loader that is fast enough for any."""
    described = Described("x.py:f", Declared(batch_size=8, global_batch=64, has_step=True), 0, {})

    def stepping(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        size = config.batch_size or 1
        seconds = 1e-5 * size if part == "loader" else 10e-3
        notes = {} if part == "cached" else {"cpu_seconds_per_sample": 1e-6, "blocked_seconds_per_sample": 9e-6}
        rates = tuple(size / seconds * (1 + n / 1000) for n in range(windows))
        wait = None if part == "loader" else 0.01
        return Measurement("ok", samples_per_second=rates, wait_share=wait, step_seconds=(seconds,), notes=notes)

    record, _ = measure(described, ASKED, parts(), Resources(cpus=2.0), tmp_path, stepping, io.StringIO())
    assert record.choice.config is not None
    assert record.choice.config.batch_size == 64
    assert any("batch normalization" in note for note in record.notes)
    assert record.verdict == "compute"
    assert {trial.part for trial in record.parts} == {"cached", "loader"}
    assert parse_record(record_text(record), "tuning.json") == record


@pytest.mark.parametrize(("tail", "noted"), [(9.0, True), (5.0, False)], ids=["slow-samples", "even-samples"])
def test_another_order_of_batches_is_spoken_of_only_where_slow_samples_were_seen(
    tmp_path: Path, tail: float, noted: bool
) -> None:
    described = Described("x.py:f", Declared(batch_size=8, num_workers=4, has_step=True), 0, {})

    def uneven(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        speed = {"cached": 200.0, "loader": 900.0}.get(part, 100.0)
        notes = {"cpu_seconds_per_sample": 1e-3, "blocked_seconds_per_sample": 1e-4, "step_p99_over_median": tail}
        rates = tuple(speed * (1 + n / 1000) for n in range(windows))
        return Measurement("ok", samples_per_second=rates, wait_share=0.5, step_seconds=(0.1,), notes=notes)

    record, _ = measure(described, ASKED, parts(), Resources(cpus=8.0), tmp_path, uneven, io.StringIO())
    assert any("in_order=False" in note for note in record.notes) is noted
    assert "in_order" not in str(record.choice.config)


def test_the_summary_is_json_too(tmp_path: Path) -> None:
    record = searched(tmp_path)
    document = json.loads(_summary.as_json(record, Report(()), _summary.Files("OUT", 14, 5)))
    assert document["schema_version"] == 1
    assert document["baseline"]["samples_per_second"] == pytest.approx(490)
    assert document["chosen"]["num_workers"] == record.choice.config.num_workers  # type: ignore[union-attr]
    assert document["gain"]["low"] > 1
    assert document["failing"] == []


def test_a_diagnosis_claims_no_choice(tmp_path: Path) -> None:
    """One that goes on from an interrupted search knows more than the baseline."""
    record = searched(tmp_path)
    assert record.choice.changes
    document = json.loads(_summary.as_json(record, None, None, True))
    assert (document["chosen"], document["changes"], document["gain"], document["why"]) == (None, False, None, None)


def test_what_is_told_during_a_search_has_no_control_characters() -> None:
    tale = Tale(lambda: 0.0)
    assert tale.told(Said("\x1b[31mred")) == "\\x1b[31mred"
    lost = Trial(0, Config(), Measurement("killed", message="\x07"), "\x1b[2J")
    assert tale.told(Ended(lost)) == "trial 1: w0 p- b- a1 (\\x1b[2J): killed: \\x07"


def test_control_characters_of_a_workload_do_not_reach_the_terminal(tmp_path: Path) -> None:
    record, _ = measure(
        DESCRIBED,
        ASKED,
        parts(),
        Resources(),
        tmp_path,
        lambda config, part, windows: Measurement("user-error", message="\x1b[31mred\nline"),
        io.StringIO(),
    )
    text = _summary.text(record, None, None)
    assert "\x1b" not in text
    assert "no DataLoader settings are written" in text


@pytest.mark.parametrize(("budget", "told"), [(60.0, "30 s"), (300.0, "60 s"), (1500.0, None)])
def test_where_all_was_too_slow_a_longer_budget_is_advised(tmp_path: Path, budget: float, told: str | None) -> None:
    def slow(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        return Measurement("timed-out", message="not done within 30 s (last seen: warming up)")

    asked = replace(ASKED, limits=Limits(budget_seconds=budget))
    record, _ = measure(DESCRIBED, asked, parts(), Resources(cpus=2.0), tmp_path, slow, io.StringIO())
    advice = [note for note in record.notes if "with a longer --budget" in note]
    assert [note.partition(", ")[0] for note in advice] == ([] if told is None else [f"a trial had {told}"])


def test_conditions_lose_the_hosts_name_and_still_tell_folders_apart() -> None:
    scrubber = Scrubber.of(Known(names=("node17",)))
    one, other = (committed_parts(parts(data=f"/data/{name}", cpus=4), scrubber) for name in ("node17", "NODE17\udcff"))
    assert str(one["data"]).startswith("/data/HOSTNAME (")
    assert one["data"] != other["data"]
    assert {**one, "data": None} == {**other, "data": None} == parts(data=None, cpus=4)


def test_workers_that_repeat_each_other_are_not_in_the_baseline(tmp_path: Path) -> None:
    described = replace(DESCRIBED, declared=Declared(batch_size=32, num_workers=8))
    sharing = Sharing("repeats", "each worker gives every sample")
    record, _ = measure(
        described, ASKED, parts(), Resources(cpus=2.0), tmp_path, sleepy, io.StringIO(), sharing=sharing
    )
    assert {t.config.num_workers for t in record.trials} <= {0, 1}
    assert record.baseline.num_workers == 1
    assert any("the job's 8 workers would give each sample 8 times" in note for note in record.notes)
    assert record.header() == f"{record.basis}; each worker gives every sample"
    assert record.all_notes()[0] == "each worker gives every sample"
    assert parse_record(record_text(record), "tuning.json") == record


@pytest.mark.parametrize(
    ("message", "advised"),
    [
        ("not one window was measured within 30 s: the first batch came after 9.0 s, and 3 steps followed", True),
        ("not done within 30 s (last seen: measuring window 1 of 3)", True),
        ("not done within 30 s (last seen: loading train.py:factory)", False),
        ("not done within 30 s (last seen: loading the first batch)", False),
        ("DataLoader timed out after 25.7 seconds: a worker gave no batch", False),
    ],
)
def test_a_longer_budget_is_advised_only_where_steps_were_slow(tmp_path: Path, message: str, advised: bool) -> None:
    def ended(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        return Measurement("timed-out", message=message)

    record, _ = measure(DESCRIBED, ASKED, parts(), Resources(cpus=2.0), tmp_path, ended, io.StringIO())
    assert any("with a longer --budget" in note for note in record.notes) == advised
