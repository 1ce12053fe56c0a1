"""This machine: its files as they are now, read without ever waiting for a device or a dead server."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.host import commands, far
from advisor.host.base import (
    AFFINITY,
    COMMAND_SECONDS,
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
from advisor.host.view import View, read_view

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_PSEUDO = ("/proc/", "/sys/")
_ONE_READ = ("/sys/bus/", "/sys/class/", "/sys/devices/", "/sys/module/", "/sys/block/")
"""Below these a file is one page at most and comes whole with the first read."""
_PIECE_BYTES = 128 * 1024
_HALF_PAGE_BYTES = 2048
_FULL_ID_RANGE = ["0", "0", "4294967295"]


@dataclass
class LiveHost(Host):
    """The machine this process runs on."""

    view: View = field(default_factory=View)

    @classmethod
    def here(cls) -> "LiveHost":
        """This machine, as this process may see it."""
        return cls(kind="live", root_user=_is_root(), view=read_view())

    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        if self.view.is_far(path):
            data: bytes | None = self._ask_far("data", path, limit)
            return data
        try:
            raw = raw_of(path)
            if not path.startswith(_PSEUDO) and not stat.S_ISREG(os.stat(raw).st_mode):
                # Opening a device can set it going; a FIFO would have us wait.
                self.missed(path, "unsupported")
                return None
            data = _content(raw, limit, path.startswith(_ONE_READ))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None
        # Container runtimes cover files with /dev/null, which reads as empty.
        return None if data == b"" and self._is_hidden(path) else data

    def names(self, path: str) -> tuple[str, ...] | None:
        if self.view.is_far(path):
            listed = self._ask_far("names", path)
            return None if listed is None else in_natural_order(map(text_of, listed))
        try:
            found = os.listdir(raw_of(path))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None
        if not found and self._is_hidden(path):
            return None
        return in_natural_order(
            name if isinstance(name, str) and name.isascii() else text_of(os.fsencode(name)) for name in found
        )

    def link(self, path: str) -> str | None:
        if self.view.is_far(path):
            return self._far_path("link", path)
        try:
            return text_of(os.readlink(os.fsencode(raw_of(path))))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None

    def real(self, path: str) -> str | None:
        if self.view.is_far(path):
            return self._far_path("real", path)
        try:
            return text_of(_real(os.fsencode(raw_of(path))))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None

    def exists(self, path: str) -> bool | None:
        mode = self.mode(path)
        if mode is not None:
            return True
        return False if self.gaps[path] == "absent" else None

    def mode(self, path: str) -> int | None:
        if self.view.is_far(path):
            mode: int | None = self._ask_far("mode", path)
            return mode
        try:
            return stat.S_IMODE(os.stat(raw_of(path)).st_mode)
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None

    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        output, gap = commands.run_command(argv, seconds)
        if gap is not None:
            self.missed(command_origin(argv), gap)
        return output

    def statvfs(self, mount_point: str, network: bool = False) -> FileSystemUse | None:
        if network or self.view.is_far(mount_point):
            use = self._ask_far("statvfs", mount_point)
            return None if use is None else FileSystemUse(*use)
        try:
            s = os.statvfs(raw_of(mount_point))
        except (OSError, ValueError) as error:
            self._failed(mount_point, error)
            return None
        return FileSystemUse(s.f_frsize, s.f_blocks, s.f_bavail, s.f_files, s.f_ffree)

    def affinity(self) -> frozenset[int] | None:
        try:
            return frozenset(os.sched_getaffinity(0))
        except OSError as error:
            self._failed(AFFINITY, error)
            return None

    def limit(self, name: str) -> Limit | None:
        import resource

        number = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if number is None:
            self.missed(LIMITS, "absent")
            return None
        soft, hard = (None if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(number))
        return Limit(soft, hard)

    def environment(self) -> Mapping[str, str] | None:
        return {text_of(os.fsencode(name)): text_of(os.fsencode(value)) for name, value in os.environ.items()}

    def nvml(self) -> Mapping[str, object] | None:
        from advisor.host.nvml import ask_nvml

        answers, gap = ask_nvml()
        if gap is not None:
            self.missed(NVML, gap)
        return answers

    def _ask_far(self, question: far.Question, path: str, limit: int = 0) -> Any:
        answer, gap = far.ask_far(question, path, limit)
        if gap is not None:
            self.missed(path, gap)
        return answer

    def _far_path(self, question: far.Question, path: str) -> str | None:
        answer = self._ask_far(question, path)
        return None if answer is None else text_of(answer)

    def _is_hidden(self, path: str) -> bool:
        """Whether the nothing at ``path`` is a cover over what is really there; then that is its gap."""
        hidden = self.view.hides(raw_of(path))
        if hidden:
            self.missed(path, "denied")
        return hidden

    def _failed(self, path: str, error: OSError | ValueError) -> None:
        """Records why a call failed; ValueError is a path with a NUL in it."""
        state = state_of(error.errno if isinstance(error, OSError) else None)
        if state != "absent" or not self._is_hidden(path):
            self.missed(path, state)


def _content(raw: str | bytes, limit: int, one_read: bool) -> bytes:
    """The first ``limit`` bytes of a file."""
    descriptor = os.open(raw, _OPEN)
    try:
        data = os.read(descriptor, min(limit, _PIECE_BYTES))
        if not data or (one_read and len(data) < _HALF_PAGE_BYTES):
            return data
        pieces = [data]
        missing = limit - len(data)
        while missing > 0 and (data := os.read(descriptor, min(missing, _PIECE_BYTES))):
            pieces.append(data)
            missing -= len(data)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _real(raw: bytes) -> bytes:
    """The path without links; the kernel tells it of an open descriptor far faster than one link after the other."""
    descriptor = os.open(raw, os.O_PATH | os.O_CLOEXEC)
    try:
        real = os.readlink(b"/proc/self/fd/%d" % descriptor)
    except OSError:
        real = b""
    finally:
        os.close(descriptor)
    return real if real.startswith(b"/") else os.path.realpath(raw, strict=True)


def _is_root() -> bool:
    """Whether this process is root of the machine, not only of a user namespace."""
    if os.geteuid() != 0:
        return False
    try:
        with open("/proc/self/uid_map", encoding="ascii") as lines:
            return lines.read().split() == _FULL_ID_RANGE
    except OSError:
        return True
