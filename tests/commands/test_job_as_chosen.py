"""The loader that a measurement chose is the job that rules judge, unless the operator told of another."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._assemble import NUMA_BINDING, TUNING_FILE, job_as_chosen
from advisor.model.job import Job
from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.bound import Bound
from advisor.tuning.choice import choose
from advisor.tuning.curve import measured_section
from advisor.tuning.record import SCHEMA_VERSION, Record, record_text
from advisor.tuning.validity import validity_key
from tests.trees import write_tree

BASE, FAST = Config(0, None, 32), Config(4, 3, 32)


def record(batch_bytes: int | None = 1 << 30) -> Record:
    rates = [(BASE, 100.0), (FAST, 300.0)] * 3
    trials = tuple(
        Trial(
            n,
            config,
            Measurement("ok", samples_per_second=(rate, rate + n), batch_bytes=batch_bytes),
            f"final {n // 2 + 1}",
        )
        for n, (config, rate) in enumerate(rates)
    )
    return Record(
        schema_version=SCHEMA_VERSION,
        validity_key=validity_key({}),
        validity={},
        basis="measured on a made-up workload",
        global_batch=32,
        global_batch_origin="--global-batch",
        ranks=1,
        baseline=BASE,
        headroom="none told",
        space=(),
        stopped="the end",
        choice=choose(trials, BASE),
        trials=trials,
    )


def test_what_was_chosen_fills_what_was_not_told() -> None:
    job = job_as_chosen(Job(ranks=8), record())
    assert (job.ranks, job.workers, job.prefetch_factor, job.batch_bytes) == (8, 4, 3, 1 << 30)
    assert (job.origins["workers"], job.origins["ranks"]) == (TUNING_FILE, "--ranks")
    assert (job.workers_measured, job.origins["workers_measured"]) == (True, TUNING_FILE)


@pytest.mark.parametrize(("measured", "kept"), [("socket", "socket"), ("node", "node"), ("$(x)", None), (3, None)])
def test_ranks_stay_bound_as_the_trials_were(measured: str | int, kept: str | None) -> None:
    found = replace(record(), validity={NUMA_BINDING: measured})
    assert job_as_chosen(Job(ranks=8), found).numa_binding == kept
    assert job_as_chosen(Job(ranks=8, workers=2), found).numa_binding is None


ONE, MANY = Config(num_workers=1, batch_size=32), Config(num_workers=24, batch_size=32)


@pytest.mark.parametrize(
    ("baseline", "rates", "measured"),
    [
        pytest.param(ONE, {ONE: 100.0, MANY: 300.0}, True, id="many are faster"),
        pytest.param(MANY, {ONE: 100.0, MANY: 300.0}, True, id="those of today are, fewer were tried"),
        pytest.param(MANY, {MANY: 300.0}, False, id="only diagnosed"),
        pytest.param(MANY, {ONE: 302.0, MANY: 300.0}, False, id="one does as well, and the change gains nothing"),
    ],
)
def test_workers_count_as_measured_only_where_fewer_were_slower(
    baseline: Config, rates: dict[Config, float], measured: bool
) -> None:
    trials = [
        Trial(n, config, Measurement("ok", samples_per_second=(rate,)), f"final {n + 1}")
        for n in range(3)
        for config, rate in rates.items()
    ]
    found = replace(record(), baseline=baseline, trials=tuple(trials), choice=choose(trials, baseline))
    job = job_as_chosen(Job(), found)
    assert (job.workers, job.workers_measured) == (24, measured)


def held(resource: str, workers: int, wanted: int) -> Record:
    """A record of a search in which nothing but the baseline, without workers, ran."""
    trials = (Trial(0, BASE, Measurement("ok", samples_per_second=(100.0,), batch_bytes=1 << 20)),)
    found = Bound(resource, workers, wanted, "said")
    return replace(record(), trials=trials, choice=choose(trials, BASE), bound=found)


def test_workers_that_a_resource_was_too_small_for_are_judged_instead_of_none() -> None:
    job = job_as_chosen(Job(ranks=1), held("shared memory", 0, 2))
    assert (job.workers, job.workers_measured, job.prefetch_factor, job.batch_bytes) == (2, False, 2, 1 << 20)
    assert job.origins["workers"] == TUNING_FILE


def test_no_workers_are_judged_where_none_are_of_use() -> None:
    assert job_as_chosen(Job(ranks=1), held("shared memory", 1, 1)).workers == 0
    chosen = replace(record(), bound=Bound("shared memory", 5, 9, "said"))
    assert job_as_chosen(Job(ranks=1), chosen).workers == 4  # they are there, and measured


def test_a_small_dev_shm_is_a_finding_although_it_kept_workers_out(tmp_path: Path) -> None:
    small = {"/proc/self/mountinfo": MACHINE["/proc/self/mountinfo"].replace("2097152k", "3072k")}
    write_tree(tmp_path / "host", MACHINE | small)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TUNING_FILE).write_text(record_text(held("shared memory", 0, 2)))
    assert verdict(tmp_path, "--ranks", "1", rule="memory/shm-too-small") == "fails"
    (tmp_path / "out" / TUNING_FILE).write_text(record_text(replace(held("shared memory", 0, 2), bound=None)))
    assert verdict(tmp_path, "--ranks", "1", rule="memory/shm-too-small") == "not-applicable"


@pytest.mark.parametrize("told", [Job(workers=2), Job(workers=0), Job(workers=2, batch_bytes=5)], ids=str)
def test_what_the_operator_told_stands(told: Job) -> None:
    assert job_as_chosen(told, record()) == told


def test_a_batch_that_the_operator_told_of_stands_beside_chosen_workers() -> None:
    job = job_as_chosen(Job(batch_bytes=5), record())
    assert (job.workers, job.batch_bytes, job.origins["batch_bytes"]) == (4, 5, "--batch-bytes")


def test_without_a_measurement_or_a_choice_the_job_is_as_told() -> None:
    nothing = replace(record(), choice=choose((), BASE))
    assert (job_as_chosen(Job(), None), job_as_chosen(Job(), nothing)) == (Job(), Job())


def test_a_batch_that_nobody_measured_is_not_known() -> None:
    assert job_as_chosen(Job(), record(batch_bytes=None)).batch_bytes is None


MACHINE = {
    "/proc/self/mountinfo": "30 1 0:27 / /dev/shm rw - tmpfs tmpfs rw,size=2097152k\n",
    "/proc/meminfo": "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n",
}
RULE = "memory/shm-below-planned-loaders"


def verdict(folder: Path, *more: str, rule: str = RULE) -> str:
    arguments = ["render", "--quiet", "--root", str(folder / "host"), "--out", str(folder / "out"), *more]
    assert run(arguments) == 0
    findings = json.loads((folder / "out/findings.json").read_text())["findings"]
    return next(one["verdict"] for one in findings if one["rule"] == rule)


def test_render_judges_the_loader_that_tune_chose(tmp_path: Path) -> None:
    write_tree(tmp_path / "host", MACHINE)
    (tmp_path / "out").mkdir()
    before = verdict(tmp_path, "--ranks", "8")
    (tmp_path / "out" / TUNING_FILE).write_text(record_text(record()))
    after = verdict(tmp_path, "--ranks", "8")
    assert before == "not-applicable"
    assert after != before
    assert verdict(tmp_path, "--ranks", "8", "--workers", "0") == "not-applicable"


def test_render_keeps_what_was_measured_in_the_report(tmp_path: Path) -> None:
    write_tree(tmp_path / "host", MACHINE)
    (tmp_path / "out").mkdir()
    verdict(tmp_path)
    report = tmp_path / "out/report.md"
    assert "## Measured" not in report.read_text()
    (tmp_path / "out" / TUNING_FILE).write_text(record_text(record()))
    verdict(tmp_path)
    assert report.read_text().endswith("\n" + measured_section(record()))
