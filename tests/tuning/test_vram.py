"""How the peak of a step grows with its micro-batch, from what was seen; and what does not fit. Figures in MiB."""

import pytest

from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.cost import Cost, learn
from advisor.tuning.space import Resources, hopeless, violations, worker_bound
from advisor.tuning.vram import (
    LEAST_FACTOR,
    Peak,
    Peaks,
    estimated_vram,
    fit,
    learn_peaks,
    limit_bytes,
    measured_vram,
    of_each,
    unknown_vram,
    with_room,
)

MIB, GIB = 1 << 20, 1 << 30
CNN = {1: 16.6, 2: 23.3, 4: 36.7, 8: 63.5, 16: 117.1, 32: 224.2}
TRANSFORMER = {1: 297.0, 2: 302.0, 4: 383.0, 8: 545.0, 16: 870.0, 32: 1519.0}
"""Both as accounted for with PyTorch 2.13; the second with 6 layers of 512 and Adam: up to 2 the update decides."""


def some(peaks: dict[int, float], *sizes: int) -> dict[int, float]:
    return {size: peaks[size] for size in sizes}


@pytest.mark.parametrize(
    ("peaks", "known", "asked"),
    [
        pytest.param(CNN, (1, 2), 32, id="a line needs two points"),
        pytest.param(CNN, (4, 16, 32), 1, id="downwards"),
        pytest.param(TRANSFORMER, (4, 8), 32, id="two points above the knee"),
        pytest.param(TRANSFORMER, (1, 4, 8), 32, id="the flat point is told from the line"),
        pytest.param(TRANSFORMER, (1, 2, 4, 8), 32, id="a point at the knee"),
        pytest.param(TRANSFORMER, (1, 8, 32), 16, id="between"),
        pytest.param(TRANSFORMER, (1, 8, 32), 1, id="the flat part itself"),
    ],
)
def test_an_unseen_micro_batch_is_predicted(peaks: dict[int, float], known: tuple[int, ...], asked: int) -> None:
    line = fit(some(peaks, *known))
    assert line is not None
    assert line.at(asked) == pytest.approx(peaks[asked], rel=0.02)


@pytest.mark.parametrize(
    ("known", "sure"),
    [
        pytest.param(some(CNN, 1, 2), False, id="two points may straddle the knee"),
        pytest.param(some(CNN, 1, 2, 4), True, id="three on a line"),
        pytest.param(some(TRANSFORMER, 1, 2), False, id="hardly a rise"),
        pytest.param(some(TRANSFORMER, 1, 4, 8), True, id="two that lie clearly above a flat one"),
        pytest.param({1: 100.0, 2: 100.0, 4: 100.0, 8: 200.0}, False, id="one alone above the flat part"),
        pytest.param({1: 100.0, 2: 100.5, 4: 99.8}, False, id="flat all the way"),
        pytest.param({8: 200.0, 16: 150.0, 32: 90.0}, False, id="falling"),
    ],
)
def test_a_line_is_sure_only_above_the_knee(known: dict[int, float], sure: bool) -> None:
    line = fit(known)
    assert line is not None
    assert line.sure is sure
    assert line.per_sample >= 0


def test_two_points_below_the_knee_promise_the_least_that_can_be() -> None:
    line = fit(some(TRANSFORMER, 1, 2))
    assert line is not None
    assert line.at(32) < TRANSFORMER[32]


@pytest.mark.parametrize("noise", [(1.01, 0.99, 1.0), (0.99, 1.01, 1.005)])
def test_noise_of_a_hundredth_changes_little(noise: tuple[float, float, float]) -> None:
    line = fit({size: TRANSFORMER[size] * factor for size, factor in zip((4, 8, 16), noise, strict=True)})
    assert line is not None
    assert line.at(32) == pytest.approx(TRANSFORMER[32], rel=0.05)


@pytest.mark.parametrize("known", [{}, {8: 545.0}])
def test_fewer_than_two_make_no_line(known: dict[int, float]) -> None:
    assert fit(known) is None


def ran(batch: int, reserved: float | None, part: str = "loop", outcome: str = "ok", **notes: int) -> Trial:
    peak = None if reserved is None else int(reserved * MIB)
    measured = Measurement(outcome, samples_per_second=(100.0,), peak_vram_bytes=peak, notes=notes)  # type: ignore[arg-type]
    return Trial(0, Config(batch_size=batch), measured, part=part)  # type: ignore[arg-type]


def held(batch: int, allocated: float, reserved: float, part: str = "loop") -> Trial:
    return ran(batch, reserved, part, vram_allocated_bytes=int(allocated * MIB))


def test_the_allocator_holds_more_than_tensors_take() -> None:
    peaks = learn_peaks([held(8, 545, 640), held(16, 870, 1044), held(4, 383, 400, "cached")])
    assert peaks.factor == pytest.approx(1.2)
    assert peaks.predicted(16) == pytest.approx(1044 * MIB)
    assert peaks.predicted(32) == pytest.approx(1.2 * TRANSFORMER[32] * MIB, rel=0.02)


def test_a_little_is_always_lost_to_fragments() -> None:
    assert learn_peaks([held(8, 545, 546), held(16, 870, 871)]).factor == LEAST_FACTOR
    assert learn_peaks([ran(8, 545), ran(16, 870)]).factor == LEAST_FACTOR


@pytest.mark.parametrize(("batch", "known"), [(8, True), (4, False), (16, False)])
def test_one_micro_batch_says_nothing_of_others(batch: int, known: bool) -> None:
    peaks = learn_peaks([held(8, 545, 640)])
    assert (peaks.predicted(batch) is not None) == known
    assert peaks.fits(16, 10 * GIB) is None
    assert peaks.fits(8, GIB) is True


def test_only_what_took_a_step_counts_and_the_most_of_it() -> None:
    trials = [ran(8, 2, "loader"), ran(8, 3, "cold"), ran(16, None), held(32, 100, 120), held(32, 110, 130, "cached")]
    trials.append(ran(64, 9000, vram_alloc_retries=3))
    assert [peak.reserved_bytes for peak in learn_peaks(trials).known] == [130 * MIB]


def test_beyond_a_line_that_is_not_sure_nothing_is_known_to_fit() -> None:
    peaks = learn_peaks([held(4, 383, 400), held(8, 545, 560)])
    assert peaks.fits(16, 10 * GIB) is None
    assert peaks.fits(16, GIB // 2) is False
    assert peaks.fits(4, GIB) is True
    assert learn_peaks([held(4, 383, 400), held(8, 545, 560), held(16, 870, 900)]).fits(32, 10 * GIB) is True


def test_the_micro_batch_that_is_not_accumulated_is_no_part_of_the_line() -> None:
    """Its gradients come as its activations go."""
    known = [Peak(size, int(TRANSFORMER[size] * MIB)) for size in (4, 8, 16)]
    peaks = Peaks((*known, Peak(32, 1450 * MIB, None, accumulates=False)))
    assert peaks.line == Peaks(tuple(known)).line
    assert peaks.predicted(32) == pytest.approx(1.05 * 1450 * MIB)


def test_what_others_and_the_context_take_is_left_to_them() -> None:
    assert limit_bytes(80 * GIB, 2 * GIB) == 70 * GIB
    assert limit_bytes(80 * GIB, 2 * GIB, ranks=2) == 35 * GIB
    assert limit_bytes(GIB, 2 * GIB) == 0


def test_a_point_that_cannot_fit_is_a_violation_whatever_its_workers() -> None:
    cost = learn([held(8, 545, 560), held(16, 870, 900)])
    room = Resources(cpus=8.0, vram_bytes=1024 * MIB)
    assert violations(Config(0, None, 32), room, cost)["accelerator memory"] > 0
    assert violations(Config(4, 2, 16), room, cost)["accelerator memory"] < 0
    assert violations(Config(0, None, 32), Resources(), cost) == {}
    assert worker_bound(Resources(cpus=8.0, vram_bytes=MIB), cost, 16)[0] == 8


def test_an_unknown_peak_is_no_violation() -> None:
    assert violations(Config(0, None, 4096), Resources(vram_bytes=MIB), Cost())["accelerator memory"] < 0


CUDA = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


@pytest.mark.parametrize(
    ("message", "asked", "refused"),
    [
        (CUDA, Config(0, None, 64), True),
        (CUDA, Config(0, None, 128), True),
        (CUDA, Config(16, 8, 32), False),
        ("RuntimeError: CUDA error: out of memory", Config(4, 2, 64), False),
        ("the trial's processes took 9 GiB, more than the limit of 8 GiB", Config(0, None, 64), False),
    ],
    ids=["fewer workers", "larger", "smaller", "perhaps pinned memory", "host memory is another matter"],
)
def test_a_full_accelerator_is_a_matter_of_the_micro_batch(message: str, asked: Config, refused: bool) -> None:
    failed = Trial(0, Config(8, 2, 64), Measurement("out-of-memory", message=message))
    assert (hopeless(asked, [failed]) is not None) == refused


def test_after_retries_larger_ones_are_hopeless_and_the_same_is_not() -> None:
    retried = ran(32, 900, vram_alloc_retries=2)
    assert hopeless(Config(4, 2, 64), [retried]) is not None
    assert hopeless(Config(4, 2, 32), [retried]) is None


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (ran(32, 900, vram_alloc_retries=2), "full 2 times"),
        (ran(32, 1100), "1.1 GiB of the accelerator's memory, more than the 1 GiB for steps"),
    ],
    ids=["retries", "too full"],
)
def test_what_leaves_too_little_is_out_of_memory(trial: Trial, said: str) -> None:
    judged = with_room(trial.measurement, GIB)
    assert judged.outcome == "out-of-memory"
    assert said in judged.message
    assert hopeless(Config(0, None, 32), [Trial(0, trial.config, judged)]) is not None


def test_what_leaves_enough_stays_as_it_was() -> None:
    for measured, limit in (
        (ran(32, 900).measurement, GIB),
        (ran(32, 9000).measurement, None),
        (ran(32, None).measurement, GIB),
        (ran(32, None, outcome="killed").measurement, GIB),
    ):
        assert with_room(measured, limit) is measured


def test_what_was_measured_is_told() -> None:
    trials = [held(size, TRANSFORMER[size], TRANSFORMER[size] * 1.1) for size in (4, 8, 16)]
    told = measured_vram(trials, GIB, (4, 8, 16, 32, 64))
    assert told is not None
    assert told.basis == "measured"
    assert told.left_out == (32, 64)
    assert "for each sample more; 1 GiB may be planned with, so 32, 64 were left out" in told.says
    assert told.per_sample_bytes == pytest.approx(40.6 * MIB, rel=0.02)
    assert measured_vram(trials, None, (4,)) is None
    assert measured_vram([ran(4, None)], GIB, (4,)) is None


def test_a_micro_batch_that_ran_is_not_called_left_out() -> None:
    """Today's may take more than is planned with, which is the user's choice."""
    trials = [held(16, 400, 440, "cached"), held(32, 800, 880, "cached"), held(64, 1600, 1760)]
    told = measured_vram(trials, GIB, (16, 32, 64, 128))
    assert told is not None
    assert told.left_out == (128,)
    assert told.says.endswith("so 128 was left out")


def test_one_is_not_told_as_several() -> None:
    told = measured_vram([held(1, 400, 440), ran(1, 440, vram_alloc_retries=1)], GIB, (1,))
    assert told is not None
    assert "440 MiB with 1 sample in a micro-batch; it was full 1 time with today's" in told.says
    assert "was full 1 time, and" in with_room(ran(1, 440, vram_alloc_retries=1).measurement, GIB).message


def test_retries_of_todays_micro_batch_are_told() -> None:
    told = measured_vram([ran(32, 900, vram_alloc_retries=2)], GIB, (32, 64))
    assert told is not None
    assert told.basis == "unknown"
    assert told.says.startswith("the accelerator's memory was full 2 times with today's micro-batch")


def estimated(*sizes: int) -> dict[int, int]:
    return {size: int(TRANSFORMER[size] * MIB) for size in sizes}


def test_an_estimate_is_called_one_and_leaves_out_what_does_not_fit() -> None:
    told = estimated_vram(estimated(1, 4, 16, 32), GIB, (4, 8, 16, 32, 64, 128), today=8)
    assert told.basis == "estimated"
    assert told.left_out == (32, 64, 128)
    assert "within 10 % in PyTorch's own tests" in told.says
    assert [peak.batch_size for peak in told.peaks] == [1, 4, 16, 32]


def test_todays_micro_batch_is_never_left_out_but_told() -> None:
    told = estimated_vram(estimated(1, 4, 16, 32), GIB, (16, 32, 64), today=32)
    assert told.left_out == (64,)
    assert "today's micro-batch of 32 does not seem to fit" in told.says


def test_an_estimate_beyond_a_line_that_is_not_sure_is_not_known() -> None:
    told = estimated_vram(estimated(4, 8), 100 * GIB, (4, 8, 16), today=4)
    assert told.left_out == ()
    assert "of 16 it is not known" in told.says
    assert "no micro-batch was left out" in unknown_vram(GIB, "the workload has no step").says


def test_what_one_process_shows_lacks_what_several_need() -> None:
    told = estimated_vram(estimated(1, 4, 16, 32), GIB, (4, 8), today=4)
    assert of_each(told, 1) == told
    several = of_each(told, 8)
    assert several is not None
    assert several.says.endswith("come on top")
    unknown = unknown_vram(GIB, "the workload has no step")
    assert of_each(unknown, 8) == unknown
    assert of_each(None, 8) is None


def test_nothing_known_is_nothing_predicted() -> None:
    assert Peaks().predicted(8) is None
    assert Peaks().fits(8, GIB) is None
    assert Peaks((Peak(8, 100),)).predicted(8) == pytest.approx(105)
