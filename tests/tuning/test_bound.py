"""What held workers down is named, with what it would have to be."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.commands import _summary
from advisor.errors import SourceError
from advisor.model.trial import Config, Measurement, Outcome, Trial
from advisor.tuning.batching import Declared
from advisor.tuning.bound import Bound, bound
from advisor.tuning.curve import measured_section
from advisor.tuning.record import parse_record, record_text
from advisor.tuning.space import Resources
from tests.commands.simulated_tune import files, tuned

MIB = 1 << 20
ALONE = Config(0, None, 64)
SLEEPY = {"cpu_seconds_per_sample": 40e-6, "blocked_seconds_per_sample": 2e-3, "tensors_per_batch": 2}
STEP = 2e-3 * 64 / 10
"""Ten workers keep it busy."""


def trials(*more: Trial) -> list[Trial]:
    """The baseline and its step alone, with batches of 3 MiB."""
    base = Measurement("ok", samples_per_second=(450.0,), batch_bytes=3 * MIB, notes=dict(SLEEPY))
    step = Measurement("ok", samples_per_second=(64 / STEP,), batch_bytes=3 * MIB)
    return [Trial(0, ALONE, base), Trial(1, ALONE, step, part="cached"), *more]


def found(room: Resources, *more: Trial, ranks: int = 1) -> Bound | None:
    return bound(room, trials(*more), ALONE, 64, ranks)


def test_shared_memory_is_named_with_the_size_that_workers_of_use_need() -> None:
    held = found(Resources(cpus=8.0, shm_bytes=3 * MIB))
    assert held is not None
    assert (held.resource, held.workers, held.wanted) == ("shared memory", 0, 8)  # no more than CPUs
    assert held.says == (
        "shared memory, and not CPUs, held num_workers down to 0: 10 workers may be of use, and with a prefetch factor "
        "of 2 need 83 MiB of /dev/shm, where 3 MiB can be had: start the container with --shm-size=83m or more, or "
        "mount a tmpfs as large there; its pages count towards the memory limit"
    )
    assert 0.8 * 83 * MIB >= (10 * 2 + 2) * 3 * MIB > 0.8 * 82 * MIB


def test_what_ranks_share_is_told_for_all_of_them() -> None:
    held = found(Resources(cpus=8.0, shm_bytes=3 * MIB), ranks=4)
    assert held is not None
    assert "in each of 4 ranks need 330 MiB of /dev/shm, where 12 MiB can be had" in held.says


@pytest.mark.parametrize(
    ("room", "resource", "said"),
    [
        pytest.param(Resources(cpus=2.0, memory_bytes=64 * MIB), "memory", "raise the memory limit", id="memory"),
        pytest.param(
            Resources(cpus=2.0, files=140), "descriptors", "where 140 are allowed: raise the limit", id="files"
        ),
        pytest.param(Resources(cpus=2.0, tasks=10), "processes", "where 10 are left: raise the limit", id="tasks"),
    ],
)
def test_each_resource_is_told_with_what_lifts_it(room: Resources, resource: str, said: str) -> None:
    held = found(room)
    assert held is not None
    assert held.resource == resource
    assert held.workers < 11
    assert said in held.says


def test_where_more_workers_would_gain_nothing_the_bound_is_no_shortage() -> None:
    held = found(Resources(cpus=2.0, shm_bytes=120 * MIB))
    assert held is not None
    assert held.workers >= 11
    assert held.wanted <= held.workers
    assert "no more seem to be of use" in held.says


@pytest.mark.parametrize(
    "room", [Resources(cpus=2.0), Resources(cpus=2.0, shm_bytes=4 << 30)], ids=["unknown", "ample"]
)
def test_where_cpus_bound_nothing_is_said(room: Resources) -> None:
    assert found(room) is None


@pytest.mark.parametrize(
    ("outcome", "ran", "resource"),
    [
        ("no-space-in-shm", False, "shared memory"),
        ("too-many-files", False, "descriptors"),
        ("user-error", False, None),
        ("no-space-in-shm", True, None),
    ],
    ids=["shm", "files", "no-resource", "fewer-ran"],
)
def test_workers_that_ran_out_at_once_were_held_down_too(outcome: Outcome, ran: bool, resource: str | None) -> None:
    failed = Trial(2, Config(2, 1, 64), Measurement(outcome, message="ran out"))
    fewer = (
        [Trial(3, Config(1, 1, 64), Measurement("ok", samples_per_second=(400.0,), notes=dict(SLEEPY)))] if ran else []
    )
    held = found(Resources(cpus=2.0), failed, *fewer)
    assert (held.resource if held else None) == resource
    if held is not None:
        assert (held.workers, held.wanted) == (0, 2)
        assert "w2 p1 b64 a1 ran out of it" in held.says


def test_terminal_report_and_files_tell_it(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(batch_size=64), room=Resources(cpus=2.0, shm_bytes=MIB))
    assert record.choice.config == record.baseline
    assert record.bound is not None
    said = "shared memory, and not CPUs, held num_workers down to 0"
    assert f"Note      {said}: " in _summary.text(record, None, None)
    assert f"- Note: {said}: " in measured_section(record)
    assert f"; {said} (see report.md) (measured on " in files(record)["job/dataloader.py"]


def test_a_bound_that_cannot_be_ours_is_refused(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(batch_size=64))
    wrong = replace(record, bound=Bound("memory", 0, 10**9, "said"))
    with pytest.raises(SourceError, match="bound: workers and wanted must be between 0 and 65536"):
        parse_record(record_text(wrong), "tuning.json")
