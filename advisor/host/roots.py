"""Finding the machine in a folder or archive: a capture of ours, or a plain tree."""

import os
from collections.abc import Sequence

from advisor.errors import SourceError
from advisor.host.archive import Limits, MemoryStore, read_archive
from advisor.host.capture import MARK, Capture
from advisor.host.paths import in_natural_order
from advisor.host.tree import FolderStore, Tree
from advisor.inputs import printable

_DEPTH = 6
"""Folders around a tree that are looked through."""
_FOLDERS = 10_000
"""Folders that are looked through before the search is given up; a tree lies near the top."""


def open_captured(real: str, where: str, limits: Limits | None = None) -> Tree:
    """The machine in the folder or archive ``real``; ``where`` names it in errors. Raises SourceError."""
    store: FolderStore | MemoryStore = FolderStore(real) if os.path.isdir(real) else read_archive(real, limits)
    store = store.below(_top(store, where))
    if store.node("/" + MARK) is not None:
        return Capture.of(store, where)
    return Tree(kind="tree", root_user=None, store=store)


def _top(store: FolderStore | MemoryStore, where: str) -> str:
    """The folder that is the machine's root: the nearest one that looks like it."""
    level = [""]
    looked = 0
    for _ in range(_DEPTH + 1):
        listings = {folder: _names(store, folder) for folder in level}
        for wanted in ((MARK,), ("sys", "proc"), ("etc",)):
            roots = [folder for folder, names in listings.items() if any(name in names for name in wanted)]
            if len(roots) > 1:
                several = ", ".join(printable(root.lstrip("/")) for root in roots[:4])
                raise SourceError(
                    f"{where} holds {len(roots)} machines ({several} ...); unpack it and give one of them"
                )
            if roots:
                return roots[0]
        looked += len(level)
        if looked > _FOLDERS:
            break
        level = [f"{folder}/{name}" for folder, names in listings.items() for name in names]
        level = [path for path in level if (node := store.node(path)) is not None and node.kind == "folder"]
    raise SourceError(f"{where} holds no folder sys, proc or etc and no {MARK}, so it is no machine's root")


def _names(store: FolderStore | MemoryStore, folder: str) -> Sequence[str]:
    try:
        return in_natural_order(store.children(folder))
    except OSError as error:
        if folder == "":
            raise SourceError(f"cannot list the folder given as root: {error.strerror}") from None
        return ()
