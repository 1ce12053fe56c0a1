"""Machines made of a few files, for tests."""

from collections.abc import Mapping
from pathlib import Path

from advisor.host.tree import Tree


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> Tree:
    """The machine whose files (absolute path to content) are written below ``folder``; a path ending in ``/`` is an
    empty folder. What is not written is "not captured"."""
    for path, content in files.items():
        place = folder / path.lstrip("/")
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return Tree.in_folder(folder)


def write_link(folder: Path, path: str, target: str) -> None:
    """A symbolic link at ``path`` of the machine below ``folder``."""
    place = folder / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
