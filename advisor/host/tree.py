"""A machine that lies in a folder or an archive: links stay inside the root, what is missing was not captured."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from advisor.host.base import (
    AFFINITY,
    COMMAND_SECONDS,
    ENVIRONMENT,
    LIMITS,
    NVML,
    READ_LIMIT_BYTES,
    FileSystemUse,
    Host,
    Limit,
    Output,
    command_origin,
)
from advisor.host.paths import in_natural_order, raw_of, text_of
from advisor.host.states import state_of

_LINKS_LIMIT = 40
"""As many links as Linux follows in one path (MAXSYMLINKS)."""

_FIRST_BYTES = 4096
"""As much as a file of sysfs holds; a regular file that gave less has no more."""
Kind = Literal["file", "folder", "link", "other"]


@dataclass(frozen=True)
class Node:
    """What lies at one path of a store; ``target`` is a link's text."""

    kind: Kind
    mode: int | None = None
    target: str = ""


FOLDER = Node("folder")


class Store(Protocol):
    """Where a tree's files lie. Paths start with ``/`` and hold no link, ``.`` or ``..``; the root is ``""``."""

    def node(self, path: str) -> Node | None:
        """What lies at ``path``, without following it."""

    def content(self, path: str, limit: int) -> bytes:
        """The first bytes of a file. Raises OSError."""

    def look(self, path: str, limit: int) -> bytes | Node | None:
        """The first bytes of what lies at ``path`` if it is a file, else what `node` says. Raises OSError."""
        node = self.node(path)
        return self.content(path, limit) if node is not None and node.kind == "file" else node

    def children(self, path: str) -> Sequence[str]:
        """The names in a folder. Raises OSError."""

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        """The names in a folder, each with whether it is known to be a folder itself, and no link. Raises OSError."""
        return [(name, False) for name in self.children(path)]

    def below(self, path: str) -> "Store":
        """The same store with ``path`` as its root."""


@dataclass(frozen=True)
class FolderStore(Store):
    """A tree in a folder of this machine."""

    top: str

    def node(self, path: str) -> Node | None:
        return _node_at(self._place(path))

    def content(self, path: str, limit: int) -> bytes:
        return _bytes_of(self._place(path), limit)

    def look(self, path: str, limit: int) -> bytes | Node | None:
        place = self._place(path)
        try:
            is_file = stat.S_ISREG(os.lstat(place).st_mode)
        except (OSError, ValueError):
            return None
        return _bytes_of(place, limit) if is_file else _node_at(place)

    def children(self, path: str) -> Sequence[str]:
        return [name for name, _ in self.entries(path)]

    def entries(self, path: str) -> Sequence[tuple[str, bool]]:
        with os.scandir(self._place(path)) as found:
            return [(_name_of(entry.name), entry.is_dir(follow_symlinks=False)) for entry in found]

    def below(self, path: str) -> "FolderStore":
        """The same tree with ``path`` as its root."""
        return FolderStore(os.fsdecode(self._place(path)))

    def _place(self, path: str) -> str | bytes:
        raw = raw_of(path)
        return self.top + raw if isinstance(raw, str) else os.fsencode(self.top) + raw


@dataclass(frozen=True)
class Found:
    """The end of a walk: the path without links, and what is there (``None``: nothing, ``loop``: too many links)."""

    path: str
    node: Node | None
    loop: bool = False


@dataclass
class Tree(Host):
    """A plain tree of /proc, /sys and /etc: it tells what is in it and nothing about what is not."""

    store: Store = field(default_factory=lambda: FolderStore("/nonexistent"))
    _folders: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def in_folder(cls, folder: str | Path) -> "Tree":
        """The machine whose root is ``folder``, without looking for it further down."""
        return cls(kind="tree", root_user=None, store=FolderStore(os.fspath(folder).rstrip("/")))

    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        head, _, tail = path.rpartition("/")
        folder = None if tail in ("", ".", "..") else self._folder(head)
        try:
            if isinstance(folder, str):
                # By far the most questions: one look tells a file's content.
                here = f"{folder}/{tail}"
                there = self.store.look(here, limit)
                if isinstance(there, bytes):
                    return there
                found = Found(here, there)
            if not isinstance(folder, str) or (found.node is not None and found.node.kind == "link"):
                found = self._walk(path)
            if found.node is not None and found.node.kind == "file":
                return self.store.content(found.path, limit)
        except OSError as error:
            self.missed(path, state_of(error.errno))
            return None
        if found.node is None:
            self._lacks("data", path, found)
        else:
            self.missed(path, "error" if found.node.kind == "folder" else "unsupported")
        return None

    def names(self, path: str) -> tuple[str, ...] | None:
        found = self._walk(path)
        if found.node is None:
            self._lacks("names", path, found)
            return None
        if found.node.kind != "folder":
            self.missed(path, "absent")
            return None
        return self._listed(path, found.path)

    def _listed(self, path: str, place: str) -> tuple[str, ...] | None:
        try:
            entries = self.store.entries(place)
        except OSError as error:
            self.missed(path, state_of(error.errno))
            return None
        top = path.rstrip("/")
        self._folders.update((f"{top}/{name}", f"{place}/{name}") for name, is_folder in entries if is_folder)
        return in_natural_order(name for name, _ in entries)

    def link(self, path: str) -> str | None:
        found = self._walk(path, follow=False)
        if found.node is None:
            self._lacks("link", path, found)
            return None
        if found.node.kind != "link":
            self.missed(path, "unsupported")
            return None
        return found.node.target

    def real(self, path: str) -> str | None:
        found = self._walk(path)
        if found.node is None:
            self._lacks("real", path, found)
            return None
        return found.path or "/"

    def exists(self, path: str) -> bool | None:
        found = self._walk(path)
        if found.node is None:
            self._lacks("exists", path, found)
            return None
        return True

    def mode(self, path: str) -> int | None:
        found = self._walk(path)
        if found.node is None:
            self._lacks("mode", path, found)
            return None
        if found.node.mode is None:
            self.missed(path, "not captured")
            return None
        return found.node.mode

    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        self.missed(command_origin(argv), "not captured")
        return None

    def statvfs(self, mount_point: str, network: bool = False) -> FileSystemUse | None:
        self.missed(mount_point, "not captured")
        return None

    def affinity(self) -> frozenset[int] | None:
        self.missed(AFFINITY, "not captured")
        return None

    def limit(self, name: str) -> Limit | None:
        # The file itself may be there for a probe to read.
        if self._walk(LIMITS).node is None:
            self.missed(LIMITS, "not captured")
        return None

    def environment(self) -> Mapping[str, str] | None:
        self.missed(ENVIRONMENT, "not captured")
        return None

    def nvml(self) -> Mapping[str, object] | None:
        self.missed(NVML, "not captured")
        return None

    def _lacks(self, question: str, path: str, found: Found) -> None:
        """Records why there is no answer to a question."""
        self.gaps[path] = "error" if found.loop else "not captured"

    def _walk(self, path: str, follow: bool = True) -> Found:
        """Where ``path`` leads; its last part is followed too unless told otherwise."""
        head, _, tail = path.rstrip("/").rpartition("/")
        if tail in ("", ".", ".."):
            return self._steps("", path, follow)
        folder = self._folder(head)
        if isinstance(folder, Found):
            return Found(f"{folder.path}/{tail}", None, folder.loop)
        here = f"{folder}/{tail}"
        node = self.store.node(here)
        if node is None or node.kind != "link" or not follow:
            return Found(here, node)
        return self._steps(folder, tail, follow)

    def _folder(self, path: str) -> str | Found:
        """The way without links to a folder, or where it ends if that is none."""
        known = self._folders.get(path)
        if known is not None:
            return known
        # Folders are often neighbours: the way to the last but one is known too.
        near = 0 < path.count("/") < _LINKS_LIMIT and path.strip("/.")
        found = self._walk(path) if near else self._steps("", path, True)
        if found.node is None or found.node.kind != "folder":
            return found
        self._folders[path] = found.path
        return found.path

    def _steps(self, at: str, path: str, follow: bool) -> Found:
        """One part of ``path`` after the other from the folder ``at``; ``..`` stops at the root."""
        todo = _parts(path)
        links = 0
        last = FOLDER
        while todo:
            name = todo.pop()
            if name == "..":
                at, last = at.rpartition("/")[0], FOLDER
                continue
            here = f"{at}/{name}"
            node = self.store.node(here)
            if node is not None and node.kind == "link" and (follow or todo):
                links += 1
                if links > _LINKS_LIMIT:
                    return Found(here, None, loop=True)
                at = "" if node.target.startswith("/") else at
                todo.extend(_parts(node.target))
                continue
            if node is None or (todo and node.kind != "folder"):
                return Found("/".join([here, *reversed(todo)]), None)
            at, last = here, node
        return Found(at, last)


def _name_of(name: str | bytes) -> str:
    """The text of a name that the system gave."""
    return name if isinstance(name, str) and name.isascii() else text_of(os.fsencode(name))


def _node_at(place: str | bytes) -> Node | None:
    """What lies at a place of this machine."""
    try:
        found = os.lstat(place)
    except (OSError, ValueError):
        return None
    if stat.S_ISLNK(found.st_mode):
        return Node("link", target=text_of(os.readlink(os.fsencode(place))))
    kind: Kind = "file" if stat.S_ISREG(found.st_mode) else "folder" if stat.S_ISDIR(found.st_mode) else "other"
    return Node(kind, found.st_mode & 0o7777)


def _bytes_of(place: str | bytes, limit: int) -> bytes:
    """The first bytes of a file of this machine that is no link. Raises OSError."""
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        asked = min(limit, _FIRST_BYTES)
        first = os.read(descriptor, asked)
        if len(first) < asked:
            return first
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return first + stream.read(limit - len(first))
    finally:
        os.close(descriptor)


def _parts(path: str) -> list[str]:
    """The parts of a path, the last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
