"""storcli's text in the shape of its JSON: sections of pairs, and tables."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

_HEAD = ("CLI Version", "Operating system", "Controller", "Status", "Description")
_UNIT = re.compile(r"(?<=\d) (?=[KMGTP]B\b)")
_RULE = re.compile(r"-{8,}")


def parse_text(text: str) -> list[dict[str, Any]]:
    """The answers in a text, one for each controller; what is cut off is left out. Sample::

    Controller = 0
    Status = Success

    VD LIST :
    =======

    -------------------------------------------------------------
    DG/VD TYPE  State Access Consist Cache Cac sCC     Size Name
    -------------------------------------------------------------
    0/0   RAID1 Optl  RW     Yes     RWBD  -   ON  1.745 TB data
    -------------------------------------------------------------
    """
    pieces = re.split(r"(?m)^CLI Version\b", text)[1:]
    return [_answer(f"CLI Version{piece}".splitlines()) for piece in pieces]


def _answer(lines: Sequence[str]) -> dict[str, Any]:
    status: dict[str, Any] = {}
    data: dict[str, Any] = {}
    section: dict[str, Any] = data
    name = ""
    for number, line in enumerate(lines):
        title = _title(lines, number)
        if title is not None:
            name, section = title, {}
            data[name] = section
            continue
        key, equals, value = (part.strip() for part in line.partition(" ="))
        if equals and key:
            (status if not name and key in _HEAD and key not in status else section).setdefault(key, value)
        elif name and not isinstance(data[name], list) and _is_table(lines, number):
            data[name] = list(_rows(lines[number + 1].split(), lines[number + 3 :]))
    return {"Command Status": status, "Response Data": data}


def _title(lines: Sequence[str], number: int) -> str | None:
    """The title of a section: a line that ends in a colon above a line of equals signs."""
    following = lines[number + 1] if number + 1 < len(lines) else ""
    found = re.fullmatch(r"(\S.*?) ?:\s*", lines[number])
    return found[1] if found and re.fullmatch(r"=+\s*", following) else None


def _is_table(lines: Sequence[str], number: int) -> bool:
    """Whether a table's head, between two rules, begins here."""
    if number + 2 >= len(lines) or not _RULE.match(lines[number]):
        return False
    return not _RULE.match(lines[number + 1]) and _RULE.match(lines[number + 2]) is not None


def _rows(columns: Sequence[str], lines: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a table; the last column has the rest of the line, and numbers stay with their units."""
    for line in lines:
        if _RULE.match(line) or not line.strip():
            return
        cells = _UNIT.sub("\0", line).split(None, len(columns) - 1)
        yield {column: cell.replace("\0", " ").strip() for column, cell in zip(columns, cells, strict=False)}
