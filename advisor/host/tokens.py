"""Stable tokens for what names a host, its people or its network: same key, same token; structure stays.

Numbers are mapped digit by digit, each by what stands before it (as Crypto-PAn does with addresses): two that share a
beginning still share it, two that differ still differ, and formats and lengths stay.
"""

import ipaddress
import re
from dataclasses import dataclass
from hashlib import blake2b

_TOKEN_CHARACTERS = 10
_PRIVATE_V4 = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")))
_LINK_LOCAL_V4 = ipaddress.IPv4Network("169.254.0.0/16")
_SAME_V4 = tuple(map(ipaddress.IPv4Network, ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/3")))
"""Says nothing of the host: this host, loopback, multicast, and 255.... which are net masks."""
_KINDS_V4 = (*_PRIVATE_V4, _LINK_LOCAL_V4, *_SAME_V4)
_LOCAL_AND_GROUP_BITS = 0b0011
"""Of the second digit of a MAC: locally administered, multicast."""
_LOOKED_BACK = 64
"""Digits that the next one hangs on: as many as the longest identifiers have, so that long texts cost little."""
_HALF = 64
_HALF_MASK = (1 << _HALF) - 1


@dataclass(frozen=True)
class Tokens:
    """Tokens that hang on ``key``, which must not be found beside them."""

    key: bytes

    def word(self, text: str) -> str:
        """A token for a name or a credential: letters and digits, of one length."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), key=self.key, person=b"word").hexdigest()
        return "x" + digest[: _TOKEN_CHARACTERS - 1]

    def host(self, text: str) -> str:
        """A token for each label of a host's or domain's name, so that hosts of one domain still share it."""
        return ".".join(self.word(label.lower()) if label else "" for label in text.split("."))

    def digits(self, text: str, kind: str = "hex") -> str:
        """Hex digits mapped, everything between them kept: UUIDs, GUIDs, identifiers of any length."""
        return "".join(self._digits(text, kind, 0))

    def mac(self, text: str) -> str:
        """A hardware address of any length; zeros and broadcast stay, as do the bits "local" and "group"."""
        if not text.strip("0:-") or not text.lower().strip("f:-"):
            return text
        return "".join(self._digits(text, "mac", _LOCAL_AND_GROUP_BITS))

    def guid(self, text: str) -> str:
        """A 64-bit identifier of an interface in 16 hex digits with anything between; one made of a MAC stays so."""
        plain = re.sub("[^0-9a-fA-F]", "", text).lower()
        if not plain.strip("0"):
            return text
        if len(plain) == _HALF // 4 and plain[6:10] == "fffe":
            first = f"{int(plain[:2], 16) ^ 2:02x}"
            mac = self.mac(first + plain[2:6] + plain[10:])
            new = f"{int(mac[:2], 16) ^ 2:02x}{mac[2:6]}fffe{mac[6:]}"
        else:
            new = self.digits(plain, "guid")
        digits = iter(new)
        return "".join(next(digits) if char in "0123456789abcdefABCDEF" else char for char in text)

    def ipv4(self, text: str) -> str:
        """An IPv4 address of the same kind (private, link-local ...) that shares as long a beginning with others."""
        address = ipaddress.IPv4Address(text)
        if any(address in network for network in _SAME_V4):
            return text
        network = next((network for network in (*_PRIVATE_V4, _LINK_LOCAL_V4) if address in network), None)
        if network is not None:
            return str(ipaddress.IPv4Address(self._bits(int(address), 32, network.prefixlen)))
        # Out of the public addresses no other kind may come: go round until it is one again.
        number = self._bits(int(address), 32, 0)
        while any(ipaddress.IPv4Address(number) in network for network in _KINDS_V4):
            number = self._bits(number, 32, 0)
        return str(ipaddress.IPv4Address(number))

    def ipv6(self, text: str) -> str:
        """An IPv6 address or GID of the same kind, written as long as it was."""
        address = ipaddress.IPv6Address(text)
        number = self._ipv6(address)
        if number == int(address):
            return text
        if len(text) == len(address.exploded):
            return ipaddress.IPv6Address(number).exploded
        short = str(ipaddress.IPv6Address(number))
        mapped = ipaddress.IPv6Address(number).ipv4_mapped
        return f"::ffff:{mapped}" if mapped is not None and "." in text else short

    def _ipv6(self, address: ipaddress.IPv6Address) -> int:
        if address.is_unspecified or address.is_loopback or address.is_multicast:
            return int(address)
        if address.ipv4_mapped is not None:
            mapped = ipaddress.IPv4Address(self.ipv4(str(address.ipv4_mapped)))
            return int(address) >> 32 << 32 | int(mapped)
        high, low = int(address) >> _HALF, int(address) & _HALF_MASK
        if not address.is_link_local:
            high = self._bits(high, _HALF, 8 if address.is_private else 3)
        return high << _HALF | int(self.guid(f"{low:016x}"), 16)

    def _digits(self, text: str, kind: str, kept_bits_of_second: int) -> list[str]:
        made = []
        before = ""
        is_upper = text.isupper()
        for char in text:
            if char not in "0123456789abcdefABCDEF":
                made.append(char)
                continue
            mask = self._hash(f"{kind}:{before}") & 0xF
            if len(before) == 1:
                mask &= ~kept_bits_of_second
            digit = f"{int(char, 16) ^ mask:x}"
            made.append(digit.upper() if char in "ABCDEF" or (is_upper and char.isdigit()) else digit)
            before = (before + char.lower())[-_LOOKED_BACK:]
        return made

    def _bits(self, number: int, width: int, kept: int) -> int:
        """``number`` with each bit after the first ``kept`` turned or not, by the bits before it."""
        made = number
        for position in range(kept, width):
            shift = width - position
            if self._hash(f"{width}:{position}:{number >> shift}") & 1:
                made ^= 1 << (shift - 1)
        return made

    def _hash(self, text: str) -> int:
        return blake2b(text.encode(), key=self.key, digest_size=1, person=b"digits").digest()[0]
