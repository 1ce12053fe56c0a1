"""A setting carries its reason all the way into the comment of the rendered file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Target = str
"""A unit of ``advisor/targets``: sysctl, modprobe, env, dataloader, limits ..."""
Risk = Literal["none", "low", "medium", "high"]
TakesEffect = Literal["now", "new login", "remount", "reload", "reboot"]
Scope = Literal["host", "job", "container"]
Rank = Literal["operator", "measured", "rule", "assumed"]
RANKS: tuple[Rank, ...] = ("operator", "measured", "rule", "assumed")
"""``assumed``: nobody told it, and something had to be taken."""
Value = int | float | bool | str | tuple[int, ...]
NONE = "None"
"""The text of a value that is Python's ``None``, which as a value says that there is none."""


@dataclass(frozen=True)
class Reason:
    """Why a setting is made."""

    rank: Rank
    by: str
    """Rule id, ``trial``, or the option by which the operator asked."""
    text: str
    """What is set and how it helps, one line."""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One key of one target."""

    target: Target
    key: str
    value: Value
    reason: Reason
    seen: str | None = None
    """The value found, as text; ``None``: not known or not there (then ``seen_note`` says which)."""
    seen_path: str = ""
    seen_note: str = ""
    risk: Risk = "low"
    scope: Scope = "host"
    takes_effect: TakesEffect = "now"
    only_raise: bool = False
    """The value is a floor: a present value that is larger stays."""
    suggested: bool = False
    """For people to read (``suggested/``): never installed."""


@dataclass(frozen=True)
class Withheld:
    """A setting that was asked for and is not written, and why."""

    setting: Setting
    why: str


@dataclass(frozen=True)
class Conflict:
    """Settings of equal rank that want different values for one key."""

    target: Target
    key: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Plan:
    """Settings by target, each sorted by key; what was withheld; what the operator must settle."""

    settings: Mapping[Target, tuple[Setting, ...]]
    withheld: tuple[Withheld, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    def of(self, target: Target) -> tuple[Setting, ...]:
        """The settings of one target, sorted by key."""
        return self.settings.get(target, ())


State = Literal["applied", "differs", "overridden", "not visible"]
"""``overridden``: another file has the last word; ``not visible``: it cannot be told here."""


@dataclass(frozen=True)
class Standing:
    """How one generated setting stands on the host."""

    target: Target
    key: str
    wanted: str | None
    """``None``: it is not generated any more."""
    state: State
    found: str | None = None
    """The value in force, or the one of the line that wins."""
    path: str = ""
    """Where ``found`` was seen; of a line that wins ``FILE:LINE``."""
    note: str = ""
