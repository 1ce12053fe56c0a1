"""Recording what is read from a Host, for `advisor.host.saving` to write as a capture that answers the same.

A capture is a folder, or a tar of one::

    advisor-capture.json     version, root_user, and for people: how it was made
    fs/...                   files under their real path, as many bytes as were read; symbolic links as they were
    cmd/<name>.argv          a command, one argument a line; with .stdout, .stderr and .rc (its exit status)
    calls.json               names:   listings by folder; a folder that is not in it was not listed
                             exists:  paths that were looked for; modes: permission bits by path
                             statvfs: mount point to block size, blocks, blocks available, files, files free
                             limits:  name to soft and hard, null for unlimited
                             affinity, environment, nvml: as the Host gave them; missing when it gave none
    sample/                  a second reading of the counters, laid out alike; its advisor-capture.json has seconds:
                             how long after the first, by section of the facts or one number for all
    errors.tsv               path TAB errno [TAB question]: what gave no value; an errno's name, or a gap state where
                             none fits; question is data, names, link, real, exists, mode, run, statvfs, affinity,
                             environment, nvml or "limit <name>". In paths \\t, \\n and \\\\ are escaped.

``names`` may be left out by a collector that copies whole folders; then the folders of fs/ are the listings.
What collector.sh makes has the same layout; what is below /proc/self lies there as it was asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from advisor.model.facts import GapState

T = TypeVar("T")
_LINKS_LIMIT = 40
KEPT_ENVIRONMENT = (
    "CUDA_", "FI_", "GLOO_", "GOMP_", "HIP_", "HSA_", "KMP_", "KUBERNETES_SERVICE_HOST", "LANG", "LC_", "LD_",
    "LOCAL_RANK", "MALLOC_", "MKL_", "NCCL_", "NVIDIA_", "OMPI_", "OMP_", "OPENBLAS_", "PATH", "PMIX_", "PMI_",
    "PYTHON", "PYTORCH_", "RANK", "RCCL_", "ROCR_", "SLURM_", "TORCH", "UCX_", "WORLD_SIZE", "container",
)  # fmt: skip
"""Variables that say how a job runs. All others stay behind: the environment is where credentials are."""
SECRET_WORDS = ("AUTH", "CREDENTIAL", "JWT", "KEY", "PASS", "SECRET", "TOKEN")
NO_SECRETS = ("NCCL_IB_PKEY", "NCCL_IB_PKEY_VALUE", "UCX_IB_PKEY")
"""Keys of InfiniBand's partitions."""


@dataclass(frozen=True)
class Answer:
    """What a Host answered: a value, or the gap state; ``place`` is the path asked for without its links."""

    place: str
    value: Any
    state: GapState | None


@dataclass
class Recorder(Host):
    """A Host that keeps every answer of the Host in it and asks it nothing twice: a capture has one answer."""

    inner: Host = field(kw_only=True)
    answers: dict[tuple[str, object], Answer] = field(default_factory=dict)
    """By question and what was asked for."""
    links: dict[str, str] = field(default_factory=dict)
    """Every link on the way to what was asked for, by its path without links."""
    _no_links: set[str] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, inner: Host) -> "Recorder":
        """A recorder of everything that is asked of ``inner`` from now on."""
        return cls(kind=inner.kind, root_user=inner.root_user, inner=inner)

    def data(self, path: str, limit: int = READ_LIMIT_BYTES) -> bytes | None:
        asked = max(limit, READ_LIMIT_BYTES)
        data = self._path("data", path, (path, asked), lambda: self.inner.data(path, asked))
        return None if data is None else data[:limit]

    def names(self, path: str) -> tuple[str, ...] | None:
        return self._path("names", path, path, lambda: self.inner.names(path))

    def link(self, path: str) -> str | None:
        return self._path("link", path, path, lambda: self.inner.link(path), follow=False)

    def real(self, path: str) -> str | None:
        return self._path("real", path, path, lambda: self.inner.real(path))

    def exists(self, path: str) -> bool | None:
        return self._path("exists", path, path, lambda: self.inner.exists(path))

    def mode(self, path: str) -> int | None:
        return self._path("mode", path, path, lambda: self.inner.mode(path))

    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        return self._ask("run", tuple(argv), command_origin(argv), lambda: self.inner.run(argv, seconds))

    def statvfs(self, mount_point: str, network: bool = False) -> FileSystemUse | None:
        return self._ask("statvfs", mount_point, mount_point, lambda: self.inner.statvfs(mount_point, network))

    def affinity(self) -> frozenset[int] | None:
        return self._ask("affinity", AFFINITY, AFFINITY, self.inner.affinity)

    def limit(self, name: str) -> Limit | None:
        return self._ask(f"limit {name}", LIMITS, LIMITS, lambda: self.inner.limit(name))

    def environment(self) -> Mapping[str, str] | None:
        return self._ask("environment", ENVIRONMENT, ENVIRONMENT, lambda: _kept(self.inner.environment()))

    def nvml(self) -> Mapping[str, object] | None:
        return self._ask("nvml", NVML, NVML, self.inner.nvml)

    def _path(
        self, question: str, path: str, key: object, ask: Callable[[], T | None], follow: bool = True
    ) -> T | None:
        place = "" if (question, key) in self.answers else self._place(path, follow)
        return self._ask(question, key, path, ask, place)

    def _ask(self, question: str, key: object, gap: str, ask: Callable[[], T | None], place: str = "") -> T | None:
        if (question, key) not in self.answers:
            value = ask()
            state = self.inner.gaps.get(gap) if value is None or value is False else None
            self.answers[question, key] = Answer(place or gap, value, state)
        answer = self.answers[question, key]
        if answer.state is not None:
            self.missed(gap, answer.state)
        known: T | None = answer.value
        return known

    def _place(self, path: str, follow: bool) -> str:
        """``path`` without the links in it, which are kept; what cannot be followed stays as it is."""
        at = ""
        links = 0
        todo = _parts(path)
        while todo:
            name = todo.pop()
            if name == "..":
                at = at.rpartition("/")[0]
                continue
            here = f"{at}/{name}"
            target = self._target(here) if todo or follow else None
            if target is None:
                at = here
                continue
            links += 1
            if links > _LINKS_LIMIT:
                return path
            at = "" if target.startswith("/") else at
            todo.extend(_parts(target))
        return at or "/"

    def _target(self, path: str) -> str | None:
        """The text of the link at ``path``, asked without leaving a gap."""
        if path in self._no_links or path in self.links:
            return self.links.get(path)
        before = self.inner.gaps.get(path)
        target = self.inner.link(path)
        if target is not None:
            self.links[path] = target
            return target
        self._no_links.add(path)
        self.inner.gaps.pop(path, None)
        if before is not None:
            self.inner.missed(path, before)
        return None


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _kept(environment: Mapping[str, str] | None) -> Mapping[str, str] | None:
    if environment is None:
        return None
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in NO_SECRETS
        or (name.startswith(KEPT_ENVIRONMENT) and not any(word in name.upper() for word in SECRET_WORDS))
    }
