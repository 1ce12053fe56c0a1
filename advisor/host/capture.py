"""A capture of ours: a tree that recorded what it looked for, and the answers of commands and system calls.

Layout: see `advisor.host.recording`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from advisor.errors import SourceError
from advisor.host.base import (
    AFFINITY,
    COMMAND_SECONDS,
    ENVIRONMENT,
    LIMITS,
    NVML,
    READ_LIMIT_BYTES,
    Again,
    FileSystemUse,
    Limit,
    Output,
    command_origin,
)
from advisor.host.paths import in_natural_order
from advisor.host.states import named_state
from advisor.host.tree import FOLDER, Found, Kind, Node, Store, Tree
from advisor.inputs import printable
from advisor.model.facts import GapState

MARK = "advisor-capture.json"
SAMPLE = "sample"
"""The folder of a capture that holds a second reading of the counters: a capture itself."""
CAPTURE_VERSION = 1
_TEXT_LIMIT_BYTES = 64 * 1024 * 1024
_MISFITS: Mapping[tuple[str, Kind], GapState] = {
    ("data", "folder"): "error",
    ("names", "file"): "absent",
    ("link", "file"): "unsupported",
    ("link", "folder"): "unsupported",
}
"""What the kernel answers to a question that does not fit what is there: EISDIR, ENOTDIR, EINVAL."""


_ESCAPE = re.compile(r"\\([tn\\])")
M = TypeVar("M", bound=BaseModel)


class About(BaseModel):
    """What ``advisor-capture.json`` says; further keys are for people."""

    model_config = ConfigDict(extra="ignore")

    version: int
    source: str = "live"
    """What was recorded; a plain tree's listings leave out what was not captured."""
    root_user: bool | None = None
    seconds: dict[str, Annotated[float, Field(gt=0)]] | Annotated[float, Field(gt=0)] | None = None
    """Of a second reading: how long after the first, in all or by section."""


class Calls(BaseModel):
    """What ``calls.json`` says; a key that is missing was not asked."""

    model_config = ConfigDict(extra="forbid")

    names: dict[str, list[str]] | None = None
    """Listings by folder; when given, a folder without one was not listed, whatever lies in it."""
    exists: dict[str, bool] = {}
    modes: dict[str, int] = {}
    statvfs: dict[str, tuple[int, int, int, int, int]] = {}
    limits: dict[str, tuple[int | None, int | None]] = {}
    affinity: list[int] | None = None
    environment: dict[str, str] | None = None
    nvml: dict[str, Any] | None = None


@dataclass
class Capture(Tree):
    """A machine as it was recorded."""

    calls: Calls = field(default_factory=Calls)
    lists_all: bool = True
    """Whether a listing names everything that was there."""
    outputs: Mapping[tuple[str, ...], Output] = field(default_factory=dict)
    failures: Mapping[tuple[str, str], GapState] = field(default_factory=dict)
    """Gap state by question and path; the question is empty where the capture does not say it."""
    second: Again | None = None
    _absent: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, store: Store, where: str, is_second: bool = False) -> "Capture":
        """The capture in ``store``; ``where`` names it in errors. Raises SourceError."""
        about = _parsed(store, "/" + MARK, About, where)
        fs = store.node("/fs")
        if fs is None or fs.kind != "folder":
            raise SourceError(f"{where}: a capture has its files in a folder fs beside {MARK}, which is missing")
        if about.version != CAPTURE_VERSION:
            raise SourceError(f"{where}: {MARK}: version must be {CAPTURE_VERSION} but is {about.version}")
        calls = _parsed(store, "/calls.json", Calls, where) if store.node("/calls.json") else Calls()
        failures = dict(_failures(_text(store, "/errors.tsv") or "", where))
        return cls(
            kind="capture",
            root_user=about.root_user,
            store=_Recorded(store, calls),
            calls=calls,
            lists_all=about.source != "tree",
            outputs=dict(_outputs(store, where)),
            failures=failures,
            second=None if is_second else _second(store, where),
            _absent=frozenset(path for (_, path), state in failures.items() if state == "absent"),
        )

    def again(self) -> Again | None:
        return self.second

    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        found = self._walk(path)
        if found.node is not None and found.node.kind == "file":
            return super().data(path, limit)
        self._lacks("data", path, found)
        return None

    def link(self, path: str) -> str | None:
        found = self._walk(path, follow=False)
        if found.node is not None and found.node.kind == "link":
            return found.node.target
        self._lacks("link", path, found)
        return None

    def names(self, path: str) -> tuple[str, ...] | None:
        """The recorded listing; a folder that was not listed has none, even if files in it were read."""
        if self.calls.names is None:
            return super().names(path)
        found = self._walk(path)
        listed = self.calls.names.get(found.path or "/")
        if listed is not None:
            return in_natural_order(listed)
        self._lacks("names", path, found)
        return None

    def exists(self, path: str) -> bool | None:
        """Whether something was there; what was looked for and not found is a fact of a capture."""
        found = self._walk(path)
        if found.node is not None:
            return True
        state = self._failure("exists", path, found)
        self.missed(path, state)
        return False if state == "absent" else None

    def mode(self, path: str) -> int | None:
        found = self._walk(path)
        mode = self.calls.modes.get(found.path or "/")
        if mode is None:
            self._lacks("mode", path, found)
        return mode

    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        output = self.outputs.get(tuple(argv))
        if output is None:
            self._unanswered("run", command_origin(argv))
        return output

    def statvfs(self, mount_point: str, network: bool = False) -> FileSystemUse | None:
        answer = self.calls.statvfs.get(mount_point)
        if answer is None:
            self._unanswered("statvfs", mount_point)
            return None
        return FileSystemUse(*answer)

    def affinity(self) -> frozenset[int] | None:
        if self.calls.affinity is None:
            self._unanswered("affinity", AFFINITY)
            return None
        return frozenset(self.calls.affinity)

    def limit(self, name: str) -> Limit | None:
        answer = self.calls.limits.get(name)
        if answer is not None:
            return Limit(*answer)
        # A collector may have kept the file instead, for a probe to read.
        if ("limit " + name, LIMITS) in self.failures or self._walk(LIMITS).node is None:
            self._unanswered("limit " + name, LIMITS)
        return None

    def environment(self) -> Mapping[str, str] | None:
        if self.calls.environment is None:
            self._unanswered("environment", ENVIRONMENT)
        return self.calls.environment

    def nvml(self) -> Mapping[str, object] | None:
        if self.calls.nvml is None:
            self._unanswered("nvml", NVML)
        return self.calls.nvml

    def _unanswered(self, question: str, key: str) -> None:
        self.missed(key, self.failures.get((question, key)) or self.failures.get(("", key)) or "not captured")

    def _lacks(self, question: str, path: str, found: Found) -> None:
        self.missed(path, self._failure(question, path, found))

    def _failure(self, question: str, path: str, found: Found) -> GapState:
        """Why there is no answer: as recorded for this question, for this path, or for a folder above it."""
        for key in (path, found.path):
            for asked in (question, ""):
                if (asked, key) in self.failures:
                    return self.failures[asked, key]
        if found.loop:
            return "error"
        if found.node is None:
            return "absent" if self._is_absent(found.path) else "not captured"
        return _MISFITS.get((question, found.node.kind), "not captured")

    def _is_absent(self, path: str) -> bool:
        """Whether it follows from what was recorded that nothing was there."""
        known = self.calls
        while path:
            head, _, name = path.rpartition("/")
            if known.exists.get(path) is False or path in self._absent:
                return True
            siblings = known.names.get(head or "/") if known.names is not None and self.lists_all else None
            if siblings is not None:
                return name not in siblings
            path = head
        return False


def _second(store: Store, where: str) -> Again | None:
    """The second reading in a capture, if there is one."""
    folder = store.node(f"/{SAMPLE}")
    if folder is None or folder.kind != "folder" or store.node(f"/{SAMPLE}/{MARK}") is None:
        return None
    inner, place = store.below(f"/{SAMPLE}"), f"{where}/{SAMPLE}"
    told = _parsed(inner, "/" + MARK, About, place).seconds
    if told is None:
        raise SourceError(f"{place}: {MARK}: seconds is missing: how long after the first this reading was")
    return Again(Capture.of(inner, place, is_second=True), told)


class _Recorded(Store):
    """The files of a capture, and what is known to have been there without its content."""

    def __init__(self, store: Store, calls: Calls) -> None:
        self.store = store
        self.known: dict[str, Node] = {}
        present = [path for path, there in calls.exists.items() if there]
        for path in (*present, *calls.modes):
            self.known.setdefault(path.rstrip("/"), Node("other"))
        for path in (*self.known, *(calls.names or {})):
            self._folders(path.rstrip("/"), path in (calls.names or {}))

    def _folders(self, path: str, listed: bool) -> None:
        if listed:
            self.known[path] = FOLDER
        while path := path.rpartition("/")[0]:
            if self.known.get(path) == FOLDER:
                break
            self.known[path] = FOLDER

    def node(self, path: str) -> Node | None:
        return self.store.node("/fs" + path) or self.known.get(path)

    def content(self, path: str, limit: int) -> bytes:
        return self.store.content("/fs" + path, limit)

    def look(self, path: str, limit: int) -> bytes | Node | None:
        found = self.store.look("/fs" + path, limit)
        return self.known.get(path) if found is None else found

    def children(self, path: str) -> Sequence[str]:
        return self.store.children("/fs" + path)

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        return self.store.entries("/fs" + path)

    def below(self, path: str) -> Store:
        return self.store.below("/fs" + path)


def _parsed(store: Store, path: str, model: type[M], where: str) -> M:
    """A JSON file of the capture as ``model``."""
    try:
        return model.model_validate_json(_text(store, path) or "")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SourceError(f"{where}: {path[1:]}: {printable(place)}: {printable(first['msg'])}") from None


def _text(store: Store, path: str) -> str | None:
    """The text of a regular file of the capture; ``None`` when there is none."""
    node = store.node(path)
    if node is None or node.kind != "file":
        return None
    try:
        return store.content(path, _TEXT_LIMIT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def _outputs(store: Store, where: str) -> Iterator[tuple[tuple[str, ...], Output]]:
    """Commands and what they left behind; one that has no exit status did not end."""
    folder = store.node("/cmd")
    if folder is None or folder.kind != "folder":
        return
    for name in in_natural_order(store.children("/cmd")):
        base, dot, part = name.rpartition(".")
        if part != "argv" or not dot:
            continue
        argv = tuple((_text(store, f"/cmd/{name}") or "").removesuffix("\n").split("\n"))
        status = (_text(store, f"/cmd/{base}.rc") or "").strip()
        if not status:
            continue
        if not status.lstrip("-").isdecimal() or len(status) > 6:
            raise SourceError(f"{where}: cmd/{printable(base)}.rc must hold an exit status but holds {status[:40]!r}")
        stdout, stderr = (_text(store, f"/cmd/{base}.{stream}") or "" for stream in ("stdout", "stderr"))
        yield argv, Output(argv, int(status), stdout, stderr)


def _failures(text: str, where: str) -> Iterator[tuple[tuple[str, str], GapState]]:
    """Question and path to gap state. A line is ``path TAB errno`` and, if known, ``TAB question``:

    /sys/class/net/eth0/speed	EINVAL	data
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        path, word, question = (*line.split("\t"), "", "")[:3]
        state = named_state(word)
        if state is None:
            raise SourceError(f"{where}: errors.tsv:{number}: {word[:40]!r} is no errno; a line is path, tab, errno")
        yield (question, unescaped(path)), state


def escaped(path: str) -> str:
    """``path`` as one field of a line."""
    return path.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def unescaped(field_text: str) -> str:
    """What `escaped` was given; other backslashes stay as they are."""
    return _ESCAPE.sub(lambda found: {"t": "\t", "n": "\n"}.get(found[1], found[1]), field_text)
