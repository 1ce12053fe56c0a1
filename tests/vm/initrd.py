"""The first file system of the emulated machine: a cpio archive, and programs of this machine with their libraries."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from tests.vm.packages import CannotBuild

_FOLDER, _FILE, _LINK = 0o040755, 0o100755, 0o120777


def archive(files: Mapping[str, bytes | str]) -> bytes:
    """A cpio archive ("newc", as the kernel wants it) of files by absolute path; text is the target of a link."""
    entries: dict[str, tuple[int, bytes]] = {}
    for path, content in files.items():
        for folder in reversed(PurePosixPath(path).parents[:-1]):
            entries[str(folder)] = (_FOLDER, b"")
        entries[path] = (_LINK, content.encode()) if isinstance(content, str) else (_FILE, content)
    parts = [_entry(path[1:], mode, data, number) for number, (path, (mode, data)) in enumerate(entries.items(), 1)]
    return b"".join((*parts, _entry("TRAILER!!!", 0, b"", 0)))


def _entry(name: str, mode: int, data: bytes, number: int) -> bytes:
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + "".join(f"{field:08X}" for field in fields).encode() + name.encode() + b"\0"
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def programs(names: Mapping[str, str]) -> dict[str, bytes | str]:
    """These programs of this machine and the libraries they are linked to, by path.

    ``names`` maps each program to the Debian package that brings it, for the message of what is missing.
    """
    missing = sorted({package for name, package in names.items() if shutil.which(name) is None})
    if missing:
        raise CannotBuild(f"not installed here: {', '.join(missing)}")
    files: dict[str, bytes | str] = {}
    for name in names:
        path = str(shutil.which(name))
        files[f"/usr/sbin/{name}"] = Path(path).read_bytes()
        for library in libraries(["ldd", path]):
            files[library] = Path(library).read_bytes()
    return files


def libraries(argv: Sequence[str]) -> list[str]:
    """The files in `ldd`'s answer:

    libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f5a3c000000)
    """
    told = subprocess.run(argv, capture_output=True, text=True, timeout=20).stdout
    return re.findall(r"(/\S+) \(0x", told)
