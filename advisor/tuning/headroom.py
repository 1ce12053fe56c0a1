"""How much a better loader could bring at most, and what holds the loop up: told before any search.

Compared are the loop as it is today, the step alone on batches that are kept (the ceiling of every loader), the same
with the copy to the accelerator, and the loader without a step. Pure.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from advisor.model.trial import Part, Trial
from advisor.tuning.cost import rate
from advisor.tuning.statistics import Ratio, unpaired_ratio

LEAST_WAIT = 0.03
"""A loop that could be faster by less than this share gains nothing from a better loader."""
AMPLE = 1.2
"""A loader that gives so many times what the step takes, and yet is waited for, is disturbed by the step."""
COPY_SHARE = 0.95
"""A step that falls below this share of its speed once its batches are copied is held up by the copy."""
CPU_SHARE = 0.7
"""Of the time that a sample takes: above it a worker computes, below it mostly waits."""
TAIL = 5.0
"""A loop whose slowest steps (99 of 100) take so many times as long as the median waits for some slow samples."""
CACHED = 0.1
"""Where a device gave less than this share of what was read, the page cache served the rest."""
NOT_SEEN = "; samples that no trial had read came from the page cache all the same, which says nothing of storage"
Verdict = Literal["unknown", "compute", "CPU preprocessing", "storage", "copy", "interference", "tail samples"]


@dataclass(frozen=True)
class Diagnosis:
    """What the measurements before a search say."""

    verdict: Verdict
    says: str
    """One sentence, with its interval."""
    most: Ratio | None = None
    """Speed of the step alone over that of the loop; ``None``: not measured, or there is no step."""


def diagnose(baseline: Trial | None, parts: Sequence[Trial], trained: bool) -> Diagnosis:
    """The verdict on ``baseline``, the loop of today; ``trained``: the loop does more than take batches."""
    if baseline is None:
        return Diagnosis("unknown", "the baseline was not measured")
    speed = rate(baseline.measurement)
    if speed is None:
        return Diagnosis("unknown", f"the baseline could not be measured: {baseline.measurement.outcome}")
    if not trained:
        told = "the loader was measured alone, without a training step: how fast it must be is not known (--step-time)"
        return Diagnosis("unknown", told)
    alone = _best(parts, "cached", baseline)
    if alone is None:
        return _by_waiting(baseline)
    windows = [trial.measurement.samples_per_second for trial in (alone, baseline)]
    most = unpaired_ratio(*windows).at_other_times()
    if most.is_vague():
        return Diagnosis("unknown", _vague(most))
    verdict, why = _verdict(baseline, parts, most)
    not_seen = NOT_SEEN if _came_from_the_cache(_best(parts, "cold", baseline)) else ""
    return Diagnosis(verdict, f"{_gain(most)}; {verdict}: {why}{not_seen}", most)


def enough(diagnosis: Diagnosis, baseline: Trial | None) -> bool:
    """Whether a better loader gains nothing worth a search: the step alone is hardly faster, nor does the loop wait."""
    share = baseline.measurement.wait_share if baseline is not None else None
    if diagnosis.most is None:
        return share is not None and share < LEAST_WAIT and diagnosis.verdict == "compute"
    return 1 - 1 / diagnosis.most.value < LEAST_WAIT and (share is None or share < 2 * LEAST_WAIT)


def _gain(most: Ratio) -> str:
    interval = f" (95 % interval {_percent(most.low)} to {_percent(most.high)})" if most.low and most.high else ""
    if 1 - 1 / most.value < LEAST_WAIT:
        return f"the training step alone is no faster than the loop, {_percent(most.value)}{interval}"
    return f"the training step alone is {_percent(most.value)[1:]} faster than the loop{interval}: no loader gains more"


def _vague(most: Ratio) -> str:
    assert most.low is not None
    assert most.high is not None
    interval = f"95 % interval {_percent(most.low)} to {_percent(most.high)}"
    return (
        f"whether the training step alone is faster than the loop cannot be told, windows differ too much ({interval})"
    )


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.0f} %" if abs(ratio - 1) >= 0.095 else f"{(ratio - 1) * 100:+.1f} %"


def _verdict(baseline: Trial, parts: Sequence[Trial], most: Ratio) -> tuple[Verdict, str]:
    if 1 - 1 / most.value < LEAST_WAIT:
        return "compute", "the step sets the pace, a better loader gains nothing"
    copied, alone = _best(parts, "copied", baseline), _best(parts, "cached", baseline)
    if copied is not None and alone is not None and _rate(copied) < COPY_SHARE * _rate(alone):
        return "copy", "copying batches to the accelerator takes time; pin memory, copy uint8 and convert there"
    step = _rate(alone) if alone is not None else math.inf
    loader = _best(parts, "loader", baseline)
    if loader is not None and loader.config == baseline.config and _rate(loader) >= AMPLE * step:
        if _note(baseline, "step_p99_over_median") > TAIL:
            return "tail samples", "the loader is fast enough on average, but some samples take far longer than others"
        return "interference", (
            f"the loader alone gives {_rate(loader) / step:.1f} times what the step takes, but not beside it: fewer "
            "workers, or CPUs of their own"
        )
    cold = _best(parts, "cold", baseline)
    unread = cold is not None and not _came_from_the_cache(cold)
    if loader is not None and cold is not None and unread and _rate(loader) >= step > _rate(cold):
        return "storage", "data that were read before come fast enough, others do not"
    return _by_cost(baseline, loader)


def _came_from_the_cache(trial: Trial | None) -> bool:
    """Whether what a trial read is known to have been in the page cache: it tells nothing of storage."""
    return trial is not None and _note(trial, "read_bytes_share") < CACHED


def _by_cost(baseline: Trial, loader: Trial | None) -> tuple[Verdict, str]:
    for trial in (loader, baseline):
        cpu, blocked = (
            _note(trial, name) if trial is not None else math.nan
            for name in ("cpu_seconds_per_sample", "blocked_seconds_per_sample")
        )
        if math.isfinite(cpu) and math.isfinite(blocked) and cpu + blocked > 0:
            told = f"a sample takes {cpu * 1000:.3g} ms of CPU time and {blocked * 1000:.3g} ms of waiting"
            if cpu / (cpu + blocked) >= CPU_SHARE:
                return "CPU preprocessing", told
            if _came_from_the_cache(trial):
                return "unknown", f"{told}; the page cache served what it read, so what it waits for was not seen"
            return "storage", told
    return "unknown", "what a sample costs was not told"


def _by_waiting(baseline: Trial) -> Diagnosis:
    """What the loop alone says, where the step could not be measured without its loader."""
    share = baseline.measurement.wait_share
    if share is None:
        told = "the loader was measured alone, without a training step: how fast it must be is not known (--step-time)"
        return Diagnosis("unknown", told)
    if share >= 1:
        return Diagnosis("unknown", "the loop did nothing but wait for data")
    if share < LEAST_WAIT:
        return Diagnosis("compute", f"the loop waits {share:.1%} of its time for data: a better loader gains nothing")
    most = 1 / (1 - share) - 1
    told = f"the loop waits {share:.0%} of its time for data: a better loader gains at most {most:+.0%}"
    return Diagnosis(_by_cost(baseline, None)[0], told)


def _best(parts: Sequence[Trial], part: Part, baseline: Trial) -> Trial | None:
    """The fastest trial of a part with today's micro-batch; of the loader, with today's workers if that was run."""
    ours = [
        t for t in parts
        if t.part == part and t.config.batch_size == baseline.config.batch_size and t.config.amp == baseline.config.amp
        and rate(t.measurement) is not None
    ]  # fmt: skip
    same = [t for t in ours if t.config == baseline.config]
    return max(same or ours, key=_rate, default=None)


def _rate(trial: Trial) -> float:
    return rate(trial.measurement) or 0.0


def _note(trial: Trial, name: str) -> float:
    notes: Mapping[str, float | int | str] = trial.measurement.notes
    value = notes.get(name)
    return float(value) if isinstance(value, int | float) else math.nan
