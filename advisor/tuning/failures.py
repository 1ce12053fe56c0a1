"""What went wrong in a search, as its reader is told. Pure."""

import re
from collections.abc import Sequence

from advisor.model.trial import Trial

MOST_NAMED = 4
"""Configurations that one cause is told of."""
_CHANCE = re.compile(r"(?:trial|pymp|listener)-\w+|\d+")
"""What differs where the cause is the same: numbers of processes, names of temporary files."""


def failures(trials: Sequence[Trial]) -> list[str]:
    """One line for each cause, with the configurations that it hit."""
    causes: dict[str, tuple[str, list[str]]] = {}
    for trial in trials:
        measured = trial.measurement
        if measured.outcome != "ok":
            cause = f"{measured.outcome}: {measured.message}" if measured.message else measured.outcome
            _, keys = causes.setdefault(_CHANCE.sub("#", cause), (cause, []))
            keys.append(trial.config.key())
    return [f"{_listed(keys)}: {cause}" for cause, keys in causes.values()]


def _listed(keys: list[str]) -> str:
    known = list(dict.fromkeys(keys))
    more = len(known) - MOST_NAMED
    return ", ".join(known[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
