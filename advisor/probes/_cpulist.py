"""Lists of CPU or node numbers as the kernel prints them, and folders that are named by such numbers."""

import re
from collections.abc import Callable, Iterable

from advisor.host.base import Host

LARGEST = 1 << 16
"""Above every NR_CPUS; a longer range is nonsense or an attack."""


def read_cpulist(
    host: Host, path: str, parse: Callable[[str], tuple[int, ...]] | None = None
) -> tuple[int, ...] | None:
    """The numbers in a file; what does not parse is a gap."""
    text = host.text(path)
    if text is None:
        return None
    try:
        return (parse or parse_cpulist)(text)
    except ValueError:
        host.missed(path, "unsupported")
        return None


def numbered(names: Iterable[str], prefix: str) -> tuple[int, ...]:
    """The numbers N of the names ``<prefix>N``, ascending."""
    pattern = re.compile(re.escape(prefix) + r"(\d{1,6})", re.ASCII)
    return tuple(sorted(int(found[1]) for name in names if (found := pattern.fullmatch(name))))


def parse_cpulist(text: str) -> tuple[int, ...]:
    """The numbers in a list, ascending. Raises ValueError.

    Sample: ``0-3,8,10-12``; also ``0-31:2`` (every second), ``0-31:2/8`` (two of every eight), ``(null)`` and nothing.
    """
    text = text.strip()
    if text in ("", "(null)"):
        return ()
    found: set[int] = set()
    for part in text.split(","):
        found.update(_range(part.strip()))
    return tuple(sorted(found))


def parse_cpumask(text: str) -> tuple[int, ...]:
    """The numbers whose bits are set in a mask, ascending. Raises ValueError.

    Sample: ``00000000,0000ffff``, words of 32 bits, the highest first.
    """
    words = text.strip().split(",")
    if any(not re.fullmatch("[0-9a-fA-F]{1,16}", word) for word in words) or len(words) * 32 > LARGEST:
        raise ValueError(f"{text[:20]!r} is no mask of CPUs")
    mask = int("".join([words[0], *(word.zfill(8) for word in words[1:])]), 16)
    return tuple(bit for bit in range(mask.bit_length()) if mask >> bit & 1)


def _range(part: str) -> range | set[int]:
    span, _, step = part.partition(":")
    first, dash, last = span.partition("-")
    start, end = _number(first), _number(last if dash else first)
    if end < start:
        raise ValueError(f"{part!r} ends before it starts")
    used, slash, group = step.partition("/")
    if slash:
        size = _number(group)
        if size < 1:
            raise ValueError(f"{part!r} has groups of nothing")
        return {n for n in range(start, end + 1) if (n - start) % size < _number(used)}
    return range(start, end + 1, _number(used) if step else 1)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) > LARGEST:
        raise ValueError(f"{text[:20]!r} is no number of a CPU")
    return int(text)
