"""Spreads and paired intervals."""

import math
import random

import pytest

from advisor.tuning.statistics import Ratio, interleaved_ratio, separate_ratio, spread, t_quantile


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], 0.0, id="none"),
        pytest.param([5.0], 0.0, id="one-tells-nothing"),
        pytest.param([100.0, 100.0, 100.0], 0.0, id="all-equal"),
        pytest.param([98.0, 100.0, 102.0], 0.029652, id="three"),
        pytest.param([98.0, 99.0, 100.0, 101.0, 10.0], 1.4826 / 99, id="one-outlier-does-not-matter"),
    ],
)
def test_spread_is_robust(values: list[float], expected: float) -> None:
    assert spread(values) == pytest.approx(expected)


def by_round(*rates: float) -> dict[int, float]:
    return dict(enumerate(rates, 1))


def test_a_steady_ratio_has_a_narrow_interval() -> None:
    ratio = interleaved_ratio(by_round(200.0, 201.0, 199.0), by_round(100.0, 100.0, 100.0))
    assert ratio.value == pytest.approx(2.0, rel=1e-3)
    assert ratio.excludes_one()
    assert ratio.low is not None
    assert ratio.high is not None
    assert 1.95 < ratio.low < ratio.value < ratio.high < 2.05


def test_drift_that_both_share_cancels_out() -> None:
    ratio = interleaved_ratio(by_round(110.0, 55.0, 220.0), by_round(100.0, 50.0, 200.0))
    assert ratio.low == pytest.approx(1.1)
    assert ratio.high == pytest.approx(1.1)


def test_only_rounds_of_both_count() -> None:
    ratio = interleaved_ratio({1: 300.0, 3: 600.0}, {1: 100.0, 2: 50.0, 3: 200.0})
    assert ratio.rounds == 2
    assert ratio.value == pytest.approx(3.0)
    assert ratio.low == pytest.approx(3.0)


def test_one_round_gives_no_interval() -> None:
    ratio = interleaved_ratio(by_round(300.0), by_round(100.0), [by_round(300.0), by_round(100.0)])
    assert ratio.value == pytest.approx(3.0)
    assert (ratio.low, ratio.high, ratio.rounds) == (None, None, 1)
    assert not ratio.excludes_one()


def test_a_noisy_small_gain_does_not_exclude_one() -> None:
    assert not interleaved_ratio(by_round(104.0, 99.0, 106.0), by_round(100.0, 101.0, 100.0)).excludes_one()


def test_no_rounds_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no round in common"):
        interleaved_ratio({1: 100.0}, {2: 100.0})


def drawn(dice: random.Random, speed: float, rounds: int, noise: float = 0.03) -> dict[int, float]:
    return by_round(*(speed * math.exp(dice.gauss(0, noise)) for _ in range(rounds)))


def test_the_interval_of_a_pair_covers_the_truth_about_as_often_as_it_says() -> None:
    dice, covered, repeats = random.Random(3), 0, 2000
    for _ in range(repeats):
        ratio = interleaved_ratio(drawn(dice, 1.2, 4), drawn(dice, 1.0, 4))
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= 1.2 <= ratio.high
    assert 0.93 < covered / repeats < 0.97


@pytest.mark.parametrize("rounds", [3, 5])
def test_of_several_that_are_equally_fast_the_luckiest_is_seldom_told_to_be_faster(rounds: int) -> None:
    dice, claimed, repeats = random.Random(4), 0, 1000
    for _ in range(repeats):
        today, *others = compared = [drawn(dice, 1.0, rounds) for _ in range(4)]
        luckiest = max(others, key=lambda rates: sum(rates.values()))
        ratio = interleaved_ratio(luckiest, today, compared)
        claimed += ratio.low is not None and ratio.low > 1
    assert claimed / repeats < 0.035  # above one, of the 5 % on both sides


def test_the_noise_of_all_that_were_compared_makes_few_rounds_tell_more() -> None:
    dice, narrower = random.Random(5), 0
    for _ in range(200):
        today, ours, *_ = compared = [drawn(dice, speed, 3) for speed in (1.0, 1.3, 1.3, 1.2)]
        alone, beside = interleaved_ratio(ours, today), interleaved_ratio(ours, today, compared)
        assert alone.value == beside.value
        assert alone.low is not None
        assert beside.low is not None
        narrower += beside.low > alone.low
    assert narrower > 120


def test_a_pair_that_is_noisier_than_the_others_keeps_its_own_noise() -> None:
    steady = [by_round(100.0, 100.1, 99.9), by_round(101.0, 101.2, 100.9)]
    today, ours = by_round(100.0, 90.0, 110.0), by_round(110.0, 130.0, 105.0)
    assert not interleaved_ratio(ours, today, [today, ours, *steady]).excludes_one()


@pytest.mark.parametrize(
    ("speed", "more"),
    [(1.06, []), (1.3, [[100.0, 70.0], [100.0, 140.0]]), (1.1, [])],
    ids=["little", "much, on a noisy node", "usual noise"],
)
def test_one_run_does_not_show_a_gain_that_noise_can_make(speed: float, more: list[list[float]]) -> None:
    ratio = separate_ratio([100 * speed], [100.0, 101.0], [[100 * speed], [100.0, 101.0], *more], 2)
    assert ratio.value == pytest.approx(speed, rel=0.01)
    assert not ratio.excludes_one()


def test_one_run_shows_a_large_gain() -> None:
    ratio = separate_ratio([180.0], [100.0, 101.0], [[180.0], [100.0, 101.0], [150.0, 156.0]], 2)
    assert ratio.low is not None
    assert ratio.low > 1.4


@pytest.mark.parametrize("intervals", [1, 3])
def test_the_quantiles_are_those_of_students_t(intervals: int) -> None:
    from scipy.stats import t

    degrees = range(1, 40)
    expected = [t.ppf(1 - 0.025 / intervals, n) for n in degrees]
    assert [t_quantile(n, intervals) for n in degrees] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("ratio", "vague"),
    [(Ratio(1.2, 0.3, 4.9, 3), True), (Ratio(1.2, 0.6, 2.3, 3), False), (Ratio(1.2, None, None, 1), False)],
)
def test_an_interval_that_tells_nothing_is_vague(ratio: Ratio, vague: bool) -> None:
    assert ratio.is_vague() is vague
