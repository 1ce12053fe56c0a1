"""What every kind of setting can do: see a Snapshot, judge a value, write a line.

A target is one file of this package, named as ``Setting.target``; its functions are the methods of `Target`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from advisor.discover import units
from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot


@dataclass(frozen=True)
class Seen:
    """What the host has for one key now."""

    text: str | None
    """As this target writes values; ``None``: not known or not there, then ``note`` says which."""
    path: str = ""
    note: str = ""
    """Why there is no text; or what is to be said of the text, such as another unit than the file's."""


ON_THE_HOST = "this is a container: apply it on the host"
OUR_FILES = ("90-advisor.conf", "61-advisor.rules", "advisor-irq-affinity.service")
"""The names of the configuration files that advisor generates for a host."""
OUR_PROFILE = "/advisor/tuned.conf"
"""The end of the path of the TuneD profile that advisor suggests."""


@dataclass(frozen=True)
class SetBy:
    """A configuration file of the operator, a vendor or advisor that sets the key and would count."""

    text: str
    path: str
    line: int | None = None
    later: bool = False
    """A package's file, or one in ``/run``, that is applied behind ours and so wins over it."""

    @property
    def ours(self) -> bool:
        """Whether it is a file that advisor generates."""
        return self.path.rpartition("/")[2] in OUR_FILES or self.path.endswith(OUR_PROFILE)

    def place(self) -> str:
        """Path and line, as in ``/etc/sysctl.d/99-site.conf:4``."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Target(Protocol):
    """One kind of setting. All functions are pure."""

    SCOPE: Scope
    """``host``: belongs to the host and is withheld in a container; ``job``, ``container``: always possible."""
    SUGGESTED: bool = False
    """Written for people to read (``suggested/``), never installed: what the host has instead is no drift."""

    def named(self, key: str) -> str:
        """The one spelling of ``key``, under which settings of several rules meet."""
        return key

    def wrong(self, key: str, value: Value) -> str | None:
        """What makes this key or value impossible to write in the target's file; ``None`` when it is fine."""

    def text(self, key: str, value: Value) -> str:
        """A value that is not `wrong` as the target's file holds it, before quoting."""

    def line(self, setting: Setting, snapshot: Snapshot) -> str:
        """What the target's file holds for a setting that is not `wrong`, quoted as the file wants it; one line."""
        return f"{setting.key} = {self.text(setting.key, setting.value)}"

    def parsed(self, key: str, words: str) -> Value:
        """The value that an operator's ``--set TARGET:KEY=words`` means."""

    def seen(self, snapshot: Snapshot, key: str) -> Seen:
        """The host's present value."""

    def from_inside(self, key: str) -> str:
        """Why a target of scope ``host`` sets nothing inside a container, and where that belongs."""
        return ON_THE_HOST

    def cannot_take(self, snapshot: Snapshot, key: str, value: Value) -> str | None:
        """Why this host cannot take the setting (or that it is not known whether it can); ``None`` when it can."""

    def set_by(self, snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
        """Configuration files in ``/etc`` that set ``key``, in the order in which they are read, and others that win
        over ours."""

    def same(self, key: str, seen: str, value: Value) -> bool:
        """Whether ``seen`` is what ``value`` would bring about."""

    def raised(self, key: str, seen: str, value: Value) -> Value:
        """``value`` with no number lower than in ``seen``. Raises ValueError when they cannot be compared."""


def load_targets() -> Mapping[str, Target]:
    """Every target of the package by name."""
    return {name: cast(Target, module) for name, module in units("targets").items()}
