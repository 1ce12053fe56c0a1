"""Writing OUT: whole files or none, only what changed, never over an edit of the user's, never outside OUT."""

import errno
import os
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from advisor.errors import InputError
from advisor.inputs import printable
from advisor.planning.lock import LOCK_NAME, Lock, content_hash, lock_text, parse_lock, safe_path

_LIMIT_BYTES = 64 * 1024 * 1024
"""No generated file is larger; what is longer is compared, or refused, by its beginning."""
_REMOVABLE = ("host/", "job/", "suggested/", "report.md", "tuning.json")
"""A lock from somebody else's commit must not be able to name any other file for removal."""
_MOST_NAMED = 20
"""Of files that are not ours."""
_YOURS_IF_THERE = ".gitignore"
"""A repository's own file of that name is left alone."""


@dataclass(frozen=True)
class Output:
    """What OUT is to hold."""

    committed: Mapping[str, str]
    """Path below OUT to text; listed with its hash in advisor.lock."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Files that git ignores: written, not listed."""
    records: Collection[str] = ()
    """Committed files that other runs write too (facts.json): written over whatever is there."""
    keep: Collection[str] = ()
    """Files of a former run that stay although they are not made now."""
    validity: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """Paths below OUT of files for git, each list sorted; files that git ignores change with every run."""

    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def write_out(out: str | Path, output: Output) -> Written:
    """Makes OUT hold ``output`` and says what that changed; files of a former run that are not made now are removed.

    Raises InputError before anything is written: an edited file, a link that leaves OUT, a wrong advisor.lock.
    """
    root = _named(out)
    with _told(root):
        return _put(root, output, _looked_at(root, output))


def refuse_unwritable(out: str | Path, output: Output | None = None) -> None:
    """Raises InputError for an OUT that cannot be a folder or be written, and for all that `write_out` would refuse.

    Nothing is written: it tells before a long run what would else be told after it.
    """
    root = _named(out)
    with _told(root):
        _refuse_folder(root)
        if output is None:
            return
        seen = _looked_at(root, output)
        for path in sorted(path for path in seen.new if seen.new[path] != seen.found[path]):
            _refuse_folder((root / path).parent)


@contextmanager
def _told(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = printable(error.filename or root)
        raise InputError(f"cannot write {what}: {error.strerror}; choose another folder with --out") from None


def _refuse_folder(folder: Path) -> None:
    """Raises OSError where ``folder`` cannot be made, or nothing can be written in it."""
    there = next(place for place in (folder, *folder.absolute().parents) if _is_there(place))
    if not there.is_dir():
        raise OSError(errno.ENOTDIR, "it is no folder", str(there))
    try:
        with tempfile.TemporaryFile(dir=there):  # access(2) knows nothing of servers that let nobody write
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(there)) from None


def _is_there(path: Path) -> bool:
    """Also of a link that leads nowhere."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _named(out: str | Path) -> Path:
    """OUT as a path. Raises InputError for an empty name, which a variable that is not set leaves of it."""
    if not str(out):
        raise InputError("--out names no folder: it is empty; give . for this one")
    return Path(out)


def former_lock(out: str | Path) -> Lock:
    """The Lock of the last run in OUT; an empty one when there is none. Raises InputError."""
    path = Path(out) / LOCK_NAME
    refuse_outside(Path(out), LOCK_NAME)
    data = _content(path)
    return Lock() if data is None else parse_lock(data.decode("utf-8", "replace"), printable(path))


def unlisted(out: str | Path, folder: str) -> list[str]:
    """Files below a folder of OUT that advisor.lock does not name, some of them if there are many; follows no link."""
    known, found = former_lock(out).files, []
    for above, _, names in os.walk(Path(out) / folder):
        here = [str(Path(above, name).relative_to(out)) for name in names]
        found += [name for name in here if name not in known]
        if len(found) >= _MOST_NAMED:
            break
    return [str(Path(out) / name) for name in sorted(found)[:_MOST_NAMED]]


@dataclass(frozen=True)
class _Seen:
    """What OUT holds where something is to be written or removed."""

    former: Lock
    new: Mapping[str, bytes]
    found: Mapping[str, bytes | None]
    stale: list[str]


def _looked_at(root: Path, output: Output) -> _Seen:
    former = former_lock(root)
    new = {
        path: text.encode("utf-8", "backslashreplace") for path, text in {**output.committed, **output.ignored}.items()
    }
    stale = sorted(path for path in set(former.files) - set(new) - set(output.keep) if path.startswith(_REMOVABLE))
    for path in (*new, *stale):
        refuse_outside(root, path)
    found = {path: _content(root / path) for path in (*new, *stale)}
    if _YOURS_IF_THERE in new and _is_edited(_YOURS_IF_THERE, found, new, former):
        del new[_YOURS_IF_THERE]
    guarded = [path for path in (*new, *stale) if path not in output.records and path not in output.ignored]
    _refuse_edited(root, [path for path in guarded if _is_edited(path, found, new, former)], former)
    return _Seen(former, new, found, [path for path in stale if found[path] is not None])


def _put(root: Path, output: Output, seen: _Seen) -> Written:
    former, new, found, stale = seen.former, seen.new, seen.found, seen.stale
    changed = sorted(path for path in new if new[path] != found[path])
    hashes = {path: content_hash(data) for path, data in new.items() if path not in output.ignored}
    kept = {path: former.files[path] for path in output.keep if path in former.files and path not in hashes}
    lock = Lock({**kept, **hashes}, {}, output.validity)
    root.mkdir(parents=True, exist_ok=True)
    if changed or stale:
        # Should this run be cut off, the next one still knows both the old and the new files as advisor's own.
        pending = {path: hashes[path] for path in changed if path in hashes}
        _replace_file(root / LOCK_NAME, lock_text(replace(former, pending=pending)).encode())
    for path in changed:
        _replace_file(root / path, new[path])
    for path in stale:
        _remove(root, path)
    if _content(root / LOCK_NAME) != lock_text(lock).encode():
        _replace_file(root / LOCK_NAME, lock_text(lock).encode())
    told = [path for path in sorted(new) if path not in output.ignored]
    same = [path for path in told if path not in changed]
    return Written(tuple(path for path in told if path in changed), tuple(same), tuple(stale))


def _is_edited(path: str, found: Mapping[str, bytes | None], new: Mapping[str, bytes], former: Lock) -> bool:
    data = found[path]
    return data is not None and data != new.get(path) and not former.knows(path, content_hash(data))


def _refuse_edited(root: Path, edited: list[str], former: Lock) -> None:
    """Raises InputError that names every file whose content is the user's own."""
    if edited:
        lines = [f"{printable(root / path)} {_YOURS[path in former.files]}" for path in sorted(edited)]
        lines.append("nothing was written; move your change to --set (see advisor render --help) and delete the file")
        raise InputError("\n".join(lines))


_YOURS = {True: "was edited by you since it was generated", False: "is there and was not generated by advisor"}


def refuse_outside(root: Path, path: str) -> None:
    """Raises InputError when writing ``path`` would end outside OUT or through a link."""
    if not safe_path(path):
        raise InputError(f"{path!r} is no path below {printable(root)}; nothing was written")
    target = root / path
    folder, inside = os.path.realpath(target.parent), os.path.realpath(root)
    if target.is_symlink() or not Path(folder).is_relative_to(inside):
        raise InputError(f"{printable(target)} is, or lies behind, a symbolic link: remove it (nothing was written)")


def _content(path: Path) -> bytes | None:
    """A regular file's bytes; ``None`` when there is none. Raises InputError for anything else in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{printable(path)} is in the way: it is no regular file; nothing was written")
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_LIMIT_BYTES)


def _replace_file(path: Path, data: bytes) -> None:
    """Puts ``data`` at ``path`` as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb") as stream:
            stream.write(data)
        os.replace(part, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # nobody knows the name of the part
    finally:
        part.unlink(missing_ok=True)


def _remove(root: Path, path: str) -> None:
    """Removes a file and the folders below OUT that it leaves empty."""
    (root / path).unlink()
    for folder in _folders_above(path):
        if any(os.scandir(root / folder)):
            return
        (root / folder).rmdir()


def _folders_above(path: str) -> Iterable[Path]:
    return [parent for parent in Path(path).parents if parent != Path()]


def write_record(out: str | Path, path: str, text: str) -> bool:
    """Writes one record (``facts.json``) into OUT and says whether that changed it; leaves all other files alone.

    Raises InputError when that would end outside OUT or cannot be done.
    """
    root = _named(out)
    data = text.encode("utf-8", "backslashreplace")
    with _told(root):
        refuse_outside(root, path)
        if _content(root / path) == data:
            return False
        _replace_file(root / path, data)
    return True
