"""The base address registers (BARs) of a PCI device: windows into its memory and registers."""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts, Seen

_BARS = 6
"""What follows in the file are the expansion ROM, virtual functions and windows of bridges."""
_IO, _MEMORY, _PREFETCH, _UNSET = 0x100, 0x200, 0x2000, 0x20000000
"""IORESOURCE_* (include/linux/ioport.h)"""
_LINE = re.compile(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16})")


class Bar(Facts):
    """One window."""

    seen: ClassVar[Seen | None] = "host"
    read_from: ClassVar[str] = "/sys/bus/pci/devices/*/resource"
    number: Annotated[int, "of the register, from 0; one of 64 bits takes the next one too"]
    size_bytes: int
    memory: Annotated[bool, "memory; false: I/O ports"]
    prefetchable: Annotated[bool, "reading it changes nothing, as of a GPU's memory"]
    assigned: Annotated[bool, "it has an address; false: the firmware and the kernel found no room"]


def read_bars(host: Host, path: str) -> tuple[Bar, ...] | None:
    """The windows in use, from the file ``resource``; it tells sizes, and addresses to no one."""
    text = host.text(path)
    bars = None if text is None else parse_bars(text, path)
    if text is not None and bars is None:
        host.missed(path, "unsupported")
    return bars


def parse_bars(text: str, origin: str = "") -> tuple[Bar, ...] | None:
    """The windows in use; ``None`` for what is no such file. Start, end and flags a line; all zero: not in use.

    Sample: ``0x0000380000000000 0x00003807ffffffff 0x000000000014220c``
    """
    lines = text.split("\n")
    if len(lines) < _BARS:
        return None
    bars = []
    for number, line in enumerate(lines[:_BARS]):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            return None
        start, end, flags = (int(word, 16) for word in found.groups())
        if end < start:
            return None
        if flags & (_IO | _MEMORY) and end > 0:
            bars.append(_bar(origin, number, end - start + 1, flags))
    return tuple(bars)


def _bar(origin: str, number: int, size: int, flags: int) -> Bar:
    return Bar(
        origin=origin,
        number=number,
        size_bytes=size,
        memory=not flags & _IO,
        prefetchable=bool(flags & _PREFETCH),
        assigned=not flags & _UNSET,
    )
