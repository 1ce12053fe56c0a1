"""Opening what ``--root`` names: this machine, a capture of ours, a plain tree, or a tar of either."""

import os

from advisor.errors import SourceError
from advisor.host.base import Host
from advisor.inputs import printable


def open_root(path: str) -> Host:
    """The machine that ``path`` holds; ``/`` is this one.

    A folder or a tar (plain, gzip, bzip2, xz, zstd) with ``advisor-capture.json``, or with ``sys``, ``proc`` or
    ``etc``, at its top or some folders further down. Raises SourceError, one sentence, for anything else.
    """
    real = os.path.realpath(path) if path and "\0" not in path else ""
    if real == "/":
        from advisor.host.live import LiveHost

        return LiveHost.here()
    if not os.path.exists(real):
        raise SourceError(f"{printable(path)!r} does not exist; --root takes a folder or a tar of /proc, /sys and /etc")
    # Imported here: probing the live machine needs none of it.
    from advisor.host.roots import open_captured

    return open_captured(real, printable(path))
