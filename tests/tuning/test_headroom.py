"""What holds a loop up, told from its parts before any search."""

import pytest

from advisor.model.trial import Config, Measurement, Part, Trial
from advisor.tuning.headroom import diagnose, enough
from advisor.tuning.statistics import unpaired_ratio

ALONE, WORKERS = Config(0, None, 32), Config(4, 2, 32)
CPU, WAITS = (
    {"cpu_seconds_per_sample": 9e-3, "blocked_seconds_per_sample": 1e-3},
    {
        "cpu_seconds_per_sample": 1e-4,
        "blocked_seconds_per_sample": 1e-2,
    },
)


def ran(rate: float, part: Part = "loop", config: Config = WORKERS, wait: float | None = 0.5, **notes: float) -> Trial:
    rates = (rate * 0.999, rate, rate * 1.001)
    measured = Measurement("ok", samples_per_second=rates, wait_share=wait, step_seconds=(0.1,), notes=notes)
    return Trial(0, config, measured, part=part)


def step(rate: float, part: Part = "cached") -> Trial:
    return ran(rate, part, ALONE)


@pytest.mark.parametrize(
    ("parts", "verdict", "said"),
    [
        pytest.param([step(101)], "compute", "better loader gains nothing", id="the-step-is-no-faster"),
        pytest.param([step(200), ran(110, "loader", **CPU)], "CPU preprocessing", "9 ms of CPU time", id="cpu"),
        pytest.param([step(200), ran(110, "loader", **WAITS)], "storage", "10 ms of waiting", id="waiting"),
        pytest.param([step(200), step(120, "copied")], "copy", "pin memory", id="the-copy"),
        pytest.param([step(200), ran(900, "loader", **CPU)], "interference", "4.5 times", id="interference"),
        pytest.param(
            [step(200), ran(210, "loader", **CPU), ran(90, "cold")], "storage", "read before", id="only-warm-is-fast"
        ),
        pytest.param([step(200)], "unknown", "not told", id="no-loader-measured"),
        pytest.param([step(200), ran(900, "loader", ALONE, **CPU)], "CPU preprocessing", "", id="other-workers"),
    ],
)
def test_the_parts_tell_what_holds_the_loop_up(parts: list[Trial], verdict: str, said: str) -> None:
    diagnosis = diagnose(ran(100), parts, trained=True)
    assert diagnosis.verdict == verdict
    assert said in diagnosis.says
    assert diagnosis.most is not None
    assert "95 % interval" in diagnosis.says


def test_a_few_slow_samples_are_told_from_interference() -> None:
    loop = ran(100, step_p99_over_median=9.0)
    assert diagnose(loop, [step(200), ran(900, "loader", **CPU)], trained=True).verdict == "tail samples"


@pytest.mark.parametrize(
    ("share", "verdict", "told"),
    [
        pytest.param({}, "storage", False, id="not-known"),
        pytest.param({"read_bytes_share": 0.9}, "storage", False, id="from-the-disk"),
        pytest.param({"read_bytes_share": 0.02}, "CPU preprocessing", True, id="from-the-cache"),
    ],
)
def test_a_cold_part_that_the_page_cache_served_says_nothing_of_storage(
    share: dict[str, float], verdict: str, told: bool
) -> None:
    cold = ran(90, "cold", **share)
    diagnosis = diagnose(ran(100), [step(200), ran(210, "loader", **CPU), cold], trained=True)
    assert diagnosis.verdict == verdict
    assert ("came from the page cache all the same" in diagnosis.says) is told


def test_waiting_is_no_storage_where_the_page_cache_served_the_data() -> None:
    for share, verdict in ((0.02, "unknown"), (0.5, "storage")):
        loader = ran(110, "loader", **WAITS, read_bytes_share=share)
        diagnosis = diagnose(ran(100), [step(200), loader], trained=True)
        assert diagnosis.verdict == verdict
        assert "10 ms of waiting" in diagnosis.says
        assert ("what it waits for was not seen" in diagnosis.says) is (verdict == "unknown")


@pytest.mark.parametrize(
    ("baseline", "trained", "said"),
    [
        pytest.param(ran(1), True, "at most +100%", id="half"),
        pytest.param(ran(1, wait=0.01), True, "waits 1.0% of its time for data: a better", id="hardly"),
        pytest.param(ran(1, wait=1.0), True, "the loop did nothing but wait for data", id="all"),
        pytest.param(ran(1), False, "the loader was measured alone", id="no-training-step"),
        pytest.param(ran(1, wait=None), True, "the loader was measured alone", id="not-told"),
        pytest.param(Trial(0, ALONE, Measurement("killed")), True, "could not be measured: killed", id="killed"),
        pytest.param(None, True, "the baseline was not measured", id="never-run"),
    ],
)
def test_without_the_step_alone_waiting_tells_what_it_can(baseline: Trial | None, trained: bool, said: str) -> None:
    diagnosis = diagnose(baseline, [], trained)
    assert said in diagnosis.says
    assert diagnosis.most is None


def test_a_loop_that_waits_is_searched_even_if_its_step_seems_no_faster() -> None:
    for wait, done in ((0.01, True), (0.5, False)):
        loop = ran(100, wait=wait)
        assert enough(diagnose(loop, [step(101)], trained=True), loop) is done


def test_windows_that_differ_too_much_tell_nothing() -> None:
    loop = Trial(0, WORKERS, Measurement("ok", samples_per_second=(10.0, 100.0, 190.0), wait_share=0.5))
    diagnosis = diagnose(loop, [step(120)], trained=True)
    assert diagnosis.verdict == "unknown"
    assert diagnosis.says.startswith(
        "whether the training step alone is faster than the loop cannot be told, windows differ too much (95 % interval"
    )
    assert not enough(diagnosis, loop)


def test_the_interval_is_wider_than_that_of_the_windows_as_parts_are_not_measured_in_turn() -> None:
    most = diagnose(ran(100), [step(200)], trained=True).most
    assert most is not None
    assert most.low is not None
    assert 1.85 < most.low < 2 / 1.05


def test_windows_of_two_trials_give_an_interval() -> None:
    ratio = unpaired_ratio((99.0, 100.0, 101.0), (49.5, 50.0, 50.5))
    assert ratio.value == pytest.approx(2.0)
    assert ratio.excludes_one()
    assert unpaired_ratio((100.0,), (50.0, 51.0)).low is None
    assert unpaired_ratio((100.0, 100.0), (50.0, 50.0)).low == pytest.approx(2.0)
