"""What the variables that name interfaces or RDMA devices choose on this host, by NCCL's rules.

A word names all whose name starts with it, ``=`` before the list asks for the whole name, ``^`` for all but those; a
port may follow after ``:`` (src/misc/socket.cc, src/transport/net_ib). Gloo knows whole names only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from advisor.model.facts import Facts, evidence_path
from advisor.probes.net import Interface, Net, is_made_up
from advisor.probes.rdma import ACTIVE, Rdma, RdmaDevice

INTERFACES = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "GLOO_SOCKET_IFNAME")
DEVICES = ("NCCL_IB_HCA",)
_WHOLE_NAMES = ("GLOO_SOCKET_IFNAME",)
_ONLY_THIS_HOST = ("lo", "docker", "virbr")
"""What NCCL itself takes last: nothing there leads to another node (src/misc/socket.cc)."""


@dataclass(frozen=True)
class Named:
    """One variable where it stands."""

    name: str
    value: str | None
    where: str
    place: Literal["environment", "file", "login"]
    origin: str


class NcclChoice(Facts):
    """One such variable in one place."""

    name: str
    value: str | None = None
    where: Annotated[str, "the environment, or file and line"]
    devices: Annotated[bool, "of RDMA devices; else of interfaces"]
    excludes: Annotated[bool | None, "it names what not to take (^)"] = None
    missing: Annotated[tuple[str, ...] | None, "words that no interface or device of this host answers to"] = None
    chosen: Annotated[tuple[str, ...] | None, "what it leaves, by name, up or not"] = None
    usable: Annotated[tuple[str, ...] | None, "those of them that are not known to be down"] = None
    by_prefix: Annotated[tuple[str, ...] | None, "named only because a whole name, which is a word, starts theirs"] = (
        None
    )
    stays_here: Annotated[bool | None, "all that it leaves are loopback or bridges of containers"] = None


@dataclass(frozen=True)
class _There:
    """The names that can be chosen, and those that carry nothing."""

    names: tuple[str, ...]
    down: frozenset[str]
    complete: bool
    origin: str


def choices(settings: Sequence[Named], net: Net | None, rdma: Rdma | None) -> tuple[NcclChoice, ...]:
    """The choices that ``settings`` make."""
    interfaces, devices = _interfaces(net), _devices(rdma)
    return tuple(
        _choice(one, devices if one.name in DEVICES else interfaces)
        for one in settings
        if one.name in (*INTERFACES, *DEVICES)
    )


def _interfaces(net: Net | None) -> _There:
    listed = (net.interfaces if net is not None else None) or ()
    others = net.others if net is not None else None
    names = (*(one.name for one in listed), *(others or ()))
    known = net is not None and net.interfaces is not None and others is not None
    return _There(names, frozenset(one.name for one in listed if _is_down(one)), known, net.origin if net else "")


def _is_down(one: Interface) -> bool:
    return one.administratively_up is False or one.carrier is False


def _devices(rdma: Rdma | None) -> _There:
    devices = rdma.devices if rdma is not None else None
    names = tuple(device.name for device in devices or ())
    down = frozenset(device.name for device in devices or () if _carries_nothing(device))
    return _There(names, down, devices is not None, evidence_path(rdma, "devices") if rdma is not None else "")


def _carries_nothing(device: RdmaDevice) -> bool:
    return device.ports is not None and all(port.state not in (ACTIVE, None) for port in device.ports)


def _choice(one: Named, there: _There) -> NcclChoice:
    made = NcclChoice(origin=one.origin, name=one.name, value=one.value, where=one.where, devices=one.name in DEVICES)
    if not one.value:
        return made
    excludes, exact, words = parse_choice(one.value)
    exact = exact or one.name in _WHOLE_NAMES
    missing = tuple(word for word in words if not any(_fits(name, word, exact) for name in there.names))
    named = tuple(name for name in there.names if any(_fits(name, word, exact) for word in words))
    chosen = tuple(name for name in there.names if name not in named) if excludes else named
    usable = tuple(name for name in chosen if name not in there.down)
    whole = tuple(word for word in words if word in there.names)
    extra = tuple(name for name in named if name not in words and any(_fits(name, word, exact) for word in whole))
    decided = there.complete and not any(is_made_up(word) for word in missing)
    local = all(name.startswith(_ONLY_THIS_HOST) for name in chosen) if chosen and not made.devices else False
    return made.model_copy(
        update={
            "excludes": excludes,
            "missing": missing if decided else None,
            "chosen": chosen if decided else None,
            "usable": usable if decided else None,
            "by_prefix": extra if decided else None,
            "stays_here": local if decided else None,
            "origins": dict.fromkeys(("missing", "chosen", "usable", "by_prefix", "stays_here"), there.origin),
        }
    )


def _fits(name: str, word: str, exact: bool) -> bool:
    return name == word if exact else name.startswith(word)


def parse_choice(text: str) -> tuple[bool, bool, tuple[str, ...]]:
    """Whether a list excludes, whether it holds whole names, and its words without ports.

    Sample: ``=mlx5_0:1,mlx5_1:1``
    """
    excludes = text.startswith("^")
    rest = text[1:] if excludes else text
    exact = rest.startswith("=")
    words = (word.partition(":")[0] for word in (rest[1:] if exact else rest).split(","))
    return excludes, exact, tuple(dict.fromkeys(word for word in words if word))
