"""What a target whose files lie on the host can do beside `Target`: read its file back, and say who else sets a key.

A target with ``PLACES`` is one of these. What is installed comes from OUT, which anybody may have written: only a file
at one of the places, every line of which its target knows, is taken.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol, cast

from advisor.discover import units
from advisor.model.setting import Risk, TakesEffect
from advisor.model.snapshot import Snapshot
from advisor.targets._base import Seen, SetBy, Target

_TOLD = re.compile(r"risk: (none|low|medium|high); takes effect: (now|new login|remount|reload|reboot)")
_SEEN = re.compile(r"seen: (.+) in (/\S+)")
FILE_MODE = 0o644
_LONGEST_LINE = 4096


@dataclass(frozen=True)
class Line:
    """One setting of a generated file."""

    key: str
    text: str
    number: int
    comments: tuple[str, ...] = ()
    """The comment lines above it, without ``#``."""

    @property
    def risk(self) -> Risk | None:
        """The risk that its comment tells."""
        return cast(Risk | None, self._told(1))

    @property
    def takes_effect(self) -> TakesEffect | None:
        """When it counts, as its comment tells."""
        return cast(TakesEffect | None, self._told(2))

    @property
    def seen(self) -> tuple[str, str] | None:
        """The host's value when the file was generated, and where it stood."""
        found = next((found for text in self.comments if (found := _SEEN.fullmatch(text))), None)
        return None if found is None else (found[1], found[2])

    def _told(self, part: int) -> str | None:
        return next((found[part] for text in self.comments if (found := _TOLD.fullmatch(text))), None)


@dataclass(frozen=True)
class Entry:
    """One line of a generated file, without blanks around, and the comment lines above it."""

    text: str
    number: int
    comments: tuple[str, ...]

    def wrong(self) -> ValueError:
        """What is to be raised when the target does not know such a line."""
        return ValueError(f"line {self.number} is nothing that advisor writes there: {self.text[:80]!r}")


@dataclass(frozen=True)
class LiveFile:
    """A file of the kernel that takes the value of a setting at once."""

    setting: str
    """``TARGET:KEY``"""
    path: str
    text: str
    instead: str = ""
    """The file that the kernel sets to 0 together with this one: its former value brings the former state back."""


class Installed(Target, Protocol):
    """A target whose files are installed on the host. All functions are pure."""

    PLACES: tuple[str, ...]
    """Where its files lie on the host: shell patterns, of which ``*`` covers no ``/``."""
    MODE: int
    """Permission bits of its files."""
    WHEN: str
    """When what was installed counts: ``at the next login``."""

    def lines(self, text: str, path: str) -> tuple[Line, ...]:
        """The settings of a generated file. Raises ValueError, with the line, for anything that is not ours."""

    def winners(self, snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
        """The lines that count in the end, most often one; several where users, services or devices differ.

        ``()``: nothing sets the key; ``None``: it cannot be told.
        """

    def in_force(self, snapshot: Snapshot, key: str) -> Seen | None:
        """What the host runs with; ``None`` where that is not one value, or none that is known (limits of sessions)."""

    def prevented(self, snapshot: Snapshot, key: str) -> str | None:
        """Why the host does not look at the target's file, or at this key in it; ``None`` when it does."""

    def fulfilled(self, key: str, seen: str, text: str) -> bool:
        """Whether ``seen`` is all that a line with ``text`` can bring about."""

    def live(self, snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
        """What makes the settings count at once; nothing for those that have to wait."""


def load_installed() -> Mapping[str, Installed]:
    """The targets whose files are installed, by name."""
    return {name: cast(Installed, module) for name, module in units("targets").items() if hasattr(module, "PLACES")}


def target_of(path: str, targets: Mapping[str, Installed]) -> str | None:
    """The target that has a file at this path of the host; ``None`` when none has."""
    return next((name for name, target in targets.items() if any(is_at(path, p) for p in target.PLACES)), None)


def is_at(path: str, place: str) -> bool:
    """Whether ``path`` is one that the pattern ``place`` means."""
    parts, patterns = path.split("/"), place.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def entries(text: str) -> Iterator[Entry]:
    """Each line of a generated file that is no comment.

    Raises ValueError for what makes another reader see other lines than this one.
    """
    comments: list[str] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if len(raw) > _LONGEST_LINE:
            raise ValueError(f"line {number} is longer than any that is generated")
        if line.endswith("\\") or not raw.replace("\t", " ").isprintable():
            raise ValueError(f"line {number} has a character that no generated file has there: {raw[:80]!r}")
        if line.startswith("#"):
            comments.append(line[1:].strip())
            continue
        if line:
            yield Entry(line, number, tuple(comments))
        comments = []


def lines_of(text: str, pattern: re.Pattern[str], key: Callable[[re.Match[str]], str]) -> tuple[Line, ...]:
    """The settings of a file of which each line matches ``pattern``, whose group ``text`` is the value.

    Raises ValueError for any other line.
    """
    found = []
    for entry in entries(text):
        match = pattern.fullmatch(entry.text)
        if match is None:
            raise entry.wrong()
        found.append(Line(key(match), match["text"], entry.number, entry.comments))
    return tuple(found)
