"""What the baseline alone says: how much a better loader could bring at most."""

from advisor.model.trial import Measurement
from advisor.tuning.cost import rate

LEAST_WAIT = 0.03
"""A loop that waits less than this share of its time for data gains nothing from a better loader."""


def headroom(measurement: Measurement | None, trained: bool) -> str:
    """One sentence for the report, before any search; ``trained``: the loop did more than take batches."""
    if measurement is None:
        return "the baseline was not measured"
    if rate(measurement) is None:
        return f"the baseline could not be measured: {measurement.outcome}"
    share = measurement.wait_share
    if share is None or not trained:
        return "the loader was measured alone, without a training step: how fast it must be is not known (--step-time)"
    if share >= 1:
        return "the loop did nothing but wait for data"
    most = 1 / (1 - share) - 1
    if share < LEAST_WAIT:
        return f"the loop waits {share:.1%} of its time for data: a better loader gains nothing"
    return f"the loop waits {share:.0%} of its time for data: a better loader gains at most {most:+.0%}"
