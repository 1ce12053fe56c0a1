"""Generated files out of a few wishes, and the tools that judge them."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from advisor.data import template_texts
from advisor.model.setting import Plan, Rank, Reason, Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.context import template_context
from advisor.planning.merge import plan
from advisor.planning.render import render
from advisor.targets._base import load_targets

NO_FACTS = Snapshot(Source(kind="live"), {}, {})
HOSTILE = (
    "'; touch pwned; #",
    "$(touch pwned)",
    "`touch pwned`",
    '"; touch pwned; "',
    "${HOME}",
    "a\\",
    "-n --flag",
    "{{ 7 * 7 }}",
    "%s %n %h",
    "*?[a-z]|x",
    "naïve ☃",
)
"""Texts that must arrive as they are, or be refused."""
UNSEEN = ("a\nb", "a\rb", "a\x00b", "a\x1b[2Jb", "a\u2028b", "a\u202eb")
"""Texts with characters that no generated file may hold."""


def wish(target: str, key: str, value: Value, floor: bool = False, text: str = "helps", rank: Rank = "rule") -> Setting:
    """A setting that a rule asks for."""
    reason = Reason(rank, "area/name", text, ("https://example.org",))
    return Setting(target, key, value, reason, only_raise=floor)


def planned(*settings: Setting, host: Snapshot = NO_FACTS) -> Plan:
    """The plan of these settings for ``host``."""
    return plan(settings, host, load_targets())


def everything(*settings: Setting, host: Snapshot = NO_FACTS) -> Mapping[str, str]:
    """Path in OUT to text, of all files that templates make for these settings."""
    targets = load_targets()
    files = render(template_texts(), template_context(plan(settings, host, targets), targets, snapshot=host))
    return {path: text for path, text in files.items() if path != ".gitignore"}


def generated(*settings: Setting, host: Snapshot = NO_FACTS) -> Mapping[str, str]:
    """Those of `everything` that are for the host and the job."""
    return {path: text for path, text in everything(*settings, host=host).items() if not path.startswith("suggested/")}


def suggested(*settings: Setting, host: Snapshot = NO_FACTS) -> Mapping[str, str]:
    """Those of `everything` that only suggest, by their path below suggested/."""
    files = everything(*settings, host=host)
    return {path.partition("/")[2]: text for path, text in files.items() if path.startswith("suggested/")}


def withheld(*settings: Setting, host: Snapshot = NO_FACTS) -> list[str]:
    """Why settings are not written."""
    return [one.why for one in planned(*settings, host=host).withheld]


def body(text: str) -> list[str]:
    """The lines that are no comment."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def needed(*tools: str) -> None:
    """Skips the test, or in CI fails it, when a tool is not installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def ran(argv: Sequence[str | Path], **more: object) -> subprocess.CompletedProcess[str]:
    """The outcome of a command, all of its output as text."""
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, **more)  # type: ignore[call-overload,no-any-return]
