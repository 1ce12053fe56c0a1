"""Spreads and paired intervals."""

import math
import random

import pytest

from advisor.tuning.statistics import T_975, paired_ratio, spread


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


def test_a_steady_ratio_has_a_narrow_interval() -> None:
    ratio = paired_ratio([200.0, 201.0, 199.0], [100.0, 100.0, 100.0])
    assert ratio.value == pytest.approx(2.0, rel=1e-3)
    assert ratio.excludes_one()
    assert ratio.low is not None
    assert ratio.high is not None
    assert 1.95 < ratio.low < ratio.value < ratio.high < 2.05


def test_drift_that_both_share_cancels_out() -> None:
    ratio = paired_ratio([110.0, 55.0, 220.0], [100.0, 50.0, 200.0])
    assert ratio.low == pytest.approx(1.1)
    assert ratio.high == pytest.approx(1.1)


def test_one_round_gives_no_interval() -> None:
    ratio = paired_ratio([300.0], [100.0])
    assert ratio.value == pytest.approx(3.0)
    assert ratio.low is None
    assert ratio.high is None
    assert not ratio.excludes_one()


def test_a_noisy_small_gain_does_not_exclude_one() -> None:
    assert not paired_ratio([104.0, 99.0, 106.0], [100.0, 101.0, 100.0]).excludes_one()


def test_no_rounds_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="no round in common"):
        paired_ratio([], [])


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    dice, covered, repeats = random.Random(3), 0, 2000
    for _ in range(repeats):
        ours = [1.2 * math.exp(dice.gauss(0, 0.03)) for _ in range(4)]
        theirs = [math.exp(dice.gauss(0, 0.03)) for _ in range(4)]
        ratio = paired_ratio(ours, theirs)
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= 1.2 <= ratio.high
    assert 0.93 < covered / repeats < 0.97


def test_the_quantiles_are_those_of_students_t() -> None:
    from scipy.stats import t

    assert pytest.approx([t.ppf(0.975, degrees) for degrees in range(1, 11)], abs=5e-4) == T_975
