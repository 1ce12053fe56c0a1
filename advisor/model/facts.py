"""The base of all fact models and the marks that may stand on their fields.

A fact that could not be read is ``None``; why, stands in the gaps of its Snapshot under the path of the
fact's file (`evidence_path`). A list that was read and is empty is ``()``, a list that could not be read ``None``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

GapState = Literal["absent", "denied", "unsupported", "error", "timed out", "distrusted", "not captured"]
"""Why a path gave no value. Only ``absent`` is a fact about the host; all others mean that we do not know.

``distrusted``: it was read and not believed, for it contradicts another file."""


Seen = Literal["host", "own", "masked"]
"""What a container sees of a fact: the host's value, its own (namespaced) one, or usually nothing."""


@dataclass(frozen=True)
class File:
    """Mark: the value is the content of this one file below the model's ``origin``."""

    name: str
    unknown: tuple[str, ...] = ()
    """Contents that mean "not known" (``-1``, ``Unknown`` ...)."""
    scale: int = 1
    """Factor from the file's unit to the field's (1024 for kB to bytes)."""
    bracketed: bool = False
    """The value is the word in ``[brackets]``."""


@dataclass(frozen=True)
class Volatile:
    """Mark: changes by itself (counters, free memory, load); never in a file meant for git."""


@dataclass(frozen=True)
class Counter(Volatile):
    """Mark: a number that only grows until it starts again; what counts is its growth between two readings."""

    bits: int | None = None
    """Its width where that is known and small enough to be passed: behind its largest value it starts again at 0."""
    stops_at: int | None = None
    """The value at which it stops counting until it is cleared."""
    sum_of: str = ""
    """The list of the same model whose items' counters of the same name it is the sum of."""


@dataclass(frozen=True)
class Private:
    """Mark: identifies the host or opens a door (serial, MAC, GUID, credential); never in a file meant for git."""


@dataclass(frozen=True)
class HostName(Private):
    """Mark: the name of the host itself, which is taken out of every other text too (`advisor.model.scrubbing`)."""


@dataclass(frozen=True)
class Root:
    """Mark: only root can read it."""


@dataclass(frozen=True)
class ReadFrom:
    """Mark: the shell pattern of the field's evidence, where neither a `File` mark nor the model says it."""

    pattern: str


@dataclass(frozen=True)
class SeenAs:
    """Mark: what a container sees of this field, where it differs from its model's `Facts.seen`."""

    seen: Seen


class Facts(BaseModel):
    """What one folder, file or command of the host says.

    Fields are ``Annotated[type | None, marks...] = None``; a plain string among the marks describes the field,
    with its unit. Field names carry units (``_bytes``, ``_seconds``, ``_mbps``).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    origin: str = ""
    """Absolute path of the folder or file, or ``command: argv``, that the values were read from."""
    origins: dict[str, str] = {}
    """Exceptions from ``origin`` and the `File` marks: field name to the path its value was read from."""
    seen: ClassVar[Seen | None] = None
    """What a container sees of the fields; ``None``: the same as of the model that holds this one."""
    read_from: ClassVar[str] = ""
    """What ``origin`` looks like, as a shell pattern, for a model that no `Collected` names."""


@dataclass(frozen=True)
class FieldMarks:
    """The marks of one field."""

    file: File | None = None
    volatile: bool = False
    counter: Counter | None = None
    private: bool = False
    names_host: bool = False
    root: bool = False
    seen: Seen | None = None
    source: str = ""
    about: str = ""
    others: tuple[Any, ...] = field(default=())


@cache
def marks(model: type[Facts]) -> Mapping[str, FieldMarks]:
    """The marks of every field of a model, but for ``origin`` and ``origins``."""
    return {
        name: _marks(info.metadata) for name, info in model.model_fields.items() if name not in ("origin", "origins")
    }


def _marks(metadata: list[Any]) -> FieldMarks:
    files = [m for m in metadata if isinstance(m, File)]
    texts = [m for m in metadata if isinstance(m, str)]
    seen = [m.seen for m in metadata if isinstance(m, SeenAs)]
    sources = [m.pattern for m in metadata if isinstance(m, ReadFrom)]
    return FieldMarks(
        file=files[0] if files else None,
        volatile=any(isinstance(m, Volatile) for m in metadata),
        counter=next((m for m in metadata if isinstance(m, Counter)), None),
        private=any(isinstance(m, Private) for m in metadata),
        names_host=any(isinstance(m, HostName) for m in metadata),
        root=any(isinstance(m, Root) for m in metadata),
        seen=seen[0] if seen else None,
        source=sources[0] if sources else "",
        about=texts[0] if texts else "",
    )


def evidence_path(facts: Facts, name: str) -> str:
    """The file (or command) that field ``name`` was, or would have been, read from."""
    if name in facts.origins:
        return facts.origins[name]
    mark = marks(type(facts)).get(name, FieldMarks()).file
    if mark is None:
        return facts.origin
    return f"{facts.origin.rstrip('/')}/{mark.name}"
