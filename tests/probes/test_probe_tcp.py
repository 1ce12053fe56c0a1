"""TCP's counters: columns by name, whatever the kernel has beside them."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes.tcp import Tcp, parse_columns, read
from tests.trees import write_tree

SNMP = """\
Ip: Forwarding DefaultTTL InReceives ReasmFails
Ip: 1 64 500 3
Tcp: RtoAlgorithm RtoMin MaxConn CurrEstab InSegs OutSegs RetransSegs InErrs
Tcp: 1 200 -1 40 1000 2000 20 1
"""
NETSTAT = """\
TcpExt: SyncookiesSent PruneCalled ListenOverflows ListenDrops TCPTimeouts TCPBacklogDrop TCPMemoryPressures TCPRcvQDrop
TcpExt: 0 4 5 6 7 8 9 10
IpExt: InNoRoutes
IpExt: 0
"""


def test_both_files_are_read_by_the_names_in_them(tmp_path: Path) -> None:
    tcp = read(write_tree(tmp_path, {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT}))
    assert (tcp.segments_sent, tcp.segments_received, tcp.segments_retransmitted, tcp.segments_bad) == (
        2000,
        1000,
        20,
        1,
    )
    assert (tcp.connections, tcp.reassembly_failures, tcp.timeouts) == (40, 3, 7)
    assert (tcp.receive_queue_drops, tcp.backlog_drops, tcp.prunes) == (10, 8, 4)
    assert (tcp.memory_pressures, tcp.listen_overflows, tcp.listen_drops) == (9, 5, 6)
    assert evidence_path(tcp, "timeouts") == "/proc/net/netstat"


def test_a_column_that_this_kernel_lacks_is_a_gap_of_its_own(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/net/snmp": SNMP, "/proc/net/netstat": NETSTAT.replace("TCPRcvQDrop", "Other")})
    tcp = read(host)
    assert (tcp.receive_queue_drops, tcp.timeouts) == (None, 7)
    assert host.gaps == {evidence_path(tcp, "receive_queue_drops"): "unsupported"}


def test_without_the_files_nothing_is_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    assert read(host) == Tcp(origin="/proc/net")
    assert host.gaps == dict.fromkeys(("/proc/net/snmp", "/proc/net/netstat"), "not captured")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Tcp:\n",
        "Tcp: OutSegs\nTcp: many\n",
        "Tcp: OutSegs RetransSegs\nTcp: 5\n",
        "Tcp: OutSegs\nUdp: 5\n",
        "\0\n:\n:",
    ],
    ids=["empty", "cut", "no number", "cut in a line", "another protocol", "noise"],
)
def test_lines_that_do_not_fit_say_nothing(text: str) -> None:
    assert "OutSegs" not in parse_columns(text).get("Tcp", {})
