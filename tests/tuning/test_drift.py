"""A node that became slower or faster during a search is told from noise."""

import pytest

from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.choice import choose
from advisor.tuning.drift import drift, drift_note

BASE, FEW, MANY = Config(0, None, 32), Config(2, 2, 32), Config(8, 2, 32)


def ran(config: Config, rate: float, origin: str) -> Trial:
    return Trial(0, config, Measurement("ok", samples_per_second=(rate * 0.99, rate, rate * 1.01)), origin)


def searched(**ratios: float) -> list[Trial]:
    """Three configurations measured at 100, 200 and 400, and again in three rounds at so many times that."""
    speeds = {"base": (BASE, 100.0), "few": (FEW, 200.0), "many": (MANY, 400.0)}
    early = [ran(config, speed, "baseline" if config == BASE else "model") for config, speed in speeds.values()]
    finals = [
        ran(speeds[name][0], ratio * speeds[name][1], f"final {number}")
        for number in (1, 2, 3)
        for name, ratio in ratios.items()
    ]
    return [*early, *finals]


@pytest.mark.parametrize(
    ("ratios", "moved"),
    [
        pytest.param({"base": 0.9, "few": 0.92, "many": 0.85}, 0.9, id="all-slower"),
        pytest.param({"base": 1.3, "few": 1.02, "many": 1.2}, 1.2, id="all-faster"),
        pytest.param({"base": 0.9, "few": 0.8}, 0.85, id="two-of-them"),
        pytest.param({"base": 0.9, "few": 1.1, "many": 0.8}, None, id="one-goes-the-other-way"),
        pytest.param({"base": 0.97, "few": 0.96, "many": 0.5}, None, id="hardly-in-the-median"),
        pytest.param({"base": 1.0, "few": 0.9, "many": 0.9}, None, id="one-did-not-move"),
        pytest.param({"few": 0.5}, None, id="one-alone"),
        pytest.param({}, None, id="no-comparison"),
    ],
)
def test_all_must_move_the_same_way_and_far_enough(ratios: dict[str, float], moved: float | None) -> None:
    trials = searched(**ratios)
    found = drift(trials, choose(trials, BASE))
    assert found == (None if moved is None else pytest.approx(moved))


def test_a_disturbed_run_and_a_failed_trial_do_not_count() -> None:
    """The better of two runs of a round stands for it, and the median of early trials for them."""
    trials = searched(base=1.0, few=1.0, many=1.0)
    trials += [ran(config, 10.0, "final 1") for config in (BASE, FEW, MANY)]
    trials += [Trial(0, config, Measurement("killed"), "repeat") for config in (BASE, FEW, MANY)]
    assert drift(trials, choose(trials, BASE)) is None


def test_it_is_said_how_much_and_what_the_choice_rests_on() -> None:
    trials = searched(base=0.9, few=0.92, many=0.85)
    note = drift_note(trials, choose(trials, BASE))
    assert note is not None
    assert "10% slower" in note
    assert "interleaved rounds of the comparison alone" in note
    faster = searched(base=1.2, few=1.3, many=1.1)
    assert "20% faster" in str(drift_note(faster, choose(faster, BASE)))
    assert drift_note(searched(), choose(searched(), BASE)) is None
