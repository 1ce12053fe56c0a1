"""The structure of a PCI configuration space: which capabilities are where, and what of it may be passed on.

Pure: bytes in, places out. Nothing is believed: lists loop, point outside, end in the middle, and a device that is gone
answers with ones only. Sources: PCI Express Base Specification 5.0, 7.5.1 (header), 7.6.3 (extended capabilities);
Linux, include/uapi/linux/pci_regs.h.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from advisor.model.facts import GapState

SPACE_BYTES = 4096
HEADER_BYTES = 64
"""The part that everyone may read."""
_READABLE_BYTES = (HEADER_BYTES, 128)
"""What the kernel gives to others than root: the header, of a CardBus bridge more (drivers/pci/pci-sysfs.c)."""
CONVENTIONAL_BYTES = 256
_STATUS, _HEADER_TYPE, _FIRST = 0x06, 0x0E, 0x34
"""PCI_STATUS, PCI_HEADER_TYPE, PCI_CAPABILITY_LIST"""
_STATUS_HAS_LIST = 0x10
_HEADERS_WITH_LIST = (0, 1)
"""Device and bridge; that of a CardBus bridge lies elsewhere."""

EXPRESS = 0x10
"""PCI_CAP_ID_EXP"""
ACS, ATS, RESIZABLE_BAR = 0x0D, 0x0F, 0x15
"""PCI_EXT_CAP_ID_ACS, _ATS, _REBAR"""
_KEPT: Mapping[int, int] = {EXPRESS: 0x3C}
_KEPT_EXTENDED: Mapping[int, int] = {ACS: 8, ATS: 8, RESIZABLE_BAR: 4 + 6 * 8}
"""How many bytes of a capability are passed on. All others may hold a serial number: the capability of that name
(0x0003) has the card's EUI-64, that of the vital product data (0x03) a piece of them, those of vendors anything."""


@dataclass(frozen=True)
class Space:
    """A configuration space and where its capabilities lie, by their number."""

    data: bytes
    answers: bool | None = True
    """False: only ones came back, as from a device that fell off the bus; ``None``: nothing that is a header did."""
    listed: Mapping[int, int] = field(default_factory=dict)
    extended: Mapping[int, int] = field(default_factory=dict)
    headers: tuple[tuple[int, int], ...] = ()
    """Offset and length of each capability's number and pointer, those that come twice too."""
    unlisted: GapState = "absent"
    """Why a capability is not in ``listed``: ``absent`` only when the whole list was seen."""
    unextended: GapState = "absent"

    def word(self, offset: int) -> int | None:
        """16 bits, little endian; ``None`` outside of what was read."""
        return self._number(offset, 2)

    def long(self, offset: int) -> int | None:
        """32 bits, little endian; ``None`` outside of what was read."""
        return self._number(offset, 4)

    def _number(self, offset: int, size: int) -> int | None:
        return int.from_bytes(self.data[offset : offset + size], "little") if offset + size <= len(self.data) else None


def parse_space(data: bytes) -> Space:
    """The structure of the content of ``/sys/bus/pci/devices/.../config``.

    Sample: 64 bytes of a device with a list give ``unlisted="denied"``: the rest is for root only.
    """
    data = _as_read(data[:SPACE_BYTES])
    if len(data) < HEADER_BYTES or not any(data[:HEADER_BYTES]):
        return Space(data, answers=None, unlisted="unsupported", unextended="unsupported")
    if data[:HEADER_BYTES].count(0xFF) == HEADER_BYTES:
        return Space(data, answers=False, unlisted="error", unextended="error")
    listed, headers, unlisted = _list(data)
    extended, more, unextended = _extended_list(data, EXPRESS in listed, unlisted)
    return Space(data, True, listed, extended, (*headers, *more), unlisted, unextended)


def _as_read(data: bytes) -> bytes:
    """``data`` without the zeros that some tools fill a file up with: a list that leads into them was not read."""
    if len(data) <= HEADER_BYTES or not data[_STATUS] & _STATUS_HAS_LIST:
        return data
    first = data[_FIRST] & 0xFC
    return data[:HEADER_BYTES] if first >= HEADER_BYTES and data[first : first + 2] == b"\0\0" else data


def _list(data: bytes) -> tuple[dict[int, int], list[tuple[int, int]], GapState]:
    """Capabilities: number at the offset, pointer to the next behind it; the first pointer is in the header."""
    if not data[_STATUS] & _STATUS_HAS_LIST or data[_HEADER_TYPE] & 0x7F not in _HEADERS_WITH_LIST:
        return {}, [], "absent"
    if len(data) in _READABLE_BYTES:
        return {}, [], "denied"

    def at(offset: int) -> tuple[int, int] | None:
        if not HEADER_BYTES <= offset <= min(len(data), CONVENTIONAL_BYTES) - 2 or data[offset] == 0xFF:
            return None
        return data[offset], data[offset + 1] & 0xFC

    return _followed(data[_FIRST] & 0xFC, 2, at)


def _extended_list(
    data: bytes, express: bool, unlisted: GapState
) -> tuple[dict[int, int], list[tuple[int, int]], GapState]:
    """Extended capabilities: 32 bits of number (16), version (4) and next offset (12), the first at 256."""
    if not express:
        # Only PCI Express has them.
        return {}, [], unlisted
    if len(data) < CONVENTIONAL_BYTES + 4:
        return {}, [], "unsupported"
    if not any(data[CONVENTIONAL_BYTES : CONVENTIONAL_BYTES + 4]):
        return {}, [], "absent"

    def at(offset: int) -> tuple[int, int] | None:
        if not CONVENTIONAL_BYTES <= offset <= len(data) - 4:
            return None
        header = int.from_bytes(data[offset : offset + 4], "little")
        return None if header == 0xFFFFFFFF else (header & 0xFFFF, header >> 20 & 0xFFC)

    return _followed(CONVENTIONAL_BYTES, 4, at)


def _followed(
    offset: int, size: int, at: Callable[[int], tuple[int, int] | None]
) -> tuple[dict[int, int], list[tuple[int, int]], GapState]:
    """A list followed to its end, each place once: the capabilities, their headers, why others are missing."""
    found: dict[int, int] = {}
    seen: list[tuple[int, int]] = []
    while offset:
        here = None if (offset, size) in seen else at(offset)
        if here is None:
            return found, seen, "unsupported"
        seen.append((offset, size))
        found.setdefault(here[0], offset)
        offset = here[1]
    return found, seen, "absent"


def without_serials(data: bytes) -> bytes:
    """``data`` with zeros for all that a reader of it does not decode, serial numbers among it; the same length."""
    space = parse_space(data)
    kept = [(0, min(HEADER_BYTES, len(data))), *space.headers]
    kept += [(offset, _KEPT[number]) for number, offset in space.listed.items() if number in _KEPT]
    kept += [(offset, _KEPT_EXTENDED[number]) for number, offset in space.extended.items() if number in _KEPT_EXTENDED]
    made = bytearray(len(data))
    for offset, size in kept:
        made[offset : offset + size] = data[offset : offset + size]
    return bytes(made)
