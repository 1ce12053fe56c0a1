"""What the baseline alone tells."""

import pytest

from advisor.model.trial import Measurement
from advisor.tuning.headroom import headroom


def ran(wait: float | None) -> Measurement:
    return Measurement("ok", samples_per_second=(1.0,), wait_share=wait, step_seconds=(0.1,))


@pytest.mark.parametrize(
    ("measurement", "trained", "said"),
    [
        pytest.param(ran(0.5), True, "waits 50% of its time for data: a better loader gains at most +100%", id="half"),
        pytest.param(ran(0.01), True, "waits 1.0% of its time for data: a better loader gains nothing", id="hardly"),
        pytest.param(ran(1.0), True, "the loop did nothing but wait for data", id="all"),
        pytest.param(ran(0.99), False, "the loader was measured alone", id="no-training-step"),
        pytest.param(ran(None), True, "the loader was measured alone", id="not-told"),
        pytest.param(Measurement("killed"), True, "the baseline could not be measured: killed", id="killed"),
        pytest.param(None, True, "the baseline was not measured", id="never-run"),
    ],
)
def test_the_headroom_is_told_in_one_sentence(measurement: Measurement | None, trained: bool, said: str) -> None:
    assert said in headroom(measurement, trained)
