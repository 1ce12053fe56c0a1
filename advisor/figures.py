"""Figures as people read them."""

from collections.abc import Sequence

_PREFIXES = ("KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size_bytes: int | None) -> str:
    """``64 MiB``, ``23.5 GiB``; ``unknown`` for ``None``."""
    if size_bytes is None:
        return "unknown"
    if abs(size_bytes) < 1024:
        return f"{size_bytes} bytes"
    power = min((abs(size_bytes).bit_length() - 1) // 10, len(_PREFIXES))
    return f"{size_bytes / 1024**power:.1f}".removesuffix(".0") + f" {_PREFIXES[power - 1]}"


def count_text(number: int, noun: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cpulist_text(numbers: Sequence[int] | None) -> str:
    """``0-3,8`` for CPU or node numbers; ``none`` for no number, ``unknown`` for ``None``."""
    if numbers is None:
        return "unknown"
    if not numbers:
        return "none"
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
