"""What every kind of setting can do: see a Snapshot, judge a value, write a line.

A target is one file of this package, named as ``Setting.target``; its functions are the methods of `Target`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from advisor.discover import units
from advisor.model.setting import Scope, Value
from advisor.model.snapshot import Snapshot


@dataclass(frozen=True)
class Seen:
    """What the host has for one key now."""

    text: str | None
    """As this target writes values; ``None``: not known or not there, then ``note`` says which."""
    path: str = ""
    note: str = ""


@dataclass(frozen=True)
class SetBy:
    """A configuration file of the operator or a vendor that sets the key already."""

    text: str
    path: str
    line: int | None = None

    def place(self) -> str:
        """Path and line, as in ``/etc/sysctl.d/99-site.conf:4``."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Target(Protocol):
    """One kind of setting. All functions are pure."""

    SCOPE: Scope
    """``host``: belongs to the host and is withheld in a container; ``job``: always possible."""

    def wrong(self, key: str, value: Value) -> str | None:
        """What makes this key or value impossible to write in the target's file; ``None`` when it is fine."""

    def text(self, key: str, value: Value) -> str:
        """``value`` as the target's file holds it, before quoting."""

    def seen(self, snapshot: Snapshot, key: str) -> Seen:
        """The host's present value."""

    def cannot_take(self, snapshot: Snapshot, key: str, value: Value) -> str | None:
        """Why this host cannot take the setting (or that it is not known whether it can); ``None`` when it can."""

    def set_by(self, snapshot: Snapshot, key: str) -> SetBy | None:
        """The last configuration of the operator or a vendor that sets ``key``; not our own file."""

    def raised(self, seen: str, value: Value) -> Value:
        """``value`` with nothing in it lower than in ``seen``: what only_raise asks for."""


def load_targets() -> Mapping[str, Target]:
    """Every target of the package by name."""
    return {name: cast(Target, module) for name, module in units("targets").items()}
