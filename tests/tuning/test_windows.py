"""What a trial says of waiting and of the cost of a sample, from what its windows saw."""

from typing import Any

import pytest

from advisor.tuning.measuring import Figures, Window
from advisor.tuning.windows import cost_of_a_sample, wait_share


def window(**changes: Any) -> Window:
    usual: dict[str, Any] = {
        "steps": 100,
        "samples": 1000,
        "seconds": 10.0,
        "wait_seconds": 5.0,
        "median_step_seconds": 0.1,
        "workers_cpu_seconds": 2.0,
        "workers_delay_seconds": 1.0,
        "device_busy_seconds": None,
        "whole": True,
    }
    return Window(**{**usual, **changes})


def figures(*windows: Window, **changes: float) -> Figures:
    usual: dict[str, Any] = {"loading_wall_seconds": 1.0, "loading_cpu_seconds": 0.2, "loading_samples": 100}
    return Figures(windows=windows, **{**usual, **changes})


def test_on_a_cpu_waiting_is_the_time_in_the_loader() -> None:
    assert wait_share((window(), window(wait_seconds=1.0))) == pytest.approx(0.3)


def test_with_an_accelerator_waiting_is_the_time_it_had_no_step() -> None:
    """The loop waits for data while the device still works on the step before."""
    assert wait_share((window(wait_seconds=9.0, device_busy_seconds=9.5),)) == pytest.approx(0.05)
    assert wait_share((window(device_busy_seconds=10.1),)) == 0.0


def test_without_workers_a_sample_costs_what_the_loop_saw() -> None:
    cost = cost_of_a_sample(figures(window(), loading_delay_seconds=0.3), workers=0)
    assert cost["cpu_seconds_per_sample"] == pytest.approx(0.002)
    assert cost["blocked_seconds_per_sample"] == pytest.approx(0.005)


def test_workers_that_always_have_work_tell_how_long_a_sample_blocks() -> None:
    """Two workers in ten seconds: 20 s, less 2 of CPU, 1 without a CPU, 0.1 of handing over, for 1000 samples."""
    cost = cost_of_a_sample(figures(window()), workers=2)
    assert cost["cpu_seconds_per_sample"] == pytest.approx(0.002)
    assert cost["blocked_seconds_per_sample"] == pytest.approx(0.0169)


@pytest.mark.parametrize(
    "seen",
    [window(wait_seconds=0.5), window(wait_seconds=2.5)],
    ids=["the loop hardly waits", "the loop is busy with taking batches out"],
)
def test_workers_that_wait_for_work_do_not_tell_it(seen: Window) -> None:
    assert "blocked_seconds_per_sample" not in cost_of_a_sample(figures(seen), workers=2)


def test_figures_that_cannot_be_are_not_told() -> None:
    assert cost_of_a_sample(figures(window(workers_cpu_seconds=-1.0)), workers=2) == {}
    assert cost_of_a_sample(figures(window(), loading_samples=0), workers=0) == {}
