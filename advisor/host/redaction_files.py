"""The content of a file without what names its host, its people or its network, by where it lies."""

import ipaddress
import re

from advisor.host.redaction_boot import boot_words
from advisor.host.redaction_mounts import TABLES, mount_table
from advisor.host.redaction_settings import configuration, without_comments
from advisor.host.redaction_words import VERSIONS, Words

_ROUTES = re.compile(r"/proc/(?:[^/]+/)?net/route")
_ROUTE = re.compile(r"(?m)^(?P<name>\S+[ \t]+)(?P<to>[0-9A-F]{8})(?P<gap>[ \t]+)(?P<by>[0-9A-F]{8})(?=[ \t])")
"""Interface, destination and gateway: addresses in hexadecimal, the last byte first."""
_CMDLINE = "/proc/cmdline"
_NAMED_TEXTS = re.compile(r"/proc/swaps|/proc/(?:[^/]+/)?(?:cgroup|cpuset)|.*/dm/name|/proc/cmdline")
"""Files of the kernel in which names that people gave stand."""
_CLOUD_TAGS = re.compile(r"Amazon EC2|OracleCloud\.com|7783-7084-3265-9085-8269-3286-77|No Asset (?:Tag|Information)|")
"""Asset tags that clouds use to tell themselves apart; others are the owner's numbers."""
_GUID = re.compile(r"/(?:node|sys_image|port)_guid$")
"""Files that have a GUID with colons or, from other sources than the kernel, without."""
_OWN_NAME = ("/proc/sys/kernel/hostname", "/etc/hostname")
_NUMBERED = re.compile(r"^/(?:sys|proc)/.*/(?:\w*serial|subsysnqn|hostnqn|wwid)$")
"""Files that hold the number of one device or machine, whatever its form."""


def content(words: Words, place: str, text: str) -> str:
    """The content of the file at ``place``."""
    if place in _OWN_NAME:
        return re.sub(r"\S+", lambda found: words.once(found[0], words.tokens.host), text)
    kernels = place.startswith(("/sys/", "/proc/"))
    if kernels:
        text = _kernel_text(words, place, text)
    elif TABLES.fullmatch(place):
        text = mount_table(words, without_comments(text))
    else:
        text = configuration(words, place, text)
    text = words.forms(text, not VERSIONS.search(place))
    if not kernels or TABLES.fullmatch(place) or _NAMED_TEXTS.fullmatch(place):
        return words.named(text)
    return words.accounts(text) if place == "/proc/version" else text


def _kernel_text(words: Words, place: str, text: str) -> str:
    if place.endswith("/chassis_asset_tag"):
        return text if _CLOUD_TAGS.fullmatch(text.strip()) else words.secret(text.strip()) + "\n"
    if _NUMBERED.search(place):
        return re.sub(r"\S(?:.*\S)?", lambda found: words.secret(found[0]), text, count=1)
    if _GUID.search(place):
        return re.sub(r"(?:(?<=0x)|\b)[0-9a-fA-F]{16}\b", lambda found: words.tokens.guid(found[0]), text)
    if place.endswith("/dm/uuid"):
        return re.sub(r"(?<=-)\S+", lambda found: words.secret(found[0]), text, count=1)
    if _ROUTES.fullmatch(place):
        return _ROUTE.sub(
            lambda f: f["name"] + _hex_v4(words, f["to"]) + f["gap"] + _hex_v4(words, f["by"]),
            text,
        )
    if place == "/proc/cpuinfo":
        return re.sub(r"(?m)^(Serial\s*: *)(\S+)", lambda found: found[1] + words.tokens.digits(found[2]), text)
    if TABLES.fullmatch(place):
        return mount_table(words, text)
    return boot_words(words, text) if place == _CMDLINE else text


def _hex_v4(words: Words, text: str) -> str:
    """An address as /proc/net/route has it. Sample: ``0002A8C0`` is 192.168.2.0"""
    token = words.tokens.ipv4(str(ipaddress.IPv4Address(bytes.fromhex(text)[::-1])))
    return ipaddress.IPv4Address(token).packed[::-1].hex().upper()
