"""A tree out of a tar, read once into memory: nothing is ever unpacked to disk.

Reads ustar, GNU long names and pax paths, plain or compressed by gzip, bzip2, xz or zstd, told by content and not
by the file's name. An archive is untrusted: members, bytes, path lengths and the compressors' own memory have limits;
names that leave the root and devices are left out. Formats: tar(5) of libarchive, POSIX.1-2024 pax.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from advisor.errors import SourceError
from advisor.host.compression import Stream, decompressed
from advisor.host.paths import text_of
from advisor.host.tree import FOLDER, Node, Store
from advisor.inputs import printable

_BLOCK = 512
_PIECE_BYTES = 1024 * 1024
_PAX_LIMIT_BYTES = 1024 * 1024
"""A member's extended header; a path and some times take a few hundred bytes."""


@dataclass(frozen=True)
class Limits:
    """What an archive may hold."""

    members: int = 1_000_000
    unpacked_bytes: int = 1024**3
    kept_bytes: int = 512 * 1024 * 1024
    file_bytes: int = 16 * 1024 * 1024
    """Of a larger file only the beginning is kept."""
    path_characters: int = 4096


@dataclass
class MemoryStore(Store):
    """A tree in memory."""

    nodes: dict[str, Node] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, dict[str, None]] = field(default_factory=lambda: {"": {}})
    left_out: list[str] = field(default_factory=list)
    """Members that were not taken, each with its reason."""
    top: str = ""

    def node(self, path: str) -> Node | None:
        """What lies at ``path``; a folder that only its members name is there too."""
        place = self.top + path
        found = self.nodes.get(place)
        return found if found is not None else FOLDER if place in self.folders else None

    def content(self, path: str, limit: int) -> bytes:
        """The first bytes of a file."""
        return self.files[self.top + path][:limit]

    def children(self, path: str) -> Sequence[str]:
        """The names in a folder."""
        return tuple(self.folders.get(self.top + path, ()))

    def below(self, path: str) -> "MemoryStore":
        """The same tree with ``path`` as its root."""
        return MemoryStore(self.nodes, self.files, self.folders, self.left_out, self.top + path)

    def add(self, path: str, node: Node, data: bytes = b"") -> None:
        """Puts a member at ``path``; what was there before gives way, as in tar."""
        if node.kind == "folder":
            self.folders.setdefault(path, {})
        else:
            self.files.pop(path, None)
        self.nodes[path] = node
        if node.kind == "file":
            self.files[path] = data
        while path:
            head, _, name = path.rpartition("/")
            siblings = self.folders.setdefault(head, {})
            if name in siblings:
                break
            siblings[name] = None
            path = head


def read_archive(path: str, limits: Limits | None = None) -> MemoryStore:
    """The tree that the tar at ``path`` holds. Raises SourceError, one sentence, naming the file."""
    return _Reader(path, limits or Limits()).read()


@dataclass(frozen=True)
class _Member:
    name: bytes
    kind: bytes
    mode: int
    size: int
    target: bytes


class _Reader:
    """One pass over one archive."""

    def __init__(self, path: str, limits: Limits) -> None:
        self.path = printable(path)
        self.source = path
        self.limits = limits
        self.unpacked = 0
        self.kept = 0
        self.store = MemoryStore()
        self.stream: Stream

    def read(self) -> MemoryStore:
        try:
            # O_NONBLOCK: a FIFO without a writer must not hang.
            descriptor = os.open(self.source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(f"cannot read {self.path}: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SourceError(f"cannot read {self.path}: it is neither a folder nor a regular file")
            start = file.read(_BLOCK)
            file.seek(0)
            self.stream = decompressed(file, start)
            try:
                self._members()
                self._rest()
            except (OSError, ValueError) as error:
                raise self._wrong(f"damaged or cut short ({error})") from None
        return self.store

    def _wrong(self, what: str) -> SourceError:
        return SourceError(f"{self.path} is not a readable tar archive: {what}; pack it again with tar -cf")

    def _members(self) -> None:
        for number, member in enumerate(self._headers(), start=1):
            if number > self.limits.members:
                raise SourceError(
                    f"{self.path} holds more than {self.limits.members} members, which no machine's tree does"
                )
            keep = min(member.size, self.limits.file_bytes) if member.kind in (b"0", b"\0", b"7") else 0
            data = self._take(keep)
            self._skip(_padded(member.size) - keep)
            self.kept += keep
            if self.kept > self.limits.kept_bytes:
                size = self.limits.kept_bytes // 1024**2
                raise SourceError(
                    f"{self.path} holds more than {size} MiB of files, which no tree of /proc and /sys does"
                )
            self._place(member, data)

    def _rest(self) -> None:
        """Reads what follows the last member: only at its end does a compressed file tell that it is whole."""
        while self._piece(_PIECE_BYTES):
            pass

    def _place(self, member: _Member, data: bytes) -> None:
        name = text_of(member.name)
        path = self._inside(name)
        if path is None:
            self.store.left_out.append(f"{printable(name)[:200]}: leaves the root")
        elif member.kind in (b"0", b"\0", b"7"):
            self._add(path, Node("file", member.mode), data)
        elif member.kind == b"5":
            self._add_folder(path, member.mode)
        elif member.kind == b"2":
            self._add(path, Node("link", target=text_of(member.target)))
        elif member.kind == b"1":
            self._hard_link(path, member)
        else:
            self._add(path, Node("other", member.mode))

    def _add(self, path: str, node: Node, data: bytes = b"") -> None:
        if path in self.store.folders:
            self.store.left_out.append(f"{printable(path)[:200]}: a folder lies there already")
        else:
            self.store.add(path, node, data)

    def _add_folder(self, path: str, mode: int) -> None:
        if path and path not in self.store.folders:
            self.store.files.pop(path, None)
        if path:
            self.store.add(path, Node("folder", mode))

    def _hard_link(self, path: str, member: _Member) -> None:
        first = self._inside(text_of(member.target))
        if first in self.store.files:
            self._add(path, self.store.nodes[first], self.store.files[first])
        else:
            self._add(path, Node("other", member.mode))

    def _inside(self, name: str) -> str | None:
        """The member's path below the root; ``None`` when it leaves it."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts:
            return None
        path = "".join(f"/{part}" for part in parts)
        if len(path) > self.limits.path_characters:
            raise SourceError(f"{self.path} holds a path of {len(path)} characters; Linux allows 4096")
        return path

    def _headers(self) -> Iterator[_Member]:
        """Members in their order, names from extended headers filled in."""
        name = target = b""
        records: dict[bytes, bytes] = {}
        while (block := self._take(_BLOCK, allow_end=True)).strip(b"\0"):
            member = self._header(block)
            if member.kind in (b"L", b"K", b"x", b"g"):
                body = self._extension(member)
                if member.kind == b"L":
                    name = body.rstrip(b"\0")
                elif member.kind == b"K":
                    target = body.rstrip(b"\0")
                elif member.kind == b"x":
                    records = dict(_pax_records(body))
                continue
            if member.kind == b"S":
                self._skip_sparse_map(block)
            member = _with_pax(replace(member, name=name or member.name, target=target or member.target), records)
            # Before ustar a folder was a file whose name ends with a slash.
            yield replace(member, kind=b"5") if member.kind == b"\0" and member.name.endswith(b"/") else member
            name = target = b""
            records = {}

    def _header(self, block: bytes) -> _Member:
        total = sum(block) - sum(block[148:156]) + 8 * ord(" ")
        if _number(block[148:156]) != total:
            raise self._wrong("no tar header where one should be")
        name = _text(block[0:100])
        if block[257:263] == b"ustar\0" and block[345]:
            name = _text(block[345:500]) + b"/" + name
        kind = block[156:157]
        size = _number(block[124:136]) if kind not in (b"1", b"2", b"3", b"4", b"5", b"6") else 0
        return _Member(name, kind, _number(block[100:108]) & 0o7777, size, _text(block[157:257]))

    def _skip_sparse_map(self, block: bytes) -> None:
        """The blocks that GNU's old sparse format puts between header and data."""
        more = block[482]
        while more:
            more = self._take(_BLOCK)[504]

    def _extension(self, member: _Member) -> bytes:
        if member.size > _PAX_LIMIT_BYTES:
            raise self._wrong(f"an extended header of {member.size} bytes")
        body = self._take(member.size)
        self._skip(_padded(member.size) - member.size)
        return body

    def _take(self, size: int, allow_end: bool = False) -> bytes:
        """The next ``size`` bytes; at the archive's end all there are, if that is allowed."""
        pieces = []
        missing = size
        while missing > 0:
            piece = self._piece(min(missing, _PIECE_BYTES))
            if not piece:
                break
            missing -= len(piece)
            pieces.append(piece)
        if missing and not (allow_end and missing == size):
            raise self._wrong("it ends in the middle of a member")
        return b"".join(pieces)

    def _piece(self, size: int) -> bytes:
        piece = self.stream.read(size)
        self.unpacked += len(piece)
        if self.unpacked > self.limits.unpacked_bytes:
            most = self.limits.unpacked_bytes // 1024**2
            raise SourceError(f"{self.path} unpacks to more than {most} MiB, which no machine's tree does")
        return piece

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._take(min(size, _PIECE_BYTES)))


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _text(raw: bytes) -> bytes:
    return raw.split(b"\0", 1)[0]


def _number(raw: bytes) -> int:
    """An octal number, or GNU's binary one that starts with the byte 0x80. Raises ValueError."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.split(b"\0", 1)[0].strip()
    if not digits:
        return 0
    if not digits.isdigit():
        raise ValueError(f"{raw!r} is not an octal number")
    return int(digits, 8)


def _with_pax(member: _Member, records: dict[bytes, bytes]) -> _Member:
    """``member`` with what its extended header says. Raises ValueError."""
    if any(key.startswith(b"GNU.sparse.") for key in records):
        # Its data starts with a map of holes; no pseudo-file is packed like that, so it is not taken apart.
        member = replace(member, kind=b"S", name=records.get(b"GNU.sparse.name", member.name))
    size = int(records.get(b"size", member.size))
    if size < 0:
        raise ValueError(f"a member of {size} bytes")
    name, target = records.get(b"path", member.name), records.get(b"linkpath", member.target)
    return replace(member, name=name, target=target, size=size)


def _pax_records(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of records like ``25 path=sys/devices/x\\n``. Raises ValueError."""
    at = 0
    while at < len(body) and body[at]:
        length = int(body[at : body.index(b" ", at, at + 20)])
        if length <= 0 or at + length > len(body):
            raise ValueError(f"an extended header record of {length} bytes")
        record = body[at : at + length]
        key, equals, value = record.partition(b" ")[2].partition(b"=")
        if not equals or not value.endswith(b"\n"):
            raise ValueError("a broken extended header")
        yield key, value[:-1]
        at += length
