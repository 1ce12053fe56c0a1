"""What to expect of points that were not measured: the pipeline model, corrected by what was measured near them.

A Gaussian process over the logarithm of measured over predicted speed, with distances in doublings: twice as many
workers are as far away from 4 as from 40.  Pure Python: a search has some tens of trials, and a few hundred points.
(Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from advisor.model.trial import Config

LEVEL = 0.2
"""Standard deviations, as logarithms: by how much the model may be wrong everywhere alike..."""
SHAPE = 0.25
"""...and differently from place to place..."""
NOISE = 0.05
"""...and a trial about its own point."""
WORKERS_REACH, PREFETCH_REACH, BATCH_REACH = 0.8, 2.0, 2.0
"""Doublings over which what was learnt fades."""
Expected = tuple[float, float]
"""The logarithm of a rate, and its standard deviation."""


@dataclass
class Surrogate:
    """What is expected after ``measured`` points, of which each is a configuration and its rate."""

    prior: Callable[[Config], float]
    """The logarithm of the rate that the model predicts."""
    measured: Sequence[tuple[Config, float]]
    _lower: list[list[float]] = field(default_factory=list)
    _weights: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        places = [_place(config) for config, _ in self.measured]
        misses = [math.log(rate) - self.prior(config) for config, rate in self.measured]
        self._places = places
        self._lower = _cholesky(
            [[_alike(a, b) + (NOISE**2 if n == m else 0.0) for m, b in enumerate(places)] for n, a in enumerate(places)]
        )
        self._weights = _backward(self._lower, _forward(self._lower, misses))

    def expected(self, config: Config) -> Expected:
        """Of one point."""
        place = _place(config)
        near = [_alike(place, other) for other in self._places]
        mean = self.prior(config) + sum(a * b for a, b in zip(near, self._weights, strict=True))
        known = sum(value**2 for value in _forward(self._lower, near))
        return mean, math.sqrt(max(LEVEL**2 + SHAPE**2 - known, 1e-12))


def improvement(expected: Expected, best: float) -> float:
    """By how much, as a logarithm, a point is expected to exceed ``best``; what falls short of it counts nothing."""
    mean, deviation = expected
    z = (mean - best) / deviation
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return (mean - best) * 0.5 * math.erfc(-z / math.sqrt(2)) + deviation * density


def _place(config: Config) -> tuple[float, float, float]:
    workers = math.log2(config.num_workers) if config.num_workers else -2.0
    prefetch = math.log2(config.prefetch_factor) if config.prefetch_factor else 1.0
    return workers / WORKERS_REACH, prefetch / PREFETCH_REACH, math.log2(config.batch_size or 1) / BATCH_REACH


def _alike(ours: tuple[float, float, float], theirs: tuple[float, float, float]) -> float:
    apart = (ours[0] - theirs[0]) ** 2 + (ours[1] - theirs[1]) ** 2 + (ours[2] - theirs[2]) ** 2
    return LEVEL**2 + SHAPE**2 * math.exp(-apart / 2)


def _cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle whose square is ``matrix``."""
    lower: list[list[float]] = []
    for row, values in enumerate(matrix):
        made: list[float] = []
        for column in range(row + 1):
            above = lower[column] if column < row else made
            rest = values[column] - sum(a * b for a, b in zip(made, above, strict=False))
            made.append(math.sqrt(max(rest, 1e-12)) if column == row else rest / above[column])
        lower.append(made)
    return lower


def _forward(lower: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for row, value in zip(lower, values, strict=True):
        found.append((value - sum(a * b for a, b in zip(row, found, strict=False))) / row[-1])
    return found


def _backward(lower: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    found = [0.0] * len(values)
    for row in reversed(range(len(values))):
        rest = values[row] - sum(lower[n][row] * found[n] for n in range(row + 1, len(values)))
        found[row] = rest / lower[row][row]
    return found
