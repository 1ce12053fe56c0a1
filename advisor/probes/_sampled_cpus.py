"""A few CPUs that stand for all, where reading a file of every CPU would take too long."""

from collections.abc import Iterable

SAMPLED = tuple(range(0, 512, 32))
"""Fixed numbers, so that a collector can name them: on usual hosts there is at least one of them in every socket."""


def sampled(numbers: Iterable[int]) -> tuple[int, ...]:
    """Those of ``numbers`` that stand for all, ascending."""
    return tuple(sorted(set(numbers).intersection(SAMPLED)))
