"""The choice: the cheapest configuration within noise of the best, and whether it is a gain over the baseline.

Pure: it is recomputed from the trials of tuning.json by ``advisor tune --replay``.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from advisor.model.trial import Config, Trial
from advisor.tuning.cost import Cost, learn, rate
from advisor.tuning.space import in_flight
from advisor.tuning.statistics import Ratio, interleaved_ratio, separate_ratio, spread

LEAST_TOLERANCE = 0.015
MOST_TOLERANCE = 0.10
"""Bounds of "within noise": below the first nobody can measure, above the second noise would excuse anything."""
LEAST_GAIN = 0.03
"""A smaller gain over the baseline is not worth a change."""
FEWEST_ROUNDS = 2
"""Fewer rounds than these have no interval of their own; what was measured at other times then counts too."""
FINAL = "final"
"""Origin of the trials of the interleaved comparison, with the number of their round: ``final 2``."""
Preference = tuple[float, ...]
"""What is compared from left to right; the least is preferred."""


@dataclass(frozen=True)
class Candidate:
    """A configuration and all that was measured of it."""

    config: Config
    samples_per_second: float
    """The median over its trials; those of the interleaved comparison alone, where it was part of it."""
    spread: float
    rounds: Mapping[int, float] = field(default_factory=dict)
    """Its rates in the interleaved comparison, by round."""

    def uncertainty(self) -> float:
        """Of its speed, as a share: the more rounds, the less."""
        return self.spread / math.sqrt(max(len(self.rounds), 1))


@dataclass(frozen=True)
class Choice:
    """What to use, and why."""

    config: Config | None
    """``None``: nothing could be measured."""
    changes: bool
    """Whether it is a change over the baseline that the measurements support."""
    gain: Ratio | None
    """Speed over the baseline; ``None`` when the baseline could not be measured."""
    tolerance: float
    """What counts as the same speed here."""
    why: str
    candidates: tuple[Candidate, ...] = ()
    """All that ran well, fastest first."""

    def of(self, config: Config) -> Candidate | None:
        """What was measured of ``config``."""
        return next((c for c in self.candidates if c.config == config), None)


def choose(trials: Sequence[Trial], baseline: Config) -> Choice:
    """The choice that these trials support."""
    candidates = tuple(sorted(_candidates(trials), key=lambda c: (-c.samples_per_second, c.config.key())))
    if not candidates:
        return Choice(None, False, None, LEAST_TOLERANCE, "no configuration could be measured")
    # Rates of different times are not comparable on a drifting machine: interleaved ones decide, if there are any.
    compared = [c for c in candidates if c.rounds] or list(candidates)
    cost, best = learn(trials), compared[0]
    tolerance = min(max(LEAST_TOLERANCE, median(c.uncertainty() for c in compared)), MOST_TOLERANCE)
    near = [c for c in compared if c.samples_per_second * (1 + tolerance) >= best.samples_per_second]
    cheapest = min(near, key=lambda c: preference(c.config, cost, baseline))
    today = next((c for c in candidates if c.config == baseline), None)
    if today is None:
        why = "the baseline could not be measured, so no gain can be told; " + _preferred(cheapest, compared, tolerance)
        return Choice(cheapest.config, True, None, tolerance, why, candidates)
    return _against(today, cheapest, compared, tolerance, candidates, _shown(cheapest, today, compared, trials))


def _against(
    today: Candidate,
    cheapest: Candidate,
    compared: Sequence[Candidate],
    tolerance: float,
    candidates: tuple[Candidate, ...],
    gain: Ratio,
) -> Choice:
    if len(candidates) == 1:
        why = "keep what you have: no other configuration was measured with success"
        return Choice(today.config, False, None, tolerance, why, candidates)
    if cheapest.config == today.config:
        why = f"nothing to gain: keep what you have; {_standing(today, compared)}"
        return Choice(today.config, False, None, tolerance, why, candidates)
    if gain.value >= 1 + LEAST_GAIN and gain.excludes_one():
        return Choice(cheapest.config, True, gain, tolerance, _preferred(cheapest, compared, tolerance), candidates)
    verdict = "nothing to gain" if gain.value < 1 + LEAST_GAIN else "no gain could be shown"
    why = f"{verdict}: keep what you have; {cheapest.config.key()} measured {ratio_text(gain)} against it"
    return Choice(today.config, False, gain, tolerance, why, candidates)


def _standing(today: Candidate, compared: Sequence[Candidate]) -> str:
    best = compared[0]
    if today is not best:
        return f"it is as fast as {best.config.key()}, within noise, and preferable to it"
    if len(compared) == 1:
        return "it is the fastest"
    gain = _gain(compared[1], today, compared)
    return f"it is the fastest; the next, {compared[1].config.key()}, measured {ratio_text(gain)}"


def _preferred(cheapest: Candidate, compared: Sequence[Candidate], tolerance: float) -> str:
    best = compared[0]
    among = f" of the {len(compared)} that were compared in turn" if best.rounds else ""
    if cheapest is best:
        return f"the fastest{among or ' that was measured'}, and no cheaper one of them comes within noise of it"
    return f"the cheapest within {tolerance:.1%} of the fastest{among} ({best.config.key()})"


def _shown(ours: Candidate, today: Candidate, compared: Sequence[Candidate], trials: Sequence[Trial]) -> Ratio:
    """The gain; where the comparison was cut short, with the noise of all trials, at other times too.

    Ours was picked for what its trial showed before, so only the comparison counts for it.
    """
    if not 0 < len(set(ours.rounds) & set(today.rounds)) < FEWEST_ROUNDS:
        return _gain(ours, today, compared)
    runs: dict[Config, list[float]] = {}
    for trial in trials:
        if (speed := rate(trial.measurement)) is not None:
            runs.setdefault(trial.config, []).append(speed)
    ratio = separate_ratio(list(ours.rounds.values()), runs[today.config], list(runs.values()), len(compared) - 1)
    return ratio.at_other_times()


def _gain(ours: Candidate, today: Candidate, compared: Sequence[Candidate]) -> Ratio:
    if set(ours.rounds) & set(today.rounds):
        return interleaved_ratio(ours.rounds, today.rounds, [c.rounds for c in compared if c.rounds])
    return Ratio(ours.samples_per_second / today.samples_per_second, None, None, 1)


def ratio_text(ratio: Ratio) -> str:
    """``+85 % (95 % interval +80 % to +91 %)``."""
    if ratio.low is None or ratio.high is None:
        return f"{_percent(ratio.value)} (measured once, no interval)"
    if ratio.is_vague():
        return f"{_percent(ratio.value)} (too noisy to tell from {ratio.rounds} rounds)"
    return f"{_percent(ratio.value)} (95 % interval {_percent(ratio.low)} to {_percent(ratio.high)})"


def _percent(value: float) -> str:
    return f"{(value - 1) * 100:+.0f} %" if abs(value - 1) >= 0.095 else f"{(value - 1) * 100:+.1f} %"


def preference(config: Config, cost: Cost, baseline: Config) -> Preference:
    """Sorts first what is to be preferred at the same speed.

    The step as the job has it (autocast changes numerics) and today's micro-batch (another one changes batch
    statistics), so that others must earn it; then the cheaper: fewer bytes in flight, workers, prefetched batches; then
    larger micro-batches, workers that start as ever, and the baseline itself.
    """
    bytes_per_sample = cost.batch_bytes_per_sample or 1.0
    batch = config.batch_size or 1
    flying = in_flight(config) * batch * bytes_per_sample
    changed = (config.amp != baseline.amp, config.batch_size != baseline.batch_size)
    started = config.multiprocessing_context is not None
    return (*changed, flying, config.num_workers, config.prefetch_factor or 0, -batch, started, config != baseline)


def round_of(trial: Trial) -> int | None:
    """The round of the interleaved comparison that a trial belongs to, if any."""
    name, _, number = trial.origin.partition(" ")
    return int(number) if name == FINAL and number.isdecimal() else None


def _candidates(trials: Sequence[Trial]) -> list[Candidate]:
    measured: dict[Config, list[Trial]] = {}
    for trial in trials:
        if rate(trial.measurement) is not None:
            measured.setdefault(trial.config, []).append(trial)
    return [_candidate(config, runs) for config, runs in measured.items()]


def _candidate(config: Config, runs: Sequence[Trial]) -> Candidate:
    finals = [t for t in runs if round_of(t) is not None]
    counted = finals or list(runs)
    rates = [r for t in counted if (r := rate(t.measurement)) is not None]
    within = median(spread(t.measurement.samples_per_second) for t in counted)
    rounds: dict[int, float] = {}
    for trial, value in zip(counted, rates, strict=True):
        if (number := round_of(trial)) is not None:
            # A disturbed run is repeated in its round; disturbances only ever slow down.
            rounds[number] = max(value, rounds.get(number, 0.0))
    rates = list(rounds.values()) or rates
    return Candidate(config, median(rates), max(within, spread(rates)), rounds)
