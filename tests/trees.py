"""Machines made of a few files, for tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor.host.base import Host
from advisor.host.captured import open_root
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


ALL_ABSENT = (
    *("/sys", "/proc", "/etc", "/run", "/usr", "/lib", "/dev", "/opt", "/var", "/root"),
    *("/.dockerenv", "/.singularity.d"),
)
"""Where nothing is but what a capture holds."""


def write_capture(
    folder: Path,
    files: Mapping[str, str | bytes],
    absent: Sequence[str] = ALL_ABSENT,
    outputs: Mapping[tuple[str, ...], str] | None = None,
    **calls: object,
) -> Host:
    """A capture of the machine with these files; all else below ``absent`` is known not to be there.

    ``outputs`` are what commands printed; ``calls`` are the entries of calls.json (``affinity=[0, 1]``).
    """
    write_tree(folder / "fs", files)
    (folder / "fs").mkdir(parents=True, exist_ok=True)
    (folder / "advisor-capture.json").write_text('{"version": 1, "root_user": false}')
    (folder / "errors.tsv").write_text("".join(f"{path}\tENOENT\n" for path in absent))
    (folder / "calls.json").write_text(json.dumps(calls))
    (folder / "cmd").mkdir()
    for number, (argv, stdout) in enumerate((outputs or {}).items()):
        (folder / f"cmd/{number}.argv").write_text("\n".join(argv))
        (folder / f"cmd/{number}.stdout").write_text(stdout)
        (folder / f"cmd/{number}.rc").write_text("0")
    return open_root(str(folder))
