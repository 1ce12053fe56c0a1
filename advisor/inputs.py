"""Bounded reading of the files a user names: facts, rules, data of a former run."""

import os
import stat
from pathlib import Path

from advisor.errors import SourceError

TEXT_LIMIT_BYTES = 64 * 1024 * 1024
"""A snapshot of a large host is a few MiB; what is larger is not ours."""


def read_text(path: str | Path, limit: int = TEXT_LIMIT_BYTES) -> str:
    """The text of a regular file of at most ``limit`` bytes.

    Raises SourceError, one sentence, when it is missing, not a regular file, too large or not UTF-8.
    """
    try:
        # O_NONBLOCK: opening a FIFO without a writer must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SourceError(f"cannot read {printable(path)}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SourceError(f"cannot read {printable(path)}: it is not a regular file")
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise SourceError(f"{printable(path)} is larger than {limit} bytes, which no such file is")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{printable(path)} is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}"
        ) from None


def printable(value: object) -> str:
    """``value`` as one line of text without control characters, safe to print on a terminal."""
    text = str(value)
    if text.isprintable():
        return text
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def name_text(name: str) -> str:
    """The name of a file as text that UTF-8 can hold: what is none of it is written ``\\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode()
