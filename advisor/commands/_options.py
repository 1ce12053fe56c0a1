"""Values of options that more than one command takes."""

import re
from collections.abc import Callable
from typing import TypeVar

import click

from advisor.model.snapshot import Snapshot

_Command = TypeVar("_Command", bound=Callable[..., object])

_SIZE_UNITS = {
    **{f"{letter}ib": 1 << power for letter, power in (("m", 20), ("g", 30), ("t", 40))},
    **{f"{letter}b": 10**power for letter, power in (("m", 6), ("g", 9), ("t", 12))},
}
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([mgt]i?b)", re.ASCII | re.IGNORECASE)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smh]?)", re.ASCII)


class Duration(click.ParamType[float]):
    """A length of time in seconds, from ``90``, ``90s``, ``5m`` or ``1h``."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        found = _DURATION.fullmatch(str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is not a length of time; give 90s, 5m or 1h", param, ctx)
        return float(found[1]) * _UNITS[found[2] or "s"]


class StepTime(Duration):
    """A length of time in seconds that may be given in milliseconds: ``12ms``."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        text = str(value)
        if text.endswith("ms"):
            return super().convert(text.removesuffix("ms"), param, ctx) / 1000
        return super().convert(value, param, ctx)


class Size(click.ParamType[int]):
    """An amount of memory in bytes, from ``80GiB``, ``512MiB`` or ``80GB`` (of 10^9 bytes)."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value))
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is not an amount of memory; give 80GiB, 512MiB or 80GB", param, ctx)
        return int(float(found[1]) * _SIZE_UNITS[found[2].lower()])


def sample_option(command: _Command) -> _Command:
    """Adds ``--sample``."""
    told = "Read counters again after this time, so that what grows is known: 5s, 1m."
    return click.option("--sample", type=Duration(), metavar="TIME", help=told)(command)


def no_second_reading(sample: float | None, snapshot: Snapshot) -> str | None:
    """What to say when ``--sample`` was given and there is nothing to compare with."""
    if sample is None or snapshot.sample is not None:
        return None
    return "--sample tells nothing here: a captured host can be read once only; capture it with --sample"


def duration_text(seconds: float) -> str:
    """``45 s``, ``4 min 30 s``."""
    whole = max(round(seconds), 0)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
