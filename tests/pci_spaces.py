"""Configuration spaces of PCI devices, put together from their capabilities."""

from collections.abc import Sequence

SERIAL = 0x0003
VITAL_PRODUCT_DATA = 0x03
VENDOR_SPECIFIC = 0x0B
MSIX = 0x11
SERIAL_BYTES = bytes.fromhex("3177 5efe ffa1 420c".replace(" ", ""))
"""The EUI-64 0c:42:a1:ff:fe:5e:77:31, which is the MAC of a card."""
PORTS = {"endpoint": 0, "root port": 4, "upstream port": 5, "downstream port": 6, "integrated endpoint": 9}


def pci_space(
    *capabilities: tuple[int, bytes],
    extended: Sequence[tuple[int, bytes]] = (),
    size: int = 4096,
    vendor: int = 0x10DE,
    bridge: bool = False,
) -> bytes:
    """A space with these capabilities (number, and what follows the two bytes of number and pointer), from 0x40 on."""
    space = bytearray(size)
    put(space, 0x00, vendor.to_bytes(2, "little") + b"\x30\x23")
    space[0x0E] = 1 if bridge else 0
    if capabilities:
        space[0x06] = 0x10
        space[0x34] = 0x40
    place = 0x40
    for number, (kind, body) in enumerate(capabilities, start=1):
        following = _aligned(place + 2 + len(body))
        put(space, place, bytes([kind, following if number < len(capabilities) else 0]) + body)
        place = following
    place = 0x100
    for number, (kind, body) in enumerate(extended, start=1):
        following = _aligned(place + 4 + len(body))
        header = kind | 1 << 16 | (following if number < len(extended) else 0) << 20
        put(space, place, header.to_bytes(4, "little") + body)
        place = following
    return bytes(space)


def put(space: bytearray, place: int, data: bytes) -> None:
    space[place : place + len(data)] = data[: max(0, len(space) - place)]


def _aligned(place: int) -> int:
    return (place + 3) // 4 * 4


def _words(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)


def express(
    port: str = "endpoint",
    *,
    can_payload: int = 0,
    payload: int = 0,
    read_request: int = 0,
    relaxed: bool = False,
    no_snoop: bool = False,
    extended_tags: bool = False,
    can_aspm: int = 0,
    aspm: int = 0,
    up: bool | None = None,
) -> tuple[int, bytes]:
    """A PCI Express capability. Sizes are codes: 0 is 128 bytes, 5 is 4096; ``up=None``: it does not tell."""
    control = relaxed << 4 | payload << 5 | extended_tags << 8 | no_snoop << 11 | read_request << 12
    link = 5 | 16 << 4 | can_aspm << 10 | (up is not None) << 20
    registers = _words(2 | PORTS[port] << 4) + can_payload.to_bytes(4, "little") + _words(control, 0)
    registers += link.to_bytes(4, "little") + _words(aspm, 5 | 16 << 4 | bool(up) << 13)
    return 0x10, registers.ljust(0x3A, b"\0")


def acs(*, can: int = 0x5F, on: int = 0) -> tuple[int, bytes]:
    """Access Control Services: bits 1 source validation, 4 request redirect, 8 completion redirect, 0x10 forwarding."""
    return 0x0D, _words(can, on)


def ats(*, enabled: bool) -> tuple[int, bytes]:
    return 0x0F, _words(0x0020, enabled << 15)


def resizable_bars(*bars: tuple[int, int, int]) -> tuple[int, bytes]:
    """BARs by number, sizes offered (bit 0 is 1 MiB) and size set (0 is 1 MiB)."""
    pairs = [(can << 4, number | len(bars) << 5 | size << 8) for number, can, size in bars]
    return 0x15, b"".join(a.to_bytes(4, "little") + b.to_bytes(4, "little") for a, b in pairs)


def serial() -> tuple[int, bytes]:
    return SERIAL, SERIAL_BYTES
