"""What several targets ask of the host's facts."""

from advisor.model.snapshot import Snapshot
from advisor.probes.platform import Platform
from advisor.targets._base import ON_THE_HOST, Seen

_OPERATORS = ("/etc/", "/proc/cmdline")
"""What lies elsewhere (/usr/lib, /run) is the distribution's, which /etc may override where it is read later."""


def in_container(snapshot: Snapshot) -> bool:
    """Whether the facts were read inside a container, where the host's settings are not ours to make."""
    platform = snapshot.get(Platform)
    return platform is not None and platform.container is True


def from_inside(key: str) -> str:
    """Why nothing is set by what was read in a container, and where it belongs."""
    return ON_THE_HOST


def operators(path: str) -> bool:
    """Whether a configuration file is the operator's to write."""
    return path.startswith(_OPERATORS)


def packaged_behind(path: str, ours: str) -> bool:
    """Whether a file that is not the operator's is read behind ours: of all folders together the name decides."""
    return not operators(path) and path.rpartition("/")[2] > ours


def not_seen(snapshot: Snapshot, path: str) -> Seen:
    """No value, with the reason that the gaps give for ``path``."""
    return Seen(None, path, snapshot.gap(path) or "not read")
