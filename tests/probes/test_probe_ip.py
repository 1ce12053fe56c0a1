"""IPv4 of interfaces: what is in force, who shares a subnet, and how full the neighbour table is."""

from pathlib import Path

import pytest

from advisor.host.recording import Recorder
from advisor.host.redaction import redacted
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.ip import IpInterface, parse_neighbours, parse_routes, read
from tests.trees import write_capture, write_tree

CONF = "/proc/sys/net/ipv4/conf"
HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
ROUTES = HEAD + "".join(
    f"{name}\t{to}\t{by}\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"
    for name, to, by, mask in [
        ("eth0", "00000000", "0102A8C0", "00000000"),
        ("eth0", "0002A8C0", "00000000", "00FFFFFF"),
        ("rail0.100", "0000000A", "00000000", "0000FFFF"),
        ("rail1", "0000000A", "00000000", "0000FFFF"),
        ("rail1", "0000010A", "0100000A", "0000FFFF"),
        ("rail2", "0000010A", "00000000", "0000FFFF"),
        ("cali1", "0500140A", "00000000", "FFFFFFFF"),
    ]
)
NEIGHBOURS = (
    "entries  allocs   forced_gc_runs unresolved_discards table_fulls\n"
    "00000014 00000001 00000003 00000000 00000024\n00000014 00000001 00000001 00000000 00000001\n"
)


def conf(name: str, arp_ignore: object = 0, arp_announce: object = 0, rp_filter: object = 0) -> dict[str, str]:
    values = {"arp_ignore": arp_ignore, "arp_announce": arp_announce, "rp_filter": rp_filter}
    return {f"{CONF}/{name}/{key}": f"{value}\n" for key, value in values.items()}


def by_name(found: tuple[IpInterface, ...] | None) -> dict[str, IpInterface]:
    return {one.name: one for one in found or ()}


def test_the_larger_of_both_values_is_in_force(tmp_path: Path) -> None:
    files = {**conf("all", 0, 2, 1), **conf("eth0", 1, 1, 1), **conf("rail0.100", 0, 0, 2)}
    found = by_name(read(write_capture(tmp_path, {**files, "/proc/net/route": ROUTES})).interfaces)
    eth, rail = found["eth0"], found["rail0.100"]
    assert (eth.arp_ignore, eth.arp_announce, eth.rp_filter) == (1, 2, 1)
    assert evidence_path(eth, "arp_ignore") == f"{CONF}/eth0/arp_ignore"
    assert evidence_path(eth, "arp_announce") == f"{CONF}/all/arp_announce"
    assert (rail.rp_filter, evidence_path(rail, "rp_filter")) == (2, f"{CONF}/rail0.100/rp_filter")


def test_half_of_a_pair_is_not_enough(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {**conf("all"), **conf("eth0", arp_ignore="some"), "/proc/net/route": ROUTES})
    found = by_name(read(host).interfaces)
    assert (found["eth0"].arp_ignore, found["rail1"].rp_filter) == (None, None)
    assert host.gaps[evidence_path(found["eth0"], "arp_ignore")] == "unsupported"
    assert host.gaps[evidence_path(found["rail1"], "rp_filter")] == "absent"


def test_rails_in_one_subnet_are_told_without_their_addresses(tmp_path: Path) -> None:
    ip = read(write_capture(tmp_path, {"/proc/net/route": ROUTES}))
    found = by_name(ip.interfaces)
    assert {name: one.same_subnet for name, one in found.items()} == {
        "eth0": (),
        "rail0.100": ("rail1",),
        "rail1": ("rail0.100",),
        "rail2": (),  # what rail1 reaches through a gateway is not where it lies
    }
    assert [name for name, one in found.items() if one.default_route] == ["eth0"]
    text = committed_json(Snapshot(Source(), {"ip": ip}, {}))
    assert not any(address in text for address in ("A8C0", "192.168", "10.0"))


def test_a_capture_keeps_who_shares_a_subnet_but_no_address(tmp_path: Path) -> None:
    recorder = Recorder.of(write_capture(tmp_path, {"/proc/net/route": ROUTES}))
    before = read(recorder)
    safe = redacted(recorder, (), b"k" * 32)
    (text,) = [
        one.value.decode()
        for (asked, _), one in safe.answers.items()
        if asked == "data" and one.place == "/proc/net/route" and one.value
    ]
    assert "0002A8C0" not in text
    assert "0102A8C0" not in text
    after = read(write_capture(tmp_path / "safe", {"/proc/net/route": text}))
    assert by_name(after.interfaces) == by_name(before.interfaces)


@pytest.mark.parametrize("text", ["", "no table\n", HEAD[6:]], ids=["empty", "noise", "half a heading"])
def test_what_is_no_table_tells_nothing(tmp_path: Path, text: str) -> None:
    host = write_tree(tmp_path, {"/proc/net/route": text, "/sys/class/net/eth0/device/x": ""})
    (eth,) = read(host).interfaces or ()
    assert (eth.same_subnet, eth.default_route) == (None, None)
    assert host.gaps["/proc/net/route"] == "unsupported"


def test_lines_that_are_cut_are_left_out() -> None:
    assert [route.interface for route in parse_routes(HEAD + "eth0\t0002A8C0\t00000000\neth1 x y z\n") or ()] == []


def test_the_neighbour_table_is_counted_once_and_its_overflows_over_all_cpus(tmp_path: Path) -> None:
    ip = read(write_capture(tmp_path, {"/proc/net/stat/arp_cache": NEIGHBOURS}))
    assert (ip.neighbours, ip.neighbour_overflows, ip.neighbour_collections) == (20, 37, 4)
    assert evidence_path(ip, "neighbours") == "/proc/net/stat/arp_cache"


@pytest.mark.parametrize("text", ["", "entries\n", NEIGHBOURS[:-20], NEIGHBOURS.replace("00000024", "xyz")])
def test_a_table_that_is_cut_says_nothing(text: str) -> None:
    assert parse_neighbours(text) == {}
