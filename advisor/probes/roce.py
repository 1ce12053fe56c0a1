"""RDMA over Ethernet: largest packet, which traffic is lossless, and how congestion is told.

The folders ``qos`` and ``ecn`` come with NVIDIA's own driver (OFED, DOCA) only; that they are missing does not say
that a network is lossy. PFC is nowhere in sysfs, so dcb(8) is asked.
Formats: https://docs.nvidia.com/networking/display/MLNXOFEDv497100LTS/Explicit+Congestion+Notification+(ECN) and
dcb-pfc(8)
"""

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, GapState, Seen
from advisor.probes._collected import Collected
from advisor.probes._interfaces import NET, physical_interfaces
from advisor.probes._sysfs import quiet_names, quiet_text
from advisor.probes._together import run_together

INFINIBAND = "/sys/class/infiniband"
DCB = "dcb"
HEADERS_BYTES = 96
"""What a RoCE packet needs beside its data: GRH 40, UDP 8, BTH 12, XRC 4, atomics 28, CRC 4 (ib_addr.h)."""
PATH_MTUS = (4096, 2048, 1024, 512, 256)
_ETHERNET = "1"
_GLOBAL = "Global tclass="
"""Stands first where one class holds for all; rules for single connections may follow, or nothing at all."""
_POINTS = {"ecn_np_priorities": "ecn/roce_np/enable", "ecn_rp_priorities": "ecn/roce_rp/enable"}
_FROM_ECN = ("cnp_dscp", "cnp_priority", "min_time_between_cnps_usecs", *_POINTS)


class RoceInterface(Facts):
    """One Ethernet interface whose card does RDMA."""

    seen: ClassVar[Seen | None] = "own"
    name: Annotated[str, "interface"]
    rdma_devices: Annotated[tuple[str, ...] | None, File("device/infiniband"), "RDMA devices of the same card"] = None
    path_mtu_bytes: Annotated[
        int | None,
        File("mtu"),
        "largest data of one packet, bytes, by the interface's MTU; the other end may take less",
    ] = None
    trust: Annotated[str | None, File("qos/trust"), "what chooses the priority of a packet: pcp or dscp"] = None
    pfc_priorities: Annotated[
        tuple[int, ...] | None, "priorities with flow control (PFC): their packets wait instead of being lost"
    ] = None
    ecn_np_priorities: Annotated[
        tuple[int, ...] | None, File("ecn/roce_np/enable"), "priorities on which it tells senders of congestion"
    ] = None
    ecn_rp_priorities: Annotated[
        tuple[int, ...] | None, File("ecn/roce_rp/enable"), "priorities on which it slows down when told"
    ] = None
    cnp_dscp: Annotated[int | None, File("ecn/roce_np/cnp_dscp"), "DSCP of its congestion notifications"] = None
    cnp_priority: Annotated[
        int | None, File("ecn/roce_np/cnp_802p_prio"), "VLAN priority of its congestion notifications"
    ] = None
    min_time_between_cnps_usecs: Annotated[
        int | None, File("ecn/roce_np/min_time_between_cnps"), "shortest time between two of them, microseconds"
    ] = None
    traffic_class_forced: Annotated[bool | None, "the card gives one traffic class to all RDMA packets"] = None
    traffic_class: Annotated[
        int | None, "the one it gives to all, whatever programs ask for: DSCP times 4, and the ECN bits"
    ] = None


class Roce(Facts):
    """The Ethernet interfaces that do RDMA."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = "/sys/class/net"
    interfaces: Annotated[tuple[RoceInterface, ...] | None, "by name"] = None


COLLECTED = Collected(
    models=((f"{NET}/*", RoceInterface),),
    folders=(
        (f"{NET}/*/device/infiniband", ""),
        (f"{NET}/*/qos", ""),
        (f"{NET}/*/ecn", ""),
        (f"{NET}/*/ecn/roce_[nr]p/enable", "[0-7]"),
        ("/sys/class/infiniband/*/tc/1", "traffic_class"),
    ),
)


def read(host: Host) -> Roce:
    """RDMA over Ethernet on ``host``."""
    names = physical_interfaces(host)
    if names is None:
        return Roce(origin=NET)
    devices = {name: quiet_names(host, f"{NET}/{name}/device/infiniband") or () for name in names}
    chosen = [name for name in names if devices[name] and quiet_text(host, f"{NET}/{name}/type") == _ETHERNET]
    outputs = run_together(host, [(DCB, "pfc", "show", "dev", name) for name in chosen])
    where = _one_gap(host, chosen)
    return Roce(
        origin=NET,
        interfaces=tuple(
            _interface(host, name, devices[name], output, where or _origin(name))
            for name, output in zip(chosen, outputs, strict=True)
        ),
    )


def _origin(name: str) -> str:
    return command_origin((DCB, "pfc", "show", "dev", name))


def _one_gap(host: Host, names: Sequence[str]) -> str | None:
    """The one gap's path where no interface was answered for want of the program or of a capture."""
    states = {host.gaps.get(_origin(name)) for name in names}
    state: GapState | None = states.pop() if len(states) == 1 else None
    if state not in ("absent", "not captured"):
        return None
    for name in names:
        del host.gaps[_origin(name)]
    host.missed(command_origin((DCB,)), state)
    return command_origin((DCB,))


def _interface(host: Host, name: str, devices: tuple[str, ...], pfc: Output | None, pfc_origin: str) -> RoceInterface:
    folder = f"{NET}/{name}"
    given: dict[str, object] = {}
    if host.names(f"{folder}/qos") is None:
        given["trust"] = None
    if host.names(f"{folder}/ecn") is None:
        given |= dict.fromkeys(_FROM_ECN)
    else:
        given |= {field: _enabled(host, f"{folder}/{path}") for field, path in _POINTS.items()}
    traffic_class = f"{INFINIBAND}/{devices[0]}/tc/1/traffic_class"
    text = host.text(traffic_class)
    return read_fields(
        host,
        RoceInterface,
        folder,
        **given,
        name=name,
        rdma_devices=devices,
        path_mtu_bytes=_path_mtu(host, f"{folder}/mtu"),
        pfc_priorities=_pfc(host, pfc, pfc_origin),
        traffic_class_forced=None if text is None else text.startswith(_GLOBAL),
        traffic_class=_traffic_class(host, traffic_class, text),
        origins={
            "pfc_priorities": pfc_origin,
            **dict.fromkeys(("traffic_class", "traffic_class_forced"), traffic_class),
        },
    )


def _enabled(host: Host, folder: str) -> tuple[int, ...] | None:
    """The priorities whose file says 1; ``None`` when one cannot be read: the others alone may mislead."""
    names = host.names(folder)
    if names is None:
        return None
    texts = {int(name): host.text(f"{folder}/{name}") for name in names if re.fullmatch("[0-7]", name)}
    if any(text not in ("0", "1") for text in texts.values()):
        host.missed(folder, "unsupported")
        return None
    return tuple(priority for priority, text in texts.items() if text == "1")


def _path_mtu(host: Host, path: str) -> int | None:
    text = host.text(path)
    found = path_mtu(int(text)) if text and re.fullmatch(r"\d{1,9}", text, re.ASCII) else None
    if found is None:
        host.gaps.setdefault(path, "unsupported")
    return found


def path_mtu(mtu: int) -> int | None:
    """The largest RDMA packet's data in bytes that an Ethernet MTU leaves room for; ``None`` when there is none."""
    return next((size for size in PATH_MTUS if size <= mtu - HEADERS_BYTES), None)


def _pfc(host: Host, output: Output | None, origin: str) -> tuple[int, ...] | None:
    if output is None:
        return None
    priorities = parse_pfc(output.stdout) if output.returncode == 0 else None
    if priorities is None:
        denied = "not permitted" in output.stderr
        host.missed(origin, "denied" if denied else "unsupported")
    return priorities


def parse_pfc(text: str) -> tuple[int, ...] | None:
    """The priorities with flow control. Sample::

    pfc-cap 8 macsec-bypass off delay 0
    prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
    """
    found = re.search(r"\bprio-pfc((?: \d:(?:on|off))+)", text, re.ASCII)
    return tuple(int(word[0]) for word in found[1].split() if word.endswith(":on")) if found else None


def _traffic_class(host: Host, path: str, text: str | None) -> int | None:
    found = parse_traffic_class(text or "")
    if text is not None and text.startswith(_GLOBAL) and found is None:
        host.missed(path, "unsupported")
    return found


def parse_traffic_class(text: str) -> int | None:
    """The traffic class of all packets; ``None`` when none is set for all. Sample: ``Global tclass=106``"""
    found = re.match(_GLOBAL + r"(\d{1,3})$", text.partition("\n")[0], re.ASCII)
    return int(found[1]) if found else None
