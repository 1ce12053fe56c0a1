"""Whether the node became slower or faster while a search ran: the comparison measures again what was measured early.

Noise moves one configuration up and another down; what moves all of them the same way is the node. Pure.
"""

from collections.abc import Sequence
from statistics import median

from advisor.model.trial import Trial
from advisor.tuning.choice import Choice, round_of
from advisor.tuning.cost import rate

LEAST_DRIFT = 0.05
"""A smaller difference in the median is noise."""
LEAST_CONFIGURATIONS = 2
"""One alone may have been disturbed."""


def drift(trials: Sequence[Trial], choice: Choice) -> float | None:
    """How many times as fast as before the node was in the comparison; ``None``: as fast as before, or not told."""
    ratios = []
    for candidate in choice.candidates:
        before = [
            speed
            for trial in trials
            if trial.config == candidate.config and round_of(trial) is None and (speed := rate(trial.measurement))
        ]
        if before and candidate.rounds:
            ratios.append(candidate.samples_per_second / median(before))
    if len(ratios) < LEAST_CONFIGURATIONS or not (min(ratios) > 1 or max(ratios) < 1):
        return None
    middle = median(ratios)
    return middle if abs(middle - 1) > LEAST_DRIFT else None


def drift_note(trials: Sequence[Trial], choice: Choice) -> str | None:
    """What to say about it."""
    moved = drift(trials, choice)
    if moved is None:
        return None
    how = f"{moved - 1:.0%} faster" if moved > 1 else f"{1 - moved:.0%} slower"
    return (
        f"the node drifted: what was measured early in the search was {how} in the median when the comparison measured "
        "it again, and all of it moved the same way (other work, clocks, data that came into the page cache); the "
        "choice rests on the interleaved rounds of the comparison alone"
    )
