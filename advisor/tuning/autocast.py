"""Whether the step in ``torch.autocast`` is worth measuring loops with, where the operator asked to look. Pure.

Autocast changes numerics, so nothing here is looked at unasked, and nothing under OUT turns it on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.model.trial import AutocastType, Trial
from advisor.tuning.choice import LEAST_GAIN, ratio_text
from advisor.tuning.cost import rate
from advisor.tuning.settings import YOURS_TO_VALIDATE
from advisor.tuning.statistics import unpaired_ratio


@dataclass(frozen=True)
class Autocast:
    """What the step alone showed."""

    amp: AutocastType | None = None
    """What further points are measured with; ``None``: the step stays as the job has it."""
    says: str = ""


def autocast(parts: Sequence[Trial], asked: AutocastType | None, batch: int | None) -> Autocast:
    """The verdict on the type ``asked`` for, by the step alone on micro-batches of today's size, ``batch``."""
    if asked is None:
        return Autocast()
    steps = [t for t in parts if t.part == "cached" and t.config.batch_size == batch]
    cast = [t for t in steps if t.config.amp == asked]
    ours, theirs = _fastest(cast), _fastest([t for t in steps if t.config.amp is None])
    name = f"torch.autocast({asked})"
    if cast and ours is None:
        failed = cast[-1].measurement
        return Autocast(None, f"the step does not run in {name} ({failed.outcome}: {failed.message}): measured without")
    if ours is None or theirs is None:
        return Autocast(None, f"what {name} brings is not known: the step alone was not measured with and without it")
    gain = unpaired_ratio(ours.measurement.samples_per_second, theirs.measurement.samples_per_second)
    if gain.value < 1 + LEAST_GAIN or not gain.excludes_one():
        return Autocast(
            None, f"{name} brings nothing here: the step alone measured {ratio_text(gain)} in it; measured without"
        )
    return Autocast(
        asked,
        f"the step alone measured {ratio_text(gain)} in {name}, backward pass included; {YOURS_TO_VALIDATE}, and it is "
        "the job's own step that turns it on",
    )


def _fastest(trials: Sequence[Trial]) -> Trial | None:
    """Disturbances only ever slow down."""
    return max((t for t in trials if rate(t.measurement)), key=lambda t: rate(t.measurement) or 0.0, default=None)
