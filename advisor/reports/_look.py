"""How a report may look on the terminal that it goes to; formats for files and programs take no notice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Width in columns, whether colours are wanted, and whether more than ASCII can be shown."""

    width: int = 80
    color: bool = False
    unicode: bool = True


PLAIN = Look()
