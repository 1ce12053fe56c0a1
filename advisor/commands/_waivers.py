"""The option ``--waivers`` and what it does to a report."""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click

from advisor.inputs import printable, read_text
from advisor.model.finding import Report, Waiver

DEFAULT_FILE = "advisor-waivers.yaml"
_LIMIT_BYTES = 1024 * 1024
_Command = TypeVar("_Command", bound=Callable[..., object])


def waivers_option(command: _Command) -> _Command:
    """Adds ``--waivers``."""
    told = f"Findings that were looked at and accepted (default: {DEFAULT_FILE} in the working folder, if there)."
    return click.option("--waivers", metavar="FILE", help=told)(command)


def read_waivers(path: str | None) -> tuple[Waiver, ...]:
    """The waivers of ``--waivers``, or of the default file when it is there. Raises InputError."""
    from advisor.rulebook.waivers import parse_waivers

    if path is None and not os.path.lexists(DEFAULT_FILE):
        return ()
    file = path or DEFAULT_FILE
    return parse_waivers(read_text(file, _LIMIT_BYTES), printable(file))


def after_waivers(report: Report, waivers: Sequence[Waiver], folders: Sequence[str | Path]) -> Report:
    """``report`` with its waived findings marked, as of today (UTC)."""
    from advisor.commands._rules import loaded
    from advisor.rulebook.waivers import waived

    if not waivers:
        return report
    return waived(report, waivers, (rule.id for rule in loaded(folders)), datetime.now(UTC).date())
