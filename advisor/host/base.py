"""The one door to a machine, live or captured.

Every path is absolute as the machine itself sees it (``/sys/...``); where it really lies is the Host's business.
Nothing here raises for what the machine hides: a missing value is ``None`` and the reason is kept in `Host.gaps`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.model.facts import GapState
from advisor.model.snapshot import SourceKind

READ_LIMIT_BYTES = 64 * 1024
"""Enough for every sysfs file and for most of /proc; a caller that needs more says so."""
COMMAND_SECONDS = 10.0

AFFINITY = "call: sched_getaffinity"
ENVIRONMENT = "environment"
LIMITS = "/proc/self/limits"
NVML = "nvml"
"""Where the gaps of the questions that name no path stand; fit as their evidence path too."""


@dataclass(frozen=True)
class Output:
    """What a command left behind. ``stdout`` and ``stderr`` are decoded with replacement."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str = ""


@dataclass(frozen=True)
class FileSystemUse:
    """Answer of statvfs(2), sizes in bytes, for one mount point."""

    block_bytes: int
    blocks: int
    blocks_available: int
    files: int
    files_free: int


@dataclass(frozen=True)
class Limit:
    """A resource limit; ``None`` means unlimited."""

    soft: int | None
    hard: int | None


@dataclass(frozen=True)
class Again:
    """A second reading of a machine."""

    host: "Host"
    seconds: Mapping[str, float] | float
    """How long after the first: by section of the facts, or one for all."""

    def after(self, sections: Iterable[str]) -> dict[str, float]:
        """How long after the first each of these sections was read again; those that were not are left out."""
        if not isinstance(self.seconds, Mapping):
            return dict.fromkeys(sections, self.seconds)
        return {name: self.seconds[name] for name in sections if name in self.seconds}


@dataclass
class Host(ABC):
    """A machine. Methods return ``None`` for what cannot be had and record why under the path asked for."""

    kind: SourceKind
    root_user: bool | None
    """Whether the reader is (was) root."""
    gaps: dict[str, GapState] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    """Files about the machine that the user gave beside it: kind to text (see `advisor.probes._given`)."""

    @abstractmethod
    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        """The first ``limit`` bytes of a regular file, uncut; links are followed inside the root."""

    @abstractmethod
    def names(self, path: str) -> tuple[str, ...] | None:
        """The names in a folder, sorted (digits by number); ``()`` for an empty folder."""

    @abstractmethod
    def link(self, path: str) -> str | None:
        """The text of a symbolic link."""

    @abstractmethod
    def real(self, path: str) -> str | None:
        """The path with every link resolved inside the root, as the machine sees it."""

    @abstractmethod
    def exists(self, path: str) -> bool | None:
        """Whether something is there (gap ``absent`` when not); ``None`` when that cannot be told."""

    @abstractmethod
    def mode(self, path: str) -> int | None:
        """Permission bits (``0o444``) of a file."""

    @abstractmethod
    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        """Output of a command, run or replayed; its gap stands under `command_origin`."""

    @abstractmethod
    def statvfs(self, mount_point: str, network: bool = False) -> FileSystemUse | None:
        """Size and use of a mounted file system; ``network``: ask in a child with a time limit."""

    @abstractmethod
    def affinity(self) -> frozenset[int] | None:
        """CPUs that this process may run on (gap: `AFFINITY`)."""

    @abstractmethod
    def limit(self, name: str) -> Limit | None:
        """A resource limit of this process: ``memlock``, ``nofile``, ``stack``, ``nproc`` ... (gap: `LIMITS`)."""

    @abstractmethod
    def environment(self) -> Mapping[str, str] | None:
        """This process's environment; ``None`` for a captured machine that did not keep it (gap: `ENVIRONMENT`)."""

    @abstractmethod
    def nvml(self) -> Mapping[str, object] | None:
        """NVML's answers, or its reason to give none, as plain JSON (see `advisor.host.nvml`); gap: `NVML`."""

    def again(self) -> Again | None:
        """The second reading that came with a captured machine; a live one is to be read again instead."""
        return None

    def missed(self, path: str, state: GapState) -> None:
        """Records why there is no value."""
        self.gaps[path] = state

    def text(self, path: str, limit: int = READ_LIMIT_BYTES) -> str | None:
        """A file's text: cut at the first NUL, decoded with replacement, without white space at its end."""
        data = self.data(path, limit)
        if data is None:
            return None
        return data.split(b"\0", 1)[0].decode("utf-8", "replace").rstrip()


def command_origin(argv: Sequence[str]) -> str:
    """The evidence path of a command: ``command: ethtool -k eth0``."""
    return "command: " + " ".join(argv)
