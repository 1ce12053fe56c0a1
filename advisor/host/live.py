"""This machine: its files as they are now, read without ever waiting for a device or a dead server."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.host import commands
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

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_PSEUDO = ("/proc/", "/sys/")
_ONE_READ = ("/sys/bus/", "/sys/class/", "/sys/devices/", "/sys/module/", "/sys/block/")
"""Below these a file is one page at most and comes whole with the first read."""
_HALF_PAGE_BYTES = 2048
_FULL_ID_RANGE = ["0", "0", "4294967295"]


@dataclass
class LiveHost(Host):
    """The machine this process runs on."""

    @classmethod
    def here(cls) -> "LiveHost":
        """This machine, as this process may see it."""
        return cls(kind="live", root_user=_is_root())

    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        try:
            if not path.startswith(_PSEUDO) and not stat.S_ISREG(os.stat(raw_of(path)).st_mode):
                # Opening a device can set it going; a FIFO would have us wait.
                self.missed(path, "unsupported")
                return None
            descriptor = os.open(raw_of(path), _OPEN)
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None
        try:
            return _content(descriptor, limit, path.startswith(_ONE_READ))
        except OSError as error:
            self._failed(path, error)
            return None
        finally:
            os.close(descriptor)

    def names(self, path: str) -> tuple[str, ...] | None:
        try:
            found = os.listdir(raw_of(path))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None
        return in_natural_order(
            name if isinstance(name, str) and name.isascii() else text_of(os.fsencode(name)) for name in found
        )

    def link(self, path: str) -> str | None:
        try:
            return text_of(os.readlink(os.fsencode(raw_of(path))))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None

    def real(self, path: str) -> str | None:
        try:
            return text_of(os.fsencode(os.path.realpath(raw_of(path), strict=True)))
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None

    def exists(self, path: str) -> bool | None:
        try:
            os.stat(raw_of(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError) as error:
            self._failed(path, error)
            return None
        return True

    def mode(self, path: str) -> int | None:
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
        use, gap = commands.file_system_use(mount_point, network)
        if gap is not None:
            self.missed(mount_point, gap)
        return use

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

    def _failed(self, path: str, error: OSError | ValueError) -> None:
        """Records why a call failed; ValueError is a path with a NUL in it."""
        self.missed(path, state_of(error.errno if isinstance(error, OSError) else None))


def _content(descriptor: int, limit: int, one_read: bool) -> bytes:
    """The first ``limit`` bytes of an open file."""
    data = os.read(descriptor, limit)
    if not data or (one_read and len(data) < _HALF_PAGE_BYTES):
        return data
    pieces = [data]
    missing = limit - len(data)
    while missing > 0 and (data := os.read(descriptor, missing)):
        pieces.append(data)
        missing -= len(data)
    return b"".join(pieces)


def _is_root() -> bool:
    """Whether this process is root of the machine, not only of a user namespace."""
    if os.geteuid() != 0:
        return False
    try:
        with open("/proc/self/uid_map", encoding="ascii") as lines:
            return lines.read().split() == _FULL_ID_RANGE
    except OSError:
        return True
