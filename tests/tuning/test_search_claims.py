"""How often a search claims a gain where there is none: on nodes whose runs differ, whatever the loader."""

import math
from pathlib import Path

import pytest

from advisor.model.trial import Config, Measurement, Part
from tests.tuning.simulated_machine import Machine, search

SEARCHES = 40


class AllAlike(Machine):
    """Every loop is as fast as every other, but for noise from run to run."""

    def __call__(self, config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        self.run_noise = math.exp(self.dice.gauss(0, 0.06))
        return super().__call__(config, part, windows)

    def seconds(self, config: Config, part: Part = "loop") -> float:
        return self.run_noise * (0.3e-3 if part == "cached" else 1e-3)


@pytest.mark.parametrize(("budget", "most"), [(60.0, 1), (150.0, 2)])
def test_gains_that_are_none_are_seldom_claimed(tmp_path: Path, budget: float, most: int) -> None:
    claimed = []
    for seed in range(SEARCHES):
        machine = AllAlike(cpu=0.2e-3, blocked=0.5e-3, step=0.3e-3, cpus=8.0)
        machine.dice.seed(seed)
        _, choice, _ = search(machine, tmp_path / str(seed), budget_seconds=budget)
        assert machine.now <= budget * 1.1 + machine.seconds_per_trial
        if choice.changes:
            claimed.append(choice.gain)
    assert len(claimed) <= most
