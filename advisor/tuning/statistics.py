"""Medians, spreads and intervals of measured rates, in pure Python.

Step times are skewed and neighbours disturb them, so the score is the median over windows and comparisons are made
between runs that were interleaved (A B C A B C): each round gives one ratio, drift cancels out of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev, variance

MAD_TO_SIGMA = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t, two-sided 95 %, for 1 to 10 degrees of freedom; beyond that the last is a little too careful."""


@dataclass(frozen=True)
class Ratio:
    """How many times faster one configuration is than another, with its 95 % interval."""

    value: float
    low: float | None
    """``None``: one round only, so no interval can be given."""
    high: float | None
    rounds: int

    def excludes_one(self) -> bool:
        """Whether the interval lies wholly on one side of "the same speed"."""
        return self.low is not None and self.high is not None and (self.low > 1 or self.high < 1)


def spread(values: Sequence[float]) -> float:
    """Relative spread of ``values`` by their median absolute deviation; 0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    middle = median(values)
    return MAD_TO_SIGMA * median(abs(v - middle) for v in values) / middle if middle > 0 else 0.0


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of two configurations that were measured in the same rounds.

    ``ours[i]`` and ``theirs[i]`` are rates of round ``i``; the interval is Student's t on the logarithms of the
    ratios, so few rounds give the wide interval that they deserve.
    """
    logs = [math.log(a / b) for a, b in zip(ours, theirs, strict=True)]
    if not logs:
        raise ValueError("no round in common")
    middle = mean(logs)
    if len(logs) < 2:
        return Ratio(math.exp(middle), None, None, len(logs))
    half = T_975[min(len(logs) - 1, len(T_975)) - 1] * stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(logs))


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
    half = T_975[min(max(int(freedom), 1), len(T_975)) - 1] * math.sqrt(total)
    return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half), fewest)
