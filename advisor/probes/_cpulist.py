"""Lists of CPU or node numbers as the kernel prints them."""

LARGEST = 1 << 16
"""Above every NR_CPUS; a longer range is nonsense or an attack."""


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
