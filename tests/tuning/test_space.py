"""Where the search may look, and how the global batch is cut."""

import pytest

from advisor.errors import InputError
from advisor.model.trial import Config, Measurement, Outcome, Trial
from advisor.tuning.batching import Declared, baseline, batching, divisors
from advisor.tuning.cost import Cost, learn
from advisor.tuning.prediction import predicted, worker_counts
from advisor.tuning.space import Resources, hopeless, space, violations, worker_bound

GIB = 1024**3
SLEEPY = Cost(cpu_seconds=30e-6, blocked_seconds=2e-3, batch_bytes_per_sample=64)
BUSY = Cost(cpu_seconds=5e-3, blocked_seconds=1e-4, batch_bytes_per_sample=600_000)


@pytest.mark.parametrize(
    ("resources", "cost", "most", "reason"),
    [
        pytest.param(Resources(cpus=8.0), BUSY, 10, "CPUs of one rank (8)", id="cpu-bound"),
        pytest.param(Resources(cpus=2.5), BUSY, 3, "CPUs of one rank (2.5)", id="quota-of-two-and-a-half"),
        pytest.param(Resources(cpus=0.5), BUSY, 1, "CPUs", id="quota-below-one"),
        pytest.param(Resources(cpus=4.0), Cost(), 4, "CPUs", id="cost-not-known"),
        pytest.param(Resources(), BUSY, 1, "CPUs", id="nothing-known"),
        pytest.param(Resources(cpus=2.0), SLEEPY, 32, "waits 2 ms", id="waits-cap-32"),
        pytest.param(Resources(cpus=16.0), SLEEPY, 128, "waits 2 ms", id="waits-cap-8-per-cpu"),
        pytest.param(Resources(cpus=2.0), Cost(1e-3, 4e-3), 10, "waits 4 ms for 1 ms", id="waits-four-fifths"),
        pytest.param(Resources(cpus=2.0, files=256), SLEEPY, 7, "descriptors", id="few-descriptors"),
        pytest.param(Resources(cpus=64.0, shm_bytes=64 * 1024**2), BUSY, 0, "shared memory", id="docker-shm-of-64-mib"),
        pytest.param(Resources(cpus=64.0, memory_bytes=GIB), BUSY, 9, "memory of one rank", id="little-memory"),
    ],
)
def test_the_number_of_workers_is_bounded(resources: Resources, cost: Cost, most: int, reason: str) -> None:
    bound, why = worker_bound(resources, cost, 32)
    assert bound == most
    assert reason in why


def test_the_space_says_what_bounds_each_parameter() -> None:
    found = space(Resources(cpus=4.0), BUSY, (8, 16, 32))
    assert found.choices("num_workers") == (0, 1, 2, 3, 4, 5)
    assert found.choices("prefetch_factor") == (1, 2, 4, 8)
    assert found.choices("batch_size") == (8, 16, 32)
    assert all(parameter.why for parameter in found.parameters)


def test_violations_are_above_zero_only_where_something_is_short() -> None:
    resources = Resources(cpus=8.0, memory_bytes=64 * GIB, shm_bytes=GIB, files=100_000)
    needs = violations(Config(8, 8, 32), resources, BUSY)
    assert needs["shared memory"] > 0
    assert needs["memory"] < 0
    assert needs["descriptors"] < 0
    assert all(excess < 0 for excess in violations(Config(8, 2, 32), resources, BUSY).values())


def test_without_workers_no_shared_memory_is_needed() -> None:
    assert violations(Config(0, None, 1024), Resources(shm_bytes=1), BUSY)["shared memory"] < 0


def test_what_is_not_known_is_not_held_against_a_point() -> None:
    assert violations(Config(64, 8, 4096), Resources(), BUSY) == {}


@pytest.mark.parametrize(
    ("outcome", "tried", "asked", "refused"),
    [
        ("no-space-in-shm", Config(4, 4, 32), Config(8, 2, 32), True),
        ("no-space-in-shm", Config(4, 4, 32), Config(4, 2, 32), False),
        ("out-of-memory", Config(4, 2, 64), Config(4, 4, 64), True),
        ("out-of-memory", Config(4, 2, 64), Config(8, 8, 32), False),
        ("too-many-files", Config(4, 2, 64), Config(8, 2, 64), True),
        ("too-many-files", Config(4, 2, 64), Config(2, 2, 64), False),
        ("user-error", Config(4, 2, 64), Config(8, 8, 64), False),
        ("killed", Config(4, 2, 64), Config(8, 8, 64), False),
    ],
    ids=[
        "shm-same-bytes",
        "shm-fewer",
        "memory-more",
        "memory-smaller-batch",
        "files-more",
        "files-fewer",
        "user-error",
        "killed",
    ],
)
def test_more_of_what_ran_out_is_refused(outcome: Outcome, tried: Config, asked: Config, refused: bool) -> None:
    assert (hopeless(asked, [Trial(0, tried, Measurement(outcome))]) is not None) == refused


def test_the_cost_is_learnt_from_the_trial_with_fewest_workers() -> None:
    def ran(workers: int, cpu: float) -> Trial:
        notes = {"cpu_seconds_per_sample": cpu, "blocked_seconds_per_sample": 1e-3}
        measured = Measurement("ok", samples_per_second=(1.0,), batch_bytes=3200, notes=notes)
        return Trial(0, Config(workers, 2 if workers else None, 32), measured)

    cost = learn([ran(0, 9.0), ran(8, 5.0), ran(1, 2.0), Trial(0, Config(1, 2, 32), Measurement("killed"))])
    assert cost.cpu_seconds == 2.0
    assert cost.batch_bytes_per_sample == 100


def loaded(workers: int, batch: int, cpu: float, loop: float | None = None, sample_bytes: int = 0) -> Trial:
    """A trial that tells CPU seconds of a sample, of the worker and of the loop."""
    notes: dict[str, float | int | str] = {"cpu_seconds_per_sample": cpu, "blocked_seconds_per_sample": 1e-3}
    if loop is not None:
        notes["loop_cpu_seconds_per_sample"] = loop
    measured = Measurement("ok", samples_per_second=(1.0,), batch_bytes=batch * sample_bytes or None, notes=notes)
    return Trial(0, Config(workers, 2 if workers else None, batch), measured)


def test_what_a_worker_takes_beyond_the_loop_itself_is_handing_over() -> None:
    cost = learn([loaded(0, 8, 20e-6), loaded(1, 8, 60e-6)])
    assert cost.hand_over_seconds == pytest.approx(8 * 40e-6)
    assert cost.cpu_seconds == pytest.approx(20e-6)
    assert cost.alone_seconds == pytest.approx(1.02e-3)
    at_once = predicted(Config(1, 2, 64), cost, 8.0)
    assert at_once == pytest.approx(64 / (64 * 1.02e-3 + 8 * 40e-6), rel=0.01)
    assert predicted(Config(0, None, 64), cost, 8.0) == pytest.approx(1 / 1.02e-3)


def test_samples_that_are_slower_in_a_worker_are_not_all_handing_over() -> None:
    cost = learn([loaded(0, 32, 1e-3), loaded(1, 32, 2e-3)])
    assert cost.hand_over_seconds == pytest.approx(2e-3)
    assert cost.cpu_seconds == pytest.approx(2e-3 - 2e-3 / 32)


def test_the_loops_own_part_is_copied_bytes_and_a_constant_until_two_micro_batches_tell() -> None:
    one = learn([loaded(1, 10, 1e-3, 1e-3, sample_bytes=500_000)])
    assert one.loop_seconds_per_sample == pytest.approx(1e-4)
    assert one.loop_seconds == pytest.approx(10 * 1e-3 - 10 * 1e-4)
    two = learn([loaded(1, 10, 1e-3, 0.5e-3), loaded(1, 40, 1e-3, 0.2e-3)])
    assert (two.loop_seconds, two.loop_seconds_per_sample) == pytest.approx((4e-3, 1e-4))


def test_a_step_costs_what_kept_batches_show() -> None:
    """10 ms whatever the batch, and 1 ms for each sample."""

    def kept(batch: int) -> Trial:
        measured = Measurement("ok", samples_per_second=(batch / (10e-3 + batch * 1e-3),))
        return Trial(0, Config(batch_size=batch), measured, part="cached")

    assert learn([kept(8)]).step_seconds(16) == pytest.approx(36e-3)
    cost = learn([kept(8), kept(64)])
    assert cost.step_seconds(16) == pytest.approx(26e-3)
    assert cost.fixed_step_seconds == pytest.approx(10e-3)


def test_unknown_cost_predicts_nothing() -> None:
    assert predicted(Config(4, 2, 32), Cost(), 4.0) is None


@pytest.mark.parametrize(
    ("cost", "cpus", "workers", "samples_per_second"),
    [
        pytest.param(Cost(1e-3, 0.0, None, 1e-3), 8.0, 0, 500, id="one-after-the-other"),
        pytest.param(Cost(1e-3, 0.0), 8.0, 4, 4000, id="each-worker-adds"),
        pytest.param(Cost(1e-3, 0.0), 8.0, 16, 8000, id="cpus-used-up"),
        pytest.param(Cost(1e-5, 2e-3), 2.0, 16, 16 / 2.01e-3, id="waiting-takes-no-cpu"),
        pytest.param(Cost(1e-3, 0.0, None, 1e-3), 8.0, 8, 1000, id="the-step-sets-the-pace"),
        pytest.param(Cost(1e-3, 0.0, None, 1e-3, loop_seconds_per_sample=1e-3), 8.0, 8, 500, id="so-does-taking-out"),
    ],
)
def test_the_slowest_part_sets_the_pace(cost: Cost, cpus: float, workers: int, samples_per_second: float) -> None:
    expected = predicted(Config(workers, 2 if workers else None, 32), cost, cpus)
    assert expected == pytest.approx(samples_per_second, rel=0.02)


def test_more_ready_batches_even_out_what_is_just_fast_enough() -> None:
    cost = Cost(1e-3, 0.0, None, 0.5e-3)
    speeds = [predicted(Config(2, prefetch, 32), cost, 8.0) or 0.0 for prefetch in (1, 2, 4, 8)]
    assert speeds == sorted(speeds)
    assert speeds[0] < 0.95 * speeds[-1] < 2000


def test_many_workers_are_looked_at_in_steps() -> None:
    assert worker_counts(range(13)) == tuple(range(13))
    counts = worker_counts(range(257))
    assert counts[-1] == 256
    assert len(counts) < 50


@pytest.mark.parametrize("number", [1, 2, 12, 97, 1024])
def test_divisors_multiply_back(number: int) -> None:
    assert divisors(number) == tuple(n for n in range(1, number + 1) if number % n == 0)


@pytest.mark.parametrize(
    ("declared", "ranks", "asked", "total", "today", "origin"),
    [
        pytest.param(Declared(), 1, None, 64, 64, "assumed", id="nothing-told"),
        pytest.param(Declared(), 64, None, 4096, 64, "assumed", id="assumed-for-each-rank"),
        pytest.param(Declared(accumulation=4), 2, None, 512, 64, "assumed", id="only-accumulation-told"),
        pytest.param(Declared(batch_size=32), 4, None, 128, 32, "workload", id="batch-size-times-ranks"),
        pytest.param(Declared(batch_size=8, accumulation=4), 2, None, 64, 8, "workload", id="with-accumulation"),
        pytest.param(Declared(global_batch=256), 8, None, 256, 32, "workload", id="global-batch-declared"),
        pytest.param(Declared(batch_size=32), 1, 96, 96, 32, "--global-batch", id="option-wins"),
        pytest.param(Declared(accumulation=4), 2, 64, 64, 8, "--global-batch", id="accumulation-and-option"),
    ],
)
def test_the_global_batch_is_the_operators_else_the_workloads(
    declared: Declared, ranks: int, asked: int | None, total: int, today: int, origin: str
) -> None:
    cut = batching(declared, ranks, asked)
    assert (cut.global_batch, cut.today) == (total, today)
    assert origin in cut.origin
    for choice in cut.choices:
        assert choice * cut.accumulation(choice) * ranks == total


def test_a_loader_without_a_step_keeps_its_batch() -> None:
    assert batching(Declared(batch_size=32, global_batch=256), 1, None).choices == (32,)


def test_a_step_lets_the_micro_batch_vary() -> None:
    assert batching(Declared(batch_size=32, global_batch=256, has_step=True), 1, None).choices == (
        8,
        16,
        32,
        64,
        128,
        256,
    )


def test_a_batch_that_nobody_told_is_assumed_and_not_searched() -> None:
    cut = batching(Declared(has_step=True), 8, None)
    assert (cut.assumed, cut.choices) == (True, (64,))
    assert [note.partition(":")[0] for note in cut.notes] == [f"a batch size of 64 is {cut.origin}"]
    assert "tell it by --global-batch N, or by batch_size of advisor.Workload" in cut.notes[0]


@pytest.mark.parametrize("declared", [Declared(batch_size=32), Declared(global_batch=64)], ids=["batch", "global"])
def test_a_batch_that_somebody_told_is_not_called_assumed(declared: Declared) -> None:
    cuts = [batching(declared, 1, None), batching(Declared(), 1, 64)]
    assert [(cut.assumed, cut.notes) for cut in cuts] == [(False, ())] * 2


@pytest.mark.parametrize(
    ("declared", "ranks", "asked", "said"),
    [
        pytest.param(
            Declared(), 8, 100, r"\(100, --global-batch\) must be a multiple of the ranks \(8\): "
            "give --global-batch 96 or 104", id="ranks",
        ),
        pytest.param(Declared(), 8, 5, "give --global-batch 8 or another --ranks", id="fewer-than-ranks"),
        pytest.param(
            Declared(batch_size=16), 1, 127, r"of the ranks \(1\) times the job's micro-batch \(16\): "
            "give --global-batch 112 or 128, or correct batch_size of advisor.Workload", id="micro-batch",
        ),
        pytest.param(Declared(batch_size=12), 2, 64, "give --global-batch 48 or 72,", id="micro-batch-times-ranks"),
        pytest.param(Declared(batch_size=40), 1, 32, "give --global-batch 40,", id="less-than-one-micro-batch"),
        pytest.param(
            Declared(batch_size=12, global_batch=64), 1, None,
            r"\(64, the workload's\) .* give --global-batch 60 or 72,", id="declared-against-declared",
        ),
        pytest.param(
            Declared(accumulation=3), 1, 64, r"the job's accumulation \(3\): give --global-batch 63 or 66,",
            id="accumulation",
        ),
    ],
)  # fmt: skip
def test_a_global_batch_that_the_job_cannot_have_is_refused(
    declared: Declared, ranks: int, asked: int | None, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        batching(declared, ranks, asked)


def test_the_baseline_is_pytorchs_default_where_nothing_is_declared() -> None:
    assert baseline(Declared(), batching(Declared(), 1, None)) == Config(0, None, 64)


def test_the_baseline_is_what_the_job_declares() -> None:
    declared = Declared(num_workers=6, batch_size=16, pin_memory=True, has_step=True)
    assert baseline(declared, batching(declared, 2, 64)) == Config(6, 2, 16, 2, pin_memory=True)
