"""Counters of a network interface, and what a bond is made of.

Formats: https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net-statistics and
https://docs.kernel.org/networking/bonding.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File

BONDING = "bonding"
STATISTICS = "statistics"


class LinkStatistics(Facts):
    """Counters of one interface since it came up, by the driver."""

    rx_bytes: Annotated[int | None, File("rx_bytes"), Counter(), "received, bytes"] = None
    tx_bytes: Annotated[int | None, File("tx_bytes"), Counter(), "sent, bytes"] = None
    rx_packets: Annotated[int | None, File("rx_packets"), Counter(), "packets received"] = None
    tx_packets: Annotated[int | None, File("tx_packets"), Counter(), "packets sent"] = None
    rx_errors: Annotated[int | None, File("rx_errors"), Counter(), "bad packets received, of all kinds"] = None
    rx_dropped: Annotated[
        int | None, File("rx_dropped"), Counter(), "packets received and thrown away; protocols nobody wants count too"
    ] = None
    rx_missed_errors: Annotated[
        int | None, File("rx_missed_errors"), Counter(), "packets the card had no room for: its ring was full"
    ] = None
    rx_crc_errors: Annotated[int | None, File("rx_crc_errors"), Counter(), "packets with a wrong checksum"] = None
    rx_fifo_errors: Annotated[int | None, File("rx_fifo_errors"), Counter(), "packets lost to a full FIFO"] = None
    tx_errors: Annotated[int | None, File("tx_errors"), Counter(), "packets that could not be sent, all kinds"] = None
    tx_dropped: Annotated[int | None, File("tx_dropped"), Counter(), "packets thrown away before sending"] = None
    tx_carrier_errors: Annotated[
        int | None, File("tx_carrier_errors"), Counter(), "packets not sent for want of a link"
    ] = None


def read_statistics(host: Host, interface: str) -> LinkStatistics | None:
    """The counters of the interface in folder ``interface``; one gap where there are none."""
    folder = f"{interface}/{STATISTICS}"
    return None if host.names(folder) is None else read_fields(host, LinkStatistics, folder)


def read_bond(host: Host, interface: str) -> dict[str, object]:
    """The fields that tell of a bond, by their names in an interface."""
    files = {
        "bond_mode": "mode",
        "bond_hash_policy": "xmit_hash_policy",
        "bond_active_member": "active_slave",
        "bond_lacp_rate": "lacp_rate",
    }
    found: dict[str, object] = {
        field: _first_word(host.text(f"{interface}/{BONDING}/{file}")) for field, file in files.items()
    }
    members = host.text(f"{interface}/{BONDING}/slaves")
    return {**found, "bond_members": None if members is None else tuple(members.split())}


def _first_word(text: str | None) -> str | None:
    """The name of a mode, without its number. Samples: ``802.3ad 4``, ``layer3+4 1``; nothing for an empty file"""
    return text.split()[0] if text and text.split() else None


def parse_vlans(text: str) -> dict[str, int]:
    """The number of each VLAN interface. Sample, after two lines of heading: ``eth0.100       | 100  | eth0``"""
    rows = ([word.strip() for word in line.split("|")] for line in text.split("\n"))
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isascii() and row[1].isdigit()}
