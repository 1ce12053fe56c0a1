"""Configuration in folders of small files: which files count, and in which order.

Format: sysctl.d(5), modprobe.d(5).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.host.base import Host

LIMIT_BYTES = 1024 * 1024
LINE_LIMIT = 16384
"""Characters of a line, with what it is continued on, that udev reads (UTIL_LINE_SIZE); longer ones are left out."""


@dataclass(frozen=True)
class Line:
    """One line of a file, with the lines it is continued on."""

    text: str
    path: str
    number: int


def drop_ins(host: Host, folders: tuple[str, ...], suffix: str = ".conf") -> tuple[str, ...] | None:
    """The files that count, by name; of the same name the one in the earliest of ``folders``.

    ``None`` when no folder could be listed and that they are absent is not known either.
    """
    listings = {folder: host.names(folder) for folder in folders}
    if all(names is None and host.gaps.get(folder) != "absent" for folder, names in listings.items()):
        return None
    chosen: dict[str, str] = {}
    for folder, names in listings.items():
        for name in names or ():
            if name.endswith(suffix):
                chosen.setdefault(name, f"{folder}/{name}")
    return tuple(chosen[name] for name in sorted(chosen))


def lines_of(host: Host, path: str) -> Iterator[Line]:
    """The lines of a file; none of a file that is masked by a link to ``/dev/null``."""
    text = file_text(host, path)
    if text is not None:
        yield from joined(text, path)


def joined(text: str, path: str) -> Iterator[Line]:
    """Lines without comments and blanks around; a line that ends in a backslash goes on in the next one."""
    pending, start = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        start = start if pending else number
        pending += raw
        if pending.endswith("\\"):
            pending = pending[:-1]
            if pending:
                continue
        line = pending.strip()
        pending = ""
        if line and line[0] not in "#;":
            yield Line(line, path, start)
    if (line := pending.strip()) and line[0] not in "#;":
        yield Line(line, path, start)


def continued(text: str, path: str, comments: str, glue: str) -> Iterator[Line]:
    r"""The lines as systemd (``glue`` a blank) and udev (nothing) put them together.

    Unlike in `joined`, a comment ends with its line and may stand between the parts of a continued one.
    Sample: ``ExecStart=/usr/bin/a \`` + ``# a comment`` + ``-b``
    """
    parts: list[str] = []
    start = 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if line[:1] and line[0] in comments:
            continue
        start = start if parts else number
        goes_on = line.endswith("\\")
        parts.append(line[:-1] if goes_on else line)
        if not goes_on:
            yield from _whole(parts, glue, path, start)
            parts = []
    yield from _whole(parts, glue, path, start)


def _whole(parts: list[str], glue: str, path: str, start: int) -> Iterator[Line]:
    line = glue.join(parts).strip()
    if line and len(line) < LINE_LIMIT:
        yield Line(line, path, start)


def file_text(host: Host, path: str) -> str | None:
    """The text of a configuration file; nothing, and no gap, of one that is masked by a link to ``/dev/null``."""
    text = host.text(path, LIMIT_BYTES)
    if text is None:
        why = host.gaps[path]
        if host.link(path) == "/dev/null" or why == "unsupported":
            del host.gaps[path]
        else:
            host.missed(path, why)
    return text
