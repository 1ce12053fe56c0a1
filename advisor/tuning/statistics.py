"""Medians, spreads and intervals of measured rates, in pure Python.

Step times are skewed and neighbours disturb them, so the score is the median over windows and comparisons are made
between runs that were interleaved (A B C A B C): each round gives one ratio, drift cancels out of it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import mean, median, variance

MAD_TO_SIGMA = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
CONFIDENCE = 0.95
USEFUL_INTERVAL = 4.0
"""An interval whose ends differ by a larger factor tells nothing but noise."""
DRIFT = 0.05
"""Of a node's speed, between runs at different times."""
USUAL_NOISE, USUAL_RUNS = 0.05, 3
"""Of a run, as a logarithm, on a node that is not quite quiet; and how many degrees of freedom that is worth."""


@dataclass(frozen=True)
class Ratio:
    """How many times faster one configuration is than another, with its 95 % interval."""

    value: float
    low: float | None
    """``None``: one round only, so no interval can be given."""
    high: float | None
    rounds: int

    def is_vague(self) -> bool:
        """Whether its interval is so wide that it tells nothing but noise."""
        return self.low is not None and self.high is not None and self.high > USEFUL_INTERVAL * self.low

    def at_other_times(self) -> "Ratio":
        """With an interval that is wider by what a node may have drifted between runs that were not in turn."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=self.low / (1 + DRIFT), high=self.high * (1 + DRIFT))

    def excludes_one(self) -> bool:
        """Whether the interval lies wholly on one side of "the same speed"."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


def spread(values: Sequence[float]) -> float:
    """Relative spread of ``values`` by their median absolute deviation; 0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(v - middle) for v in values) / middle if middle > 0 else 0.0


def interleaved_ratio(
    ours: Mapping[int, float], theirs: Mapping[int, float], compared: Sequence[Mapping[int, float]] = ()
) -> Ratio:
    """The ratio of two configurations, by the rounds that both were measured in.

    ``compared``: rates by round of all configurations of the comparison, of which ours was picked and theirs is what
    they were compared with. What rounds and configurations do not explain is the noise of one run, known the better
    the more there are (two-way analysis of variance); the pair's own noise counts where it is larger. As ours may be
    the luckiest of several, the interval is one that holds for all of them at once (Bonferroni).
    """
    common = sorted(set(ours) & set(theirs))
    if not common:
        raise ValueError("no round in common")
    logs = [math.log(ours[n] / theirs[n]) for n in common]
    middle, rounds = mean(logs), len(logs)
    if rounds < 2:
        return Ratio(math.exp(middle), None, None, rounds)
    own, freedom = variance(logs), rounds - 1
    left, among = _unexplained(compared)
    if among > freedom:
        own, freedom = max(own, 2 * left), among
    half = t_quantile(freedom, max(len(compared) - 1, 1)) * math.sqrt(own / rounds)
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), rounds)


def separate_ratio(
    ours: Sequence[float], theirs: Sequence[float], runs: Sequence[Sequence[float]], picked_of: int
) -> Ratio:
    """The ratio of two configurations by runs that were too few, or not in turn.

    ``runs``: rates of every configuration that ran; how those of one differ is the noise of a run, to which some is
    added that is usual, for there are few. ``picked_of``: how many ours was picked of.
    """
    logs = [[math.log(value) for value in values] for values in runs if len(values) > 1]
    freedom = USUAL_RUNS + sum(len(values) - 1 for values in logs)
    noise = USUAL_RUNS * USUAL_NOISE**2 + sum(variance(values) * (len(values) - 1) for values in logs)
    middle = mean(map(math.log, ours)) - mean(map(math.log, theirs))
    half = t_quantile(freedom, max(picked_of, 1)) * math.sqrt(noise / freedom * (1 / len(ours) + 1 / len(theirs)))
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(ours))


def _unexplained(compared: Sequence[Mapping[int, float]]) -> tuple[float, int]:
    """The variance of one run's logarithm, and its degrees of freedom; 0 of them where it cannot be told."""
    common = sorted(set[int]().union(*compared).intersection(*compared))
    if len(common) < 2 or len(compared) < 2:
        return 0.0, 0
    logs = [[math.log(rates[n]) for n in common] for rates in compared]
    by_config, by_round = [mean(row) for row in logs], [mean(column) for column in zip(*logs, strict=True)]
    rest = sum(
        (value - row - column + mean(by_config)) ** 2
        for row, values in zip(by_config, logs, strict=True)
        for column, value in zip(by_round, values, strict=True)
    )
    freedom = (len(common) - 1) * (len(compared) - 1)
    return rest / freedom, freedom


def unpaired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of two speeds from windows that were not measured in turn, with its 95 % interval (Welch)."""
    logs = [[math.log(value) for value in values] for values in (ours, theirs)]
    middle = mean(logs[0]) - mean(logs[1])
    fewest = min(map(len, logs))
    if fewest < 2:
        return Ratio(math.exp(middle), None, None, fewest)
    parts = [variance(values) / len(values) for values in logs]
    total = sum(parts)
    spreads = sum(part**2 / (len(values) - 1) for part, values in zip(parts, logs, strict=True))
    freedom = total**2 / spreads if spreads > 0 else float(fewest - 1)
    half = t_quantile(max(int(freedom), 1)) * math.sqrt(total)
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), fewest)


@cache
def t_quantile(freedom: int, intervals: int = 1) -> float:
    """Student's t that 95 % lie within, both sides together, for each of so many intervals that hold at once.

    The probability is a finite sum for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
    """
    wanted = 1 - (1 - CONFIDENCE) / intervals
    low, high = 0.0, 1.0
    while _within(high, freedom) < wanted:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < wanted else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """How likely Student's t lies between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for n in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (n - 1) / n
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
