"""CPUs left for launching kernels: by numbers that were worked out by hand."""

import math
from pathlib import Path

import pytest

from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.batching import Declared, baseline, batching
from advisor.tuning.cost import Cost
from advisor.tuning.launching import beyond, penalty, told, workers_cpus
from advisor.tuning.session import Job, Limits, Session
from advisor.tuning.space import Resources
from advisor.tuning.study import passing_study

COST = Cost(cpu_seconds=5e-3, blocked_seconds=0.0)


@pytest.mark.parametrize(
    ("workers", "speed", "cpus", "taken", "excess"),
    [
        pytest.param(16, 2400.0, 16.0, 12.0, 12.0 + 1.5 - 9.6, id="twelve-of-sixteen"),
        pytest.param(8, 1600.0, 16.0, 8.0, 0.0, id="eight-of-sixteen"),  # 9.5 of 9.6
        pytest.param(9, 1640.0, 16.0, 8.2, 0.1, id="a-little-too-many"),
        pytest.param(4, 9000.0, 8.0, 4.0, 0.7, id="no-worker-takes-more-than-one"),
        pytest.param(3, 600.0, 3.0, 3.0, 0.0, id="none-to-spare"),
        pytest.param(4, 800.0, 4.0, 4.0, 3.1, id="all-of-four"),
        pytest.param(16, 2400.0, None, 12.0, 0.0, id="cpus-not-known"),
        pytest.param(0, 200.0, 1.0, 0.0, 0.0, id="no-workers"),
    ],
)
def test_workers_and_launching_have_a_share_of_the_cpus(
    workers: int, speed: float, cpus: float | None, taken: float, excess: float
) -> None:
    config = Config(workers, 2 if workers else None, 32)
    assert workers_cpus(config, COST, speed) == pytest.approx(taken)
    assert beyond(config, COST, speed, cpus) == pytest.approx(excess)
    assert penalty(config, COST, speed, cpus) == pytest.approx(0.15 * excess / (cpus or 1.0))
    assert (told(config, COST, speed, cpus) is None) is (excess == 0.0)


def test_the_note_says_how_many_of_how_many() -> None:
    text = told(Config(16, 2, 32), COST, 2400.0, 16.0) or ""
    assert text.startswith("the workers take about 12 of the 16 CPUs of a rank")
    assert "beyond 60% of them" in text


def test_many_cpus_are_told_in_full() -> None:
    text = told(Config(160, 2, 32), COST, 24_000.0, 128.0) or ""
    assert text.startswith("the workers take about 120 of the 128 CPUs of a rank")


@pytest.mark.parametrize(("accelerated", "lost"), [(True, 0.15 * (14.4 + 1.5 - 9.6) / 16), (False, 0.0)])
def test_only_a_job_on_an_accelerator_expects_less_of_points_that_take_all_cpus(
    tmp_path: Path, accelerated: bool, lost: float
) -> None:
    """A step of 1/2880 s for each sample of 5 ms of CPU time: it takes 14.4 CPUs to feed it."""
    cut = batching(Declared(batch_size=32, has_step=True), 1, None)
    job = Job(baseline(Declared(), cut), cut, Resources(cpus=16.0), accelerated=accelerated, trained=True)
    session = Session(job, Limits(), passing_study(cut.choices), lambda *_: Measurement("killed"), lambda: 0.0)
    notes = {"cpu_seconds_per_sample": 5e-3, "blocked_seconds_per_sample": 0.0}
    session.trials = [Trial(0, Config(0, None, 32), Measurement("ok", samples_per_second=(187.0,), notes=notes))]
    session.parts = [Trial(1, Config(0, None, 32), Measurement("ok", samples_per_second=(2880.0,)), part="cached")]
    surrogate = session.surrogate()
    assert surrogate is not None
    many = session.point(64, 8, 32)
    assert surrogate.prior(many) == pytest.approx(math.log(2880) - lost, abs=2e-3)
    few = session.point(4, 2, 32)
    assert surrogate.prior(few) == pytest.approx(math.log(800), abs=0.05)
