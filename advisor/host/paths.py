"""Paths as text that survives JSON, and the order that names are listed in.

The kernel's names are bytes. A byte that is not UTF-8 becomes one private-use character, U+F000 plus the byte
(as Cygwin does), so that a name stays printable, valid in JSON, and opens the same file when it comes back.
"""

import re
from collections.abc import Iterable

_FIRST, _LAST = 0xF080, 0xF0FF
_ESCAPED = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
_SURROGATE = re.compile("[\udc80-\udcff]")
_DIGITS = re.compile("([0-9]+)")
_LONGEST_NUMBER = 18
"""Longer runs of digits (hashes, identifiers) are ordered as text."""


def text_of(raw: bytes) -> str:
    """The text of a file name or path."""
    text = raw.decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    # A real character of the private range gives way, or it would come back as another name.
    text = _ESCAPED.sub(lambda found: "".join(chr(0xF000 + byte) for byte in found[0].encode()), text)
    return _SURROGATE.sub(lambda found: chr(ord(found[0]) - 0xDC00 + 0xF000), text)


def raw_of(text: str) -> str | bytes:
    """The file name or path that `text_of` gave ``text`` for, fit for a system call."""
    if text.isascii():
        return text
    plain = _ESCAPED.sub(lambda found: chr(ord(found[0]) - 0xF000 + 0xDC00), text)
    return plain.encode("utf-8", "surrogateescape")


def in_natural_order(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` sorted with digits by number: cpu2 before cpu10."""
    return tuple(sorted(names, key=_order))


def _order(name: str) -> tuple[list[tuple[int, int, str]], str]:
    if name.isdigit() and name.isascii() and len(name) <= _LONGEST_NUMBER:
        return [(0, int(name), "")], name
    parts = _DIGITS.split(name)
    return [(0, int(p), "") if p.isdigit() and len(p) <= _LONGEST_NUMBER else (1, 0, p) for p in parts if p], name
