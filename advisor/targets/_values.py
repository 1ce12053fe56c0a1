"""Text of values, common to the targets."""

import shlex

from advisor.model.setting import Value


def named(key: str) -> str:
    """``key`` itself: for targets whose keys have one spelling."""
    return key


def plain(value: Value) -> str:
    """``value`` as most files hold it: ``1`` and ``0`` for booleans, blanks between numbers, no ``.0``."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple):
        return " ".join(str(number) for number in value)
    return str(value)


def shquote(value: object) -> str:
    """``value`` as one word of a POSIX shell, quoted even where a shell would not ask for it."""
    quoted = shlex.quote(str(value))
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def unprintable(text: str) -> str | None:
    """What is wrong with text that has a line break, a control or an invisible character; ``None`` when it has none."""
    for position, char in enumerate(text):
        if not char.isprintable():
            return f"character {position + 1} is {char.encode('unicode_escape').decode()}, which no value may hold"
    return None


def raised_numbers(seen: str, value: str) -> int | tuple[int, ...]:
    """The numbers of ``value``, none lower than the number of ``seen`` in its place.

    Raises ValueError when the two are not the same count of integers.
    """
    try:
        pairs = list(zip(_integers(value), _integers(seen), strict=True))
    except ValueError:
        raise ValueError(f"{value!r} and {seen!r} are not the same count of whole numbers") from None
    largest = tuple(max(pair) for pair in pairs)
    return largest[0] if len(largest) == 1 else largest


def _integers(text: str) -> list[int]:
    return [int(word) for word in text.split()]
