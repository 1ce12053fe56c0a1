"""Text of values, common to the targets."""

from collections.abc import Callable

from advisor.model.setting import Value


def plain(value: Value) -> str:
    """``value`` as most files hold it: ``1`` and ``0`` for booleans, blanks between numbers."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return " ".join(str(number) for number in value)
    return str(value)


def unprintable(text: str) -> str | None:
    """What is wrong with text that has a line break, a control or an invisible character; ``None`` when it has none."""
    for position, char in enumerate(text):
        if not char.isprintable():
            return f"character {position + 1} is {char.encode('unicode_escape').decode()}, which no value may hold"
    return None


def raised_numbers(seen: str, value: str) -> str:
    """The numbers of ``value``, none lower than the number of ``seen`` in its place.

    Raises ValueError when the two are not the same count of integers.
    """
    wanted, present = ([int(word) for word in text.split()] for text in (value, seen))
    if not wanted or len(wanted) != len(present):
        raise ValueError(f"{value!r} and {seen!r} are not the same count of numbers")
    pick: Callable[[int, int], int] = max
    return " ".join(str(pick(*pair)) for pair in zip(wanted, present, strict=True))
