"""Data sets of few batches: epochs as they are, no more workers than batches, no micro-batch that never fills."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.commands._measured import Asked, Described, measure
from advisor.model.trial import Config, Measurement
from advisor.tuning.batching import Declared
from advisor.tuning.epochs import Epoch
from advisor.tuning.session import Limits
from advisor.tuning.space import Resources
from advisor.tuning.validity import Part
from tests.tuning.simulated_machine import Machine, search
from tests.tuning.trials import ALONE, ONE_WORKER, WORKERS, nothing_left, trial


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with nothing_left(monkeypatch) as folder:
        yield folder


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    "config", [ALONE, WORKERS, replace(ONE_WORKER, persistent_workers=False)], ids=["alone", "kept", "restarted"]
)
def test_epochs_are_measured_as_they_are(config: Config) -> None:
    measured = trial("Samples", config, epoch_samples=32)
    assert (measured.outcome, measured.message) == ("ok", "")
    samples = measured.notes["samples"]
    assert isinstance(samples, int)
    assert samples % 32 == 0
    assert int(measured.notes["epochs"]) > 0
    assert str(measured.notes["epoch"]).startswith("8 batches")
    assert "restart_seconds_per_epoch" not in measured.notes


@pytest.mark.usefixtures("temporary")
def test_a_last_batch_that_is_not_full_counts_as_what_it_is() -> None:
    measured = trial("ragged_epochs", WORKERS, epoch_samples=10)
    samples, steps = measured.notes["samples"], measured.notes["steps"]
    assert isinstance(samples, int)
    assert isinstance(steps, int)
    assert samples * 3 == steps * 10
    assert measured.warnings == ()


@pytest.mark.usefixtures("temporary")
def test_an_epoch_of_many_batches_has_no_end() -> None:
    measured = trial("Samples", ALONE, epoch_samples=64, window_seconds=0.05)
    assert "epoch" not in measured.notes
    assert measured.notes["epochs"] == 0


@pytest.mark.usefixtures("temporary")
def test_a_micro_batch_that_never_fills_gives_nothing() -> None:
    measured = trial("Samples", replace(ALONE, batch_size=65), epoch_samples=64)
    assert measured.outcome == "user-error"
    assert "64 samples, fewer than a micro-batch of 65: with drop_last its loader gives no batch" in measured.message


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    ("case", "held", "said"),
    [("filtered", 3, "makes batches of 3 out of 4 samples"), ("sequence_first", 4, None)],
)
def test_what_collating_makes_of_samples_is_counted(case: str, held: int, said: str | None) -> None:
    measured = trial(case)
    samples, steps = measured.notes["samples"], measured.notes["steps"]
    assert isinstance(steps, int)
    assert samples == held * steps
    assert len(measured.warnings) == (0 if said is None else 1)
    assert said is None or said in measured.warnings[0]


@pytest.mark.usefixtures("temporary")
def test_batches_without_samples_are_no_throughput() -> None:
    measured = trial("without_samples")
    assert measured.outcome == "user-error"
    assert "collate_fn gives batches without a sample" in measured.message


@pytest.mark.usefixtures("temporary")
def test_a_stream_that_can_be_iterated_only_once_is_measured_as_far_as_it_goes() -> None:
    measured = trial("Once", ALONE, window_seconds=60.0)
    assert (measured.outcome, measured.message) == ("ok", "")
    assert "only once" in str(measured.notes["end"])
    assert "window" not in measured.notes
    short = trial("once_briefly", ALONE)
    assert short.outcome == "user-error"
    assert "can be iterated only once" in short.message
    assert "before it gave one batch" not in short.message


def test_no_more_workers_are_tried_than_an_epoch_has_batches(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=5e-3)
    result, choice, _ = search(machine, tmp_path, Declared(batch_size=64), epoch=Epoch(150, drop_last=True))
    assert max(config.num_workers for config in machine.runs) == 2
    workers = next(p for p in result.space.parameters if p.name == "num_workers")
    assert workers.choices == (0, 1, 2)
    assert workers.why == "batches of an epoch (2 of 64 out of 150 samples of one rank)"
    assert choice.config is not None


@pytest.mark.parametrize(("drop_last", "batches", "note"), [(True, 0, "no batch at all"), (False, 1, "is full")])
def test_a_data_set_smaller_than_the_micro_batch_is_told(
    tmp_path: Path, drop_last: bool, batches: int, note: str
) -> None:
    tried = []

    def run(config: Config, part: str = "loop", windows: int = 3) -> Measurement:
        tried.append(config.batch_size)
        return Measurement("ok", samples_per_second=(100.0 + len(tried),) * 3)

    parts: dict[str, Part] = {"dataset": "d"}
    declared = Declared(batch_size=16, global_batch=128, has_step=True)
    described = Described("x.py:f", declared, 0, parts, samples=10, drop_last=drop_last)
    asked = Asked(ranks=1, global_batch=None, limits=Limits(max_trials=6))
    record, _ = measure(described, asked, parts, Resources(cpus=2.0), tmp_path, run, io.StringIO())
    told = [n for n in record.notes if "an epoch of one rank has 10 samples, fewer than the micro-batch of 16" in n]
    assert len(told) == 1
    assert note in told[0]
    assert max(tried) == 16
    assert Epoch(10, drop_last).batches(16) == batches


def test_an_epoch_of_a_rank_is_its_part_of_the_data_set() -> None:
    described = Described("x.py:f", Declared(), 0, {}, samples=1001)
    assert described.epoch(8) == Epoch(126, True)
    assert replace(described, samples=None).epoch(8) is None
    assert Epoch(126, True).batches(16) == 7
    assert Epoch(126, False).batches(16) == 8
