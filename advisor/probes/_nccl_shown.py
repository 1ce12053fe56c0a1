"""Values of NCCL's, UCX's, Gloo's and libfabric's variables without addresses, hosts, accounts and homes.

What is left keeps its form, so that whether a value is right can still be told: addresses become those of RFC 5737 and
RFC 3849 (``192.0.2.1``, ``2001:db8::1``), hosts ``host.example``, homes ``/home/USER``; ports and prefix lengths stay.
"""

import ipaddress
import re

_WHOLE = ("NCCL_HOSTID",)
"""Names whose values are names of hosts without a form."""
_SECRET = ("AUTH", "CREDENTIAL", "JWT", "PASS", "SECRET", "TOKEN")
_HOSTS = re.compile(r"(?:^|_)(?:COMM_ID|ADDR|ADDRESS|ADDR_RANGE|HOSTNAME|SERVER|STATS_DEST)$")
"""Names whose values hold hosts: NCCL_COMM_ID, NCCL_RAS_ADDR, UCX_STATS_DEST (``udp:HOST:PORT``) ..."""
_CARD = re.compile(r"(?:GPU|MIG)-[0-9a-f]{4}", re.IGNORECASE)
_V4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)")
_V6 = re.compile(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:(?<=:)(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])")
_ACCOUNT = re.compile(r"(?<![\w.+-])[\w.+-]+@(?=[\w-]+\.[\w.-]+|\[?[0-9a-fA-F]*:)")
_URL = re.compile(r"(?<=://)(?P<account>[^/\s@]*@)?(?P<host>\[[^\]]*\]|[^/\s:]*)")
_HOST_WORD = re.compile(r"(?<![/\w.-])[A-Za-z0-9_.-]*[A-Za-z_][A-Za-z0-9_.-]*")
_KEPT = ("udp", "tcp", "file", "stdout", "stderr", "host.example", "db8")
"""Words of such values that are no hosts; the last two of the examples."""
_HOME = re.compile(r"(?<=/home/)[^/\s,:;'\"]+|(?<=/users/)[^/\s,:;'\"]+|(?<=/Users/)[^/\s,:;'\"]+|(?<![\w/])~\w[\w.-]*")
_LIMIT = 1000


def shown(name: str, value: str) -> str | None:
    """The value; ``None`` when its name says that it is secret or names a host, or when it names single cards.

    Samples: ``NCCL_IB_ADDR_RANGE``, ``10.11.0.0/16`` is ``192.0.2.1/16``; ``NCCL_COMM_ID``, ``node3:29500`` is
    ``host.example:29500``
    """
    if name in _WHOLE or any(word in name.upper() for word in _SECRET) or _CARD.search(value):
        return None
    value = value[:_LIMIT]
    value = _URL.sub(
        lambda found: ("user@" if found["account"] else "") + ("host.example" if found["host"] else ""), value
    )
    value = _ACCOUNT.sub("user@", value)
    value = _HOME.sub(lambda found: "~USER" if found[0].startswith("~") else "USER", value)
    if "VERSION" not in name:
        value = _V6.sub(_without_v6, _V4.sub(_without_v4, value))
    if not _HOSTS.search(name):
        return value
    return _HOST_WORD.sub(lambda found: found[0] if found[0] in _KEPT else "host.example", value)


def _without_v4(found: re.Match[str]) -> str:
    try:
        address = ipaddress.IPv4Address(found[0])
    except ValueError:
        return found[0]
    return found[0] if address.is_loopback or address.is_unspecified else "192.0.2.1"


def _without_v6(found: re.Match[str]) -> str:
    try:
        address = ipaddress.IPv6Address(found[0])
    except ValueError:
        return found[0]
    return found[0] if address.is_loopback or address.is_unspecified else "2001:db8::1"
