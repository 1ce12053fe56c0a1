"""What is chosen from measured trials, and what is claimed of it."""

from collections.abc import Sequence

import pytest

from advisor.model.trial import Config, Measurement, Outcome, Trial
from advisor.tuning.choice import choose, ratio_text, round_of
from advisor.tuning.statistics import Ratio

BASE = Config(0, None, 32)


def config(workers: int, prefetch: int = 2, batch: int = 32, accumulation: int = 1) -> Config:
    return Config(workers, prefetch, batch, accumulation, persistent_workers=True)


def trial(where: Config, rate: float, origin: str = "search", jitter: float = 0.001, outcome: Outcome = "ok") -> Trial:
    rates = (rate * (1 - jitter), rate, rate * (1 + jitter)) if outcome == "ok" else ()
    return Trial(0, where, Measurement(outcome, samples_per_second=rates), origin)


def rounds(where: Config, rates: Sequence[float]) -> list[Trial]:
    return [trial(where, rate, f"final {n}") for n, rate in enumerate(rates, start=1)]


def test_the_cheapest_within_noise_of_the_best_is_chosen() -> None:
    trials = [
        *rounds(BASE, [100, 101, 99]),
        *rounds(config(16), [1000, 1004, 996]),
        *rounds(config(8), [995, 999, 991]),
        *rounds(config(4), [600, 601, 602]),
    ]
    choice = choose(trials, BASE)
    assert choice.config == config(8)
    assert choice.changes
    assert choice.gain is not None
    assert choice.gain.value == pytest.approx(9.95, rel=0.01)
    assert "w16" in choice.why


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        pytest.param(config(2), config(4), id="fewer-workers"),
        pytest.param(config(4, 1), config(4, 2), id="less-prefetched"),
        pytest.param(config(2, 4), config(4, 2), id="same-bytes-fewer-workers"),
        pytest.param(config(4, batch=32), config(4, batch=16), id="todays-micro-batch-though-it-holds-more"),
        pytest.param(BASE, config(1, 1), id="no-workers"),
    ],
)
def test_at_the_same_speed_the_cheaper_wins(cheaper: Config, dearer: Config) -> None:
    baseline = Config(6, 8, 32)
    trials = [trial(baseline, 500), trial(dearer, 1000), trial(cheaper, 1000)]
    assert min(choose(trials, baseline).candidates, key=lambda c: c.config != cheaper).config == cheaper
    chosen = choose([*rounds(baseline, [500] * 3), *rounds(dearer, [1000] * 3), *rounds(cheaper, [1000] * 3)], baseline)
    assert chosen.config == cheaper


def test_a_gain_that_was_measured_once_is_not_claimed() -> None:
    choice = choose([trial(BASE, 100), trial(config(4), 150)], BASE)
    assert choice.config == BASE
    assert not choice.changes
    assert choice.why.startswith("no gain could be shown")


def test_a_gain_below_three_percent_is_not_worth_a_change() -> None:
    choice = choose([*rounds(BASE, [100, 100.1, 99.9]), *rounds(config(4), [102, 102.1, 101.9])], BASE)
    assert choice.config == BASE
    assert not choice.changes
    assert choice.gain is not None
    assert "nothing to gain: keep what you have" in choice.why


def test_a_gain_whose_interval_holds_none_is_not_claimed() -> None:
    choice = choose([*rounds(BASE, [100, 120, 90]), *rounds(config(4), [125, 100, 130])], BASE)
    assert choice.config == BASE
    assert not choice.changes
    assert choice.why.startswith("no gain could be shown: keep what you have; w4")


def test_a_lucky_trial_outside_the_comparison_does_not_decide() -> None:
    trials = [trial(config(12), 5000), *rounds(BASE, [100] * 3), *rounds(config(4), [300] * 3)]
    assert choose(trials, BASE).config == config(4)


def test_rounds_are_paired_by_number_when_one_failed() -> None:
    trials = [*rounds(BASE, [100, 50, 200]), trial(config(4), 300, "final 1"), trial(config(4), 600, "final 3")]
    trials.append(trial(config(4), 0, "final 2", outcome="killed"))
    choice = choose(trials, BASE)
    assert choice.gain is not None
    assert choice.gain.rounds == 2
    assert choice.gain.low == pytest.approx(3.0)


@pytest.mark.parametrize("outcome", ["out-of-memory", "no-space-in-shm", "timed-out", "user-error", "killed"])
def test_when_nothing_ran_nothing_is_chosen(outcome: Outcome) -> None:
    choice = choose([trial(BASE, 0, outcome=outcome)], BASE)
    assert choice.config is None
    assert choice.gain is None
    assert not choice.changes


def test_without_a_baseline_no_gain_is_told() -> None:
    choice = choose([trial(BASE, 0, outcome="timed-out"), trial(config(4), 100)], BASE)
    assert choice.config == config(4)
    assert choice.gain is None
    assert "baseline could not be measured" in choice.why


def test_a_baseline_that_was_compared_with_nothing_is_not_called_the_fastest() -> None:
    choice = choose([trial(BASE, 100), trial(config(4), 0, outcome="timed-out")], BASE)
    assert choice.config == BASE
    assert choice.why == "keep what you have: no other configuration was measured with success"


def test_noise_widens_what_counts_as_the_same() -> None:
    wide = choose([trial(BASE, 100, jitter=0.05), trial(config(4), 106, jitter=0.05)], BASE)
    assert wide.config == BASE
    assert wide.tolerance == pytest.approx(0.074, abs=0.001)


def test_rounds_narrow_what_counts_as_the_same() -> None:
    def compared(count: int) -> list[Trial]:
        return [
            trial(point, speed, origin=f"final {number}", jitter=0.05)
            for number in range(1, count + 1)
            for point, speed in ((BASE, 100.0), (config(4), 108.0))
        ]

    few, many = choose(compared(1), BASE), choose(compared(9), BASE)
    assert many.tolerance == pytest.approx(few.tolerance / 3)
    assert (few.config, many.config) == (BASE, config(4))


def test_what_was_measured_before_a_comparison_that_was_cut_short_counts_too() -> None:
    """One round has no interval; six windows of each that differ threefold have one."""
    searched = [trial(BASE, 100, jitter=0.05), trial(config(4), 300, jitter=0.05)]
    once = [*rounds(BASE, [100]), *rounds(config(4), [300])]
    choice = choose([*searched, *once], BASE)
    assert (choice.config, choice.changes) == (config(4), True)
    assert choice.gain is not None
    assert choice.gain.low is not None
    assert choice.gain.low < 3 / 1.05
    few = [trial(BASE, 100, jitter=0.05), trial(config(4), 104, jitter=0.01)]
    assert not choose([*few, *rounds(BASE, [100]), *rounds(config(4), [104])], BASE).changes


def test_noise_excuses_no_more_than_a_tenth() -> None:
    assert choose([trial(BASE, 100, jitter=0.5), trial(config(4), 130, jitter=0.5)], BASE).tolerance == 0.10


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.85, 1.8, 1.914, 3), "+85 % (95 % interval +80 % to +91 %)"),
        (Ratio(1.021, None, None, 1), "+2.1 % (measured once, no interval)"),
        (Ratio(3.54, 1e-5, 7e5, 2), "+254 % (too noisy to tell from 2 rounds)"),
        (Ratio(0.5, 0.4, 0.6, 3), "-50 % (95 % interval -60 % to -40 %)"),
    ],
    ids=["gain", "one-round", "noise", "loss"],
)
def test_a_ratio_is_told_with_its_interval(ratio: Ratio, text: str) -> None:
    assert ratio_text(ratio) == text


@pytest.mark.parametrize(
    ("origin", "number"), [("final 3", 3), ("final", None), ("search", None), ("final x", None), ("", None)]
)
def test_the_round_is_read_off_the_origin(origin: str, number: int | None) -> None:
    assert round_of(trial(BASE, 1, origin)) == number
