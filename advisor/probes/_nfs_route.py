"""Which network interface leads to a server, as the main routing table says. IPv4 only."""

import re
from collections.abc import Iterable, Sequence

from advisor.probes.ip import Route

_ADDRESS = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)


def server_of(options: Iterable[str]) -> int | None:
    """The server's address among the options of a mounted file system, as a number. Sample: ``addr=192.0.2.5``"""
    found = next((match for one in options if (match := _ADDRESS.fullmatch(one.removeprefix("addr=")))), None)
    parts = [int(part) for part in found.groups()] if found else []
    return int.from_bytes(bytes(parts)) if parts and max(parts) < 256 else None


def interface_to(address: int, routes: Sequence[Route]) -> str | None:
    """The interface of the narrowest route to ``address``; ``None`` without any, or for numbers in another order."""
    best: tuple[int, str] | None = None
    for route in routes:
        mask, destination = _number(route.mask), _number(route.destination)
        if mask is None or destination is None or not _is_mask(mask):
            return None
        if address & mask == destination and (best is None or mask > best[0]):
            best = (mask, route.interface)
    return None if best is None else best[1]


def _number(text: str) -> int | None:
    """The number that the kernel prints with its first byte last. Sample: ``0000000A`` is 10.0.0.0"""
    return int.from_bytes(bytes.fromhex(text), "little") if re.fullmatch(r"[0-9A-Fa-f]{8}", text) else None


def _is_mask(mask: int) -> bool:
    rest = mask ^ 0xFFFFFFFF
    return rest & (rest + 1) == 0
