"""The only acts by which a host is changed: on files below a root, reached without following a link, and in the kernel.

`advisor.planning.transaction` says in which order. ``step`` is told of every single act before it is done, so that a
test can stop the process there.
"""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from advisor.errors import ApplyError
from advisor.planning.journal import FileState

_LIMIT_BYTES = 16 * 1024 * 1024
"""No file of ours comes near to it, and the journal holds but a few of them."""
_VALUE_BYTES = 4096
"""The kernel makes room for all that is asked for, and refuses more than it has."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE = 0o755
_JOURNAL_MODE = 0o600
_GONE = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)
_CHOICE = re.compile(r"\[([^\]]+)\]")
_KERNEL = ("/proc/sys/", "/sys/block/")


def _nothing(_: str) -> None:
    """What is told of the steps where nobody listens."""


def part_of(path: str) -> str:
    """The name under which `Tree.write_whole` writes a file before it takes its place."""
    return f"{path}.part"


@dataclass
class Tree:
    """The files below one folder. Paths are absolute as the host sees them; errors carry them."""

    root: str
    step: Callable[[str], None] = _nothing
    owner: tuple[int, int] = field(
        default_factory=lambda: (0, 0) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps other runs out. Raises ApplyError when there is one."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise ApplyError(f"another advisor changes {self.root} just now: wait until it is done") from None
        except OSError as error:  # a root by NFS knows no such locks
            if error.errno not in _NO_LOCKS:
                os.close(descriptor)
                raise
        try:
            yield
        finally:
            os.close(descriptor)

    def state(self, path: str) -> FileState | None:
        """What is at ``path``; ``None``: nothing. Raises ApplyError for anything but a plain file."""
        with self._in(path) as (folder, name):
            if folder is None:
                return None
            try:
                descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise (_in_the_way(path, "a symbolic link") if error.errno == errno.ELOOP else error) from None
            try:
                return _state(descriptor, path)
            finally:
                os.close(descriptor)

    def missing(self, path: str) -> tuple[str, ...]:
        """The folders above ``path`` that are not there, from above."""
        above = path.rpartition("/")[0]
        folders: list[str] = []
        while above:
            with self._in(f"{above}/x") as (folder, _):
                if folder is not None:
                    break
            folders.insert(0, above)
            above = above.rpartition("/")[0]
        return tuple(folders)

    def write(self, path: str, state: FileState) -> None:
        """Makes a new file, safely on the disk."""
        with self._in(path, "write") as (folder, name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as stream:
                self.step(f"fill {path}")
                stream.write(state.data)
                stream.flush()
                self.step(f"finish {path}")
                _dress(stream.fileno(), state)
                os.fsync(stream.fileno())

    def write_whole(self, path: str, data: bytes) -> None:
        """Puts ``data`` at ``path`` as a whole, safely on the disk."""
        self.unlink(part_of(path))
        try:
            self.write(part_of(path), FileState(data, _JOURNAL_MODE, *self.owner))
            self.rename(part_of(path), path)
        except OSError:
            with suppress(OSError):
                self.unlink(part_of(path))
            raise
        with suppress(OSError):  # it is in its place
            self.sync(path.rpartition("/")[0])

    def keep(self, path: str, name: str, state: FileState) -> None:
        """Gives the file at ``path`` a second name, or where that cannot be a copy of that name."""
        with self._in(path, "keep") as (folder, old):
            try:
                os.link(old, name.rpartition("/")[2], src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
            else:
                return
        self.write(name, state)

    def rename(self, path: str, to: str) -> None:
        """Moves a file, over one that is there."""
        with self._in(path) as (folder, name), self._in(to, "rename") as (other, target):
            if folder is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            os.rename(name, target, src_dir_fd=folder, dst_dir_fd=other)

    def unlink(self, path: str) -> None:
        """Removes a file if it is there."""
        with self._in(path) as (folder, name):
            if folder is None or not _is_there(name, folder):
                return
            self.step(f"unlink {path}")
            os.unlink(name, dir_fd=folder)

    def mkdir(self, path: str) -> None:
        """Makes a folder."""
        with self._in(path, "mkdir") as (folder, name):
            os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
        with self._in(f"{path}/x") as (folder, _):
            assert folder is not None
            self.step(f"finish {path}")
            os.fchmod(folder, _FOLDER_MODE)
            os.fchown(folder, *self.owner)

    def rmdir(self, path: str) -> None:
        """Removes a folder unless something is in it."""
        with self._in(path) as (folder, name):
            if folder is None or not _is_there(name, folder):
                return
            self.step(f"rmdir {path}")
            try:
                os.rmdir(name, dir_fd=folder)
            except OSError as error:
                if error.errno not in _GONE:
                    raise

    def sync(self, path: str) -> None:
        """Has the names in a folder safely on the disk."""
        with self._in(f"{path}/x") as (folder, _):
            if folder is not None:
                self.step(f"sync {path}")
                os.fsync(folder)

    @contextmanager
    def _in(self, path: str, act: str = "") -> Iterator[tuple[int | None, str]]:
        """The folder above ``path``, ``None`` when it is not there, and the last part of the path.

        With an ``act`` that is a step, for which the folder must be there.
        """
        *folders, name = path.strip("/").split("/")
        if not name or any(part in ("", ".", "..") for part in (*folders, name)):
            raise ApplyError(f"{path!r} is no path below {self.root}")
        descriptor = self._walk(folders, path)
        try:
            if act:
                self.step(f"{act} {path}")
                if descriptor is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            yield descriptor, name
        except OSError as error:
            raise OSError(error.errno, error.strerror, error.filename if _is_full(error) else path) from None
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _walk(self, folders: list[str], path: str) -> int | None:
        at = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for number, part in enumerate(folders, 1):
            try:
                below = os.open(part, _FOLDER, dir_fd=at)
            except FileNotFoundError:
                return None
            except OSError as error:
                here = "/" + "/".join(folders[:number])
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    raise _in_the_way(here, "no folder, or a symbolic link") from None
                raise OSError(error.errno, error.strerror, here) from None
            finally:
                os.close(at)
            at = below
        return at


def _is_there(name: str, folder: int) -> bool:
    """Asked first, for a read-only file system refuses to remove what is not there."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_full(error: OSError) -> bool:
    return isinstance(error.filename, str) and error.filename.startswith("/")


def _in_the_way(path: str, what: str) -> ApplyError:
    return ApplyError(f"{path} is in the way: it is {what}; move it away first")


def _state(descriptor: int, path: str) -> FileState:
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise _in_the_way(path, "no plain file")
    if about.st_size > _LIMIT_BYTES:
        raise _in_the_way(path, f"larger than {_LIMIT_BYTES} bytes")
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        data = stream.read()
    mode = stat.S_IMODE(about.st_mode)
    return FileState(data, mode, about.st_uid, about.st_gid, about.st_mtime_ns, _attributes(descriptor))


def _attributes(descriptor: int) -> Mapping[str, bytes]:
    try:
        return {name: os.getxattr(descriptor, name) for name in sorted(os.listxattr(descriptor))}
    except OSError:  # this file system has none
        return {}


def _dress(descriptor: int, state: FileState) -> None:
    """Gives an open file all of ``state`` but its content."""
    os.fchown(descriptor, state.uid, state.gid)
    for name, value in state.xattrs.items():
        with suppress(OSError):  # of another file system, or of a policy that is no more
            os.setxattr(descriptor, name, value)
    os.fchmod(descriptor, state.mode)  # behind the owner, whose change takes the set-user-ID bit away
    if state.mtime_ns is not None:
        os.utime(descriptor, ns=(state.mtime_ns, state.mtime_ns))


@dataclass
class Kernel:
    """The values that the running kernel has, and takes, in files."""

    step: Callable[[str], None] = _nothing

    def read(self, path: str) -> str | None:
        """The value, one blank between words, of a choice the word in brackets; ``None`` when there is none."""
        try:
            descriptor = os.open(self._checked(path), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            text = " ".join(os.read(descriptor, _VALUE_BYTES).decode("utf-8", "replace").split())
        except OSError:
            return None
        finally:
            os.close(descriptor)
        chosen = _CHOICE.search(text)
        return chosen[1] if chosen else text

    def write(self, path: str, text: str) -> None:
        """Sets the value. Raises OSError with the path."""
        self.step(f"set {path}")
        descriptor = os.open(self._checked(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, f"{text}\n".encode())
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        finally:
            os.close(descriptor)

    def _checked(self, path: str) -> str:
        if not path.startswith(_KERNEL) or ".." in path.split("/"):
            raise ApplyError(f"{path!r} is no file that sets a value of the kernel")
        return path
