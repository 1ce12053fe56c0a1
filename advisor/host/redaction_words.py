"""What is replaced wherever it stands: what has a form of its own, known names, homes, servers and accounts in URLs."""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from advisor.host.tokens import Tokens
from advisor.model.scrubbing import EVERYDAY, SHORTEST_NAME

_HEX = "[0-9a-fA-F]"
_FORMS = re.compile(
    rf"""
    (?P<gid> (?<![\w:]) (?:{_HEX}{{4}}:){{7}}{_HEX}{{4}} (?![\w:]) )
    | (?P<guid> (?<![\w:]) (?:{_HEX}{{4}}:){{3}}{_HEX}{{4}} (?![\w:]) )
    | (?P<mac> (?<![\w:]) {_HEX}{{2}}(?P<sep>[:-]) (?:{_HEX}{{2}}(?P=sep)){{4,}}{_HEX}{{2}} (?![\w:]) )
    | (?<![0-9A-Za-z]) (?P<lead>[a-z]{{2,6}}x) (?P<named> {_HEX}{{12}} | {_HEX}{{16}} ) (?![0-9A-Za-z])
    | (?P<gpu> (?<=GPU-){_HEX}{{2,}}[0-9a-fA-F-]* )
    | (?P<uuid> (?:(?<!{_HEX})|(?<=pod)) {_HEX}{{8}}(?P<dash>[-_])(?:{_HEX}{{4}}(?P=dash)){{3}}{_HEX}{{12}} (?!{_HEX}) )
    | (?P<long> (?<![0-9a-zA-Z]) {_HEX}{{32,}} (?![0-9a-zA-Z]) )
    | (?P<wwn> (?:(?<=naa\.)|(?<=eui\.)|(?<=wwn-0x)){_HEX}{{8,}} )
    | (?P<iqn> (?:(?<=iqn\.)|(?<=nqn\.))\d{{4}}-\d\d\.[\w.:-]+ )
    | (?P<ipv6> (?<![\w:.]) (?:{_HEX}{{0,4}}:){{2,7}}(?:(?:\d{{1,3}}\.){{3}}\d{{1,3}}|{_HEX}{{0,4}}) (?![\w:]) )
    | (?P<ipv4> (?<![\w.]) (?:\d{{1,3}}\.){{3}}\d{{1,3}} (?!\.?\w) )
    | (?P<disk> (?:(?<=/dev/disk/by-id/)|(?<=/dev/disk/by-label/)|(?<=/dev/disk/by-partlabel/)) [^\s,"']+ )
    | (?P<volume> (?<=UUID=)(?:{_HEX}{{4}}-{_HEX}{{4}}|{_HEX}{{8}}-\d\d)\b )
    | (?P<short> (?<=/dev/disk/by-uuid/){_HEX}{{4}}-{_HEX}{{4}}\b )
    | (?P<dashed> (?<=\bip-) (?:\d{{1,3}}-){{3}}\d{{1,3}} \b )
    """,
    re.VERBOSE,
)
_HOMES = re.compile(r"(?<=/home/)[^/\s,:=]+|(?<=/users/)[^/\s,:=]+|(?<=/Users/)[^/\s,:=]+")
_URL = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<rest>[^/\s,]*)")
_ACCOUNT = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w.-]+")
_SERVICES = re.compile(r"(?:tcp|o2ib|kfi)\d*|(?:\d{1,10})?\.service", re.ASCII)
"""What stands after @ in the names of Lustre's networks and of systemd's units."""
_MAC_DIGITS = 12
CGROUPS = "/sys/fs/cgroup"
VERSIONS = re.compile(r"version|fw_ver|release|bios|/dmi/", re.IGNORECASE)
"""Where four numbers with dots between are no address."""


@dataclass(frozen=True)
class Words:
    """What is replaced, and by what."""

    tokens: Tokens
    known: Mapping[str, str] = field(default_factory=dict)
    pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, tokens: Tokens, names: Mapping[str, str], kernel: Iterable[str]) -> "Words":
        """Tokens by name in lower case, less everyday words and those that the ``kernel`` itself uses in paths.

        Of these a name with a digit (``node1``) is still replaced where it is part of another: ``rhel_node1-root``.
        """
        fit = {n: t for n, t in names.items() if len(n) >= SHORTEST_NAME and n not in EVERYDAY and not n.isdecimal()}
        common = set(kernel)
        kept = {name: token for name, token in fit.items() if name not in common}
        joined = {name: token for name, token in fit.items() if name in common and re.search(r"\d", name)}
        if not fit:
            return cls(tokens)
        return cls(
            tokens,
            {**kept, **joined},
            re.compile(
                rf"(?<![0-9A-Za-z])(?:{_either(kept)})(?![0-9A-Za-z])"
                rf"|(?<=[0-9A-Za-z][_-])(?:{_either(joined)})(?![0-9A-Za-z])",
                re.IGNORECASE,
            ),
        )

    def path(self, text: str) -> str:
        """A path or the word of a command; names only outside of what the kernel itself names."""
        if text.startswith(CGROUPS):
            return CGROUPS + self.named(self.forms(text[len(CGROUPS) :], False))
        if text.startswith(("/sys/", "/proc/", "command: ")) or not text.startswith("/"):
            return self.forms(text, False)
        return self.named(self.forms(text))

    def forms(self, text: str, addresses: bool = True) -> str:
        """``text`` with everything replaced that has a form of its own."""
        return _FORMS.sub(lambda found: self._form(found, addresses), text)

    def _form(self, found: re.Match[str], addresses: bool) -> str:
        text, kind = found[0], found.lastgroup
        if found["lead"] is not None:  # as systemd and udev name interfaces and RDMA devices: enx001122aabbcc
            make = self.tokens.mac if len(found["named"]) == _MAC_DIGITS else self.tokens.guid
            return str(found["lead"]) + make(found["named"])
        for name in ("gid", "guid", "mac", "gpu", "uuid", "long", "wwn", "iqn", "ipv6", "ipv4", "disk", "dashed"):
            if found[name] is not None:
                kind = name
        if kind in ("ipv6", "gid"):
            return _or_same(self.tokens.ipv6, text)
        if kind == "ipv4":
            return _or_same(self.tokens.ipv4, text) if addresses else text
        if kind == "dashed":
            return _or_same(lambda dashed: self.tokens.ipv4(dashed.replace("-", ".")).replace(".", "-"), text)
        if kind == "guid":
            return self.tokens.guid(text)
        if kind == "mac":
            return self.tokens.mac(text)
        if kind == "disk":
            return self.once(text, self.tokens.word)
        if kind == "iqn":
            return text[:8] + self.tokens.word(text)
        return self.tokens.digits(text)

    def named(self, text: str) -> str:
        """``text`` with known names, homes, URLs' servers and accounts replaced."""
        text = _URL.sub(lambda found: found["scheme"] + self.authority(found["rest"]), text)
        text = self.accounts(text)
        if self.pattern is not None:
            text = self.pattern.sub(lambda found: self.known[found[0].lower()], text)
        return _HOMES.sub(lambda found: self.once(found[0], self.tokens.word), text)

    def accounts(self, text: str) -> str:
        """``text`` with accounts at hosts replaced."""
        return _ACCOUNT.sub(self._account, text)

    def once(self, text: str, make: Callable[[str], str]) -> str:
        """A token for ``text`` unless it is one already."""
        return text if re.fullmatch(r"x[0-9a-f]{9}(?:\.x[0-9a-f]{9})*", text) else make(text)

    def authority(self, text: str) -> str:
        account, at, server = text.rpartition("@")
        server, colon, port = server.partition(":")
        return (self.tokens.word(account) + at if at else "") + self.server(server) + colon + port

    def server(self, text: str) -> str:
        return text if not text or _is_address(text) else self.once(text, self.tokens.host)

    def _account(self, found: re.Match[str]) -> str:
        account, _, server = found[0].partition("@")
        if _SERVICES.fullmatch(server):
            return found[0]
        shown = account if _is_address(account) else self.once(account, self.tokens.word)
        return f"{shown}@{server if _SERVICES.fullmatch(server) else self.server(server)}"

    def peer(self, text: str) -> str:
        """A part of what names servers: numbers and the names of networks stay."""
        return text if text.isdecimal() or _SERVICES.fullmatch(text) else self.server(text)

    def secret(self, text: str) -> str:
        """A token for a credential or a number of one device."""
        return self.once(text, self.tokens.word)


def _either(names: Iterable[str]) -> str:
    """A pattern of any of ``names``, the longest first; of none it matches nothing."""
    return "|".join(map(re.escape, sorted(names, key=lambda name: (-len(name), name)))) or "(?!)"


def _or_same(make: Callable[[str], str], text: str) -> str:
    """What ``make`` gives; ``text`` itself when it only looked like an address."""
    try:
        return make(text)
    except ValueError:
        return text


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
