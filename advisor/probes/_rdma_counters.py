"""Counters of an RDMA port: those every port has by the InfiniBand specification, and the driver's own.

Formats: https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-class-infiniband
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File

COUNTERS = "counters"
HW_COUNTERS = "hw_counters"
WORD_BYTES = 4
"""Data is counted in words of 32 bits."""
_NOT_COUNTERS = ("lifespan",)
"""How long, in milliseconds, the driver repeats its counters before it asks the card again."""
_COUNTER = re.compile(r"\d{1,20}", re.ASCII)


class PortCounters(Facts):
    """Counters since the driver was loaded or they were cleared.

    Those of errors are as narrow as the specification has them and stop at their largest value
    (drivers/infiniband/core/sysfs.c, PORT_PMA_ATTR).
    """

    symbol_error: Annotated[int | None, File("symbol_error"), Counter(stops_at=2**16 - 1), "errors on a lane"] = None
    link_error_recovery: Annotated[
        int | None, File("link_error_recovery"), Counter(stops_at=2**8 - 1), "times the link recovered by itself"
    ] = None
    link_downed: Annotated[int | None, File("link_downed"), Counter(stops_at=2**8 - 1), "times the link went down"] = (
        None
    )
    port_rcv_errors: Annotated[
        int | None, File("port_rcv_errors"), Counter(stops_at=2**16 - 1), "packets received with errors"
    ] = None
    port_rcv_remote_physical_errors: Annotated[
        int | None,
        File("port_rcv_remote_physical_errors"),
        Counter(stops_at=2**16 - 1),
        "packets marked bad by another hop",
    ] = None
    local_link_integrity_errors: Annotated[
        int | None,
        File("local_link_integrity_errors"),
        Counter(stops_at=2**4 - 1),
        "times errors on the link passed a threshold",
    ] = None
    excessive_buffer_overrun_errors: Annotated[
        int | None,
        File("excessive_buffer_overrun_errors"),
        Counter(stops_at=2**4 - 1),
        "times buffers ran over again and again",
    ] = None
    port_xmit_discards: Annotated[
        int | None,
        File("port_xmit_discards"),
        Counter(stops_at=2**16 - 1),
        "packets not sent: the port was down or too slow",
    ] = None
    port_xmit_wait: Annotated[
        int | None,
        File("port_xmit_wait"),
        Counter(stops_at=2**32 - 1),
        "ticks in which data waited for room at the other end",
    ] = None
    xmit_data_bytes: Annotated[
        int | None, File("port_xmit_data", scale=WORD_BYTES), Counter(), "sent, bytes (the file counts words)"
    ] = None
    rcv_data_bytes: Annotated[
        int | None, File("port_rcv_data", scale=WORD_BYTES), Counter(), "received, bytes (the file counts words)"
    ] = None
    port_xmit_packets: Annotated[int | None, File("port_xmit_packets"), Counter(), "packets sent"] = None
    port_rcv_packets: Annotated[int | None, File("port_rcv_packets"), Counter(), "packets received"] = None


class HwCounter(Facts):
    """One counter of the driver, whose names differ: out_of_sequence (mlx5), retrans_pkts (EFA) ..."""

    read_from: ClassVar[str] = "/sys/class/infiniband/*/ports/*/hw_counters/*"
    name: Annotated[str, "as the driver names it"]
    value: Annotated[int | None, Counter(), "since the driver was loaded"] = None


def read_port_counters(host: Host, port: str) -> PortCounters | None:
    """The standard counters of the port in folder ``port``; ``None`` when it has none (virtual functions, EFA)."""
    folder = f"{port}/{COUNTERS}"
    names = host.names(folder)
    return None if names is None else read_fields(host, PortCounters, folder)


def read_hw_counters(host: Host, port: str) -> tuple[HwCounter, ...] | None:
    """The driver's counters of the port in folder ``port``, by name."""
    folder = f"{port}/{HW_COUNTERS}"
    names = host.names(folder)
    if names is None:
        return None
    return tuple(_hw_counter(host, f"{folder}/{name}", name) for name in names if name not in _NOT_COUNTERS)


def _hw_counter(host: Host, path: str, name: str) -> HwCounter:
    text = host.text(path)
    known = text is not None and _COUNTER.fullmatch(text.strip()) is not None
    if not known:
        host.gaps.setdefault(path, "unsupported")
    return HwCounter(origin=path, name=name, value=int(text) if known and text else None)
