"""What was on the host before it was changed: text of the journal, and what is in it. Touches no file.

The same document serves twice. As the journal it says how to get from what advisor left (``after``) back to what was
there (``before``). As the pending change it says what is being done just now, until the journal has its id.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.errors import ApplyError

VERSION = 1
_MOST_OWNERS = 2**32 - 1
"""The kernel has numbers of 32 bits, of which the last one means nobody."""
_FARTHEST_NS = 2**63 - 1
_Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Of paths and values: no file of the kernel and no name holds a NUL."""


@dataclass(frozen=True)
class FileState:
    """A file with all that is restored of it."""

    data: bytes
    mode: int
    uid: int
    gid: int
    mtime_ns: int | None = None
    """``None``: whenever it is written."""
    xattrs: Mapping[str, bytes] = field(default_factory=dict)

    def same(self, other: "FileState | None") -> bool:
        """Whether content, mode and owner are the same."""
        return other is not None and self._looks() == other._looks()

    def _looks(self) -> tuple[bytes, int, int, int]:
        return self.data, self.mode, self.uid, self.gid


@dataclass(frozen=True)
class Entry:
    """One file; ``None``: it is not there."""

    path: str
    before: FileState | None
    after: FileState | None

    def is_before(self, now: FileState | None) -> bool:
        """Whether ``now`` is what was there before."""
        return _same(now, self.before)

    def is_after(self, now: FileState | None) -> bool:
        """Whether ``now`` is what advisor left."""
        return _same(now, self.after)


@dataclass(frozen=True)
class Live:
    """One value in the kernel."""

    setting: str
    path: str
    before: str
    after: str
    instead: tuple[str, str] | None = None
    """File and value that bring ``before`` back where the kernel takes no 0."""


@dataclass(frozen=True)
class Journal:
    """Changes; see the module."""

    entries: tuple[Entry, ...] = ()
    live: tuple[Live, ...] = ()
    folders: tuple[str, ...] = ()
    """Folders that were made for the files, from above."""
    home: tuple[str, ...] = ()
    """Folders that were made for the journal itself, from above."""
    gone: tuple[str, ...] = ()
    """Of a pending change: folders that are to go when it is done."""
    id: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to undo."""
        return not (self.entries or self.live or self.folders)


def _same(now: FileState | None, then: FileState | None) -> bool:
    return now is None if then is None else then.same(now)


def with_id(pending: Journal, former: Journal) -> Journal:
    """``pending`` with an id of its own: no two changes that follow each other have the same."""
    text = journal_text(replace(pending, id=former.id))
    return replace(pending, id=hashlib.sha256(text.encode()).hexdigest())


def journal_text(journal: Journal) -> str:
    """JSON; bytes in base64."""
    document = {"schema_version": VERSION, **asdict(journal)}
    for entry in document["entries"]:
        for state in (entry["before"], entry["after"]):
            if state is not None:
                state["data"] = _text(state["data"])
                state["xattrs"] = {name: _text(value) for name, value in state["xattrs"].items()}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _State(_Told):
    data: str
    mode: int = Field(ge=0, le=0o7777)
    uid: int = Field(ge=0, lt=_MOST_OWNERS)
    gid: int = Field(ge=0, lt=_MOST_OWNERS)
    mtime_ns: int | None = Field(ge=-_FARTHEST_NS, le=_FARTHEST_NS)
    xattrs: dict[_Text, str]

    def state(self) -> FileState:
        values = self.model_dump(exclude={"data", "xattrs"})
        xattrs = {name: base64.b64decode(value, validate=True) for name, value in self.xattrs.items()}
        return FileState(data=base64.b64decode(self.data, validate=True), xattrs=xattrs, **values)


class _Entry(_Told):
    path: _Text
    before: _State | None
    after: _State | None


class _Live(_Told):
    setting: str
    path: _Text
    before: _Text
    after: _Text
    instead: tuple[_Text, _Text] | None


class _Document(_Told):
    schema_version: int
    entries: tuple[_Entry, ...]
    live: tuple[_Live, ...]
    folders: tuple[_Text, ...]
    home: tuple[_Text, ...]
    gone: tuple[_Text, ...]
    id: str


def parse_journal(text: str, where: str) -> Journal:
    """The Journal that `journal_text` wrote. Raises ApplyError that names the file."""
    try:
        told = _Document.model_validate_json(text)
        if told.schema_version != VERSION:
            raise ValueError(f"schema_version must be {VERSION} but is {told.schema_version}")
        entries = tuple(
            Entry(one.path, one.before.state() if one.before else None, one.after.state() if one.after else None)
            for one in told.entries
        )
    except (ValidationError, ValueError) as error:
        first: Any = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise ApplyError(f"{where} is no journal of this advisor ({first}); nothing was changed") from None
    live = tuple(Live(**one.model_dump()) for one in told.live)
    return Journal(entries, live, told.folders, told.home, told.gone, told.id)
