"""What a machine has at the places where advisor installs files."""

from collections.abc import Iterator, Mapping

from advisor.host.base import Host
from advisor.planning.verify import HostFile
from advisor.targets._installed import Installed, is_at


def installed_files(host: Host, targets: Mapping[str, Installed]) -> dict[str, HostFile]:
    """Our files on ``host`` by path; of a place without ``*`` also why there is none."""
    found = {}
    for target in targets.values():
        for place in target.PLACES:
            for path in _paths(host, place):
                text = host.text(path)
                found[path] = HostFile(path, text, None if text is not None else host.gaps.get(path))
    return found


def _paths(host: Host, place: str) -> Iterator[str]:
    """The paths that a place may mean here."""
    if "*" not in place:
        yield place
        return
    folder = place[: place.index("*")].rpartition("/")[0]
    depth = place.count("/") - folder.count("/") - 1
    yield from (path for path in _below(host, folder, depth) if is_at(path, place))


def _below(host: Host, folder: str, depth: int) -> Iterator[str]:
    for name in host.names(folder) or ():
        path = f"{folder}/{name}"
        if depth == 0:
            yield path
        elif name.endswith(".d"):
            yield from _below(host, path, depth - 1)
