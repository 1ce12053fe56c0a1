"""ethtool: what it prints, what it refuses, and that a missing one is one gap."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._ethtool_text import (
    Switch,
    parse_adaptive,
    parse_features,
    parse_features_json,
    parse_hash_function,
    parse_indirection,
    parse_limits_and_values,
    parse_number,
    parse_pairs,
    parse_statistics,
)
from advisor.probes.ethtool import MOST_INTERFACES, Ethtool, EthtoolInterface, read
from tests.trees import write_capture, write_tree

OUTPUTS = Path(__file__).resolve().parents[3] / "shared/hosts/insights-core/ethtool"
NIC = {"/sys/class/net/ens1/device/": "", "/sys/class/net/ens1/mtu": "9000"}
DRIVER = "driver: mlx5_core\nversion: 6.8.0\nfirmware-version: 28.41.1000 (MT_0000000838)\nbus-info: 0000:3b:00.0\n"
RINGS = """Ring parameters for ens1:
Pre-set maximums:
RX:\t\t8192
RX Mini:\tn/a
TX:\t\t8192
Current hardware settings:
RX:\t\t1024
RX Mini:\tn/a
TX:\t\t1024
"""
CHANNELS = """Channel parameters for ens1:
Pre-set maximums:
RX:\t\tn/a
TX:\t\tn/a
Combined:\t63
Current hardware settings:
RX:\t\tn/a
TX:\t\tn/a
Combined:\t32
"""
FEATURES = """Features for ens1:
rx-checksumming: on
generic-receive-offload: on
large-receive-offload: off [fixed]
rx-gro-hw: off [requested on]
"""
COALESCING = """Coalesce parameters for ens1:
Adaptive RX: on  TX: n/a
stats-block-usecs: n/a

rx-usecs: 8
rx-frames: 128

tx-usecs: 16
tx-frames: n/a
"""
RSS = """RX flow hash indirection table for ens1 with 4 RX ring(s):
    0:      0     1     2     0     1     2     0     1
    8:      2     0
RSS hash key:
00:11:22:33:44:55:66:77
RSS hash function:
    toeplitz: on
    xor: off
"""
STATISTICS = """NIC statistics:
     rx_packets: 5
     rx_out_of_buffer: 12
     rx_prio3_pause: 7
     rx0_drops: 9
     link_down_events_phy: 18446744073709551615
"""
PAUSE = "Pause parameters for ens1:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n\n"
ALL = {"-i": DRIVER, "-g": RINGS, "-l": CHANNELS, "-k": FEATURES, "-a": PAUSE, "-c": COALESCING, "-x": RSS}


def captured(folder: Path, outputs: dict[str, str], **failed: str) -> Host:
    """A capture of one card on which ethtool printed ``outputs`` by option; ``failed`` is what it refused with."""
    write_capture(folder, NIC, outputs={("ethtool", o, "ens1"): text for o, text in outputs.items()})
    for number, (option, message) in enumerate(failed.items(), start=100):
        (folder / f"cmd/{number}.argv").write_text(f"ethtool\n-{option}\nens1")
        (folder / f"cmd/{number}.stderr").write_text(message)
        (folder / f"cmd/{number}.rc").write_text("1")
    return open_root(str(folder))


def only(ethtool: Ethtool) -> EthtoolInterface:
    assert ethtool.interfaces is not None
    (interface,) = ethtool.interfaces
    return interface


def test_all_of_a_card_is_read(tmp_path: Path) -> None:
    nic = only(read(captured(tmp_path, {**ALL, "-S": STATISTICS})))
    assert (nic.driver, nic.firmware_version) == ("mlx5_core", "28.41.1000 (MT_0000000838)")
    assert (nic.rx_ring, nic.rx_ring_max, nic.tx_ring, nic.tx_ring_max) == (1024, 8192, 1024, 8192)
    assert (nic.combined_channels, nic.combined_channels_max, nic.rx_channels) == (32, 63, None)
    assert (nic.pause_autonegotiate, nic.pause_rx, nic.pause_tx) == (False, True, False)
    assert (nic.adaptive_rx, nic.adaptive_tx) == (True, None)
    assert (nic.rx_usecs, nic.tx_usecs, nic.tx_frames) == (8, 16, None)
    assert (nic.rss_rings, nic.rss_entries, nic.rss_rings_used) == (4, 10, 3)
    assert (nic.rss_least_entries, nic.rss_most_entries, nic.rss_hash_function) == (3, 4, "toeplitz")
    assert [(one.name, one.value) for one in nic.statistics or ()] == [
        ("rx_out_of_buffer", 12),
        ("rx_prio3_pause", 7),
        ("link_down_events_phy", 2**64 - 1),
    ]


def test_every_value_names_its_command(tmp_path: Path) -> None:
    host = captured(tmp_path, ALL)
    nic = only(read(host))
    assert evidence_path(nic, "rx_ring") == "command: ethtool -g ens1"
    assert evidence_path(nic, "statistics") == "command: ethtool -S ens1"
    assert host.gaps["command: ethtool -S ens1"] == "not captured"
    assert host.gaps[evidence_path(nic, "rx_channels")] == "unsupported"


def test_features_are_taken_from_text_where_json_is_refused(tmp_path: Path) -> None:
    host = captured(tmp_path, ALL)
    features = {one.name: (one.active, one.fixed, one.refused) for one in only(read(host)).features or ()}
    assert features["large-receive-offload"] == (False, True, False)
    assert features["rx-gro-hw"] == (False, False, True)
    assert not [path for path in host.gaps if "--json" in path]


def test_features_are_taken_from_json_where_it_is_there(tmp_path: Path) -> None:
    told = [{"ifname": "ens1", "rx-gro-hw": {"active": True, "fixed": None, "requested": None}}]
    outputs = {("ethtool", "--json", "-k", "ens1"): json.dumps(told), ("ethtool", "-k", "ens1"): FEATURES}
    (feature,) = only(read(write_capture(tmp_path, NIC, outputs=outputs))).features or ()
    assert (feature.name, feature.active, feature.fixed) == ("rx-gro-hw", True, False)
    assert feature.origin == "command: ethtool --json -k ens1"


@pytest.mark.parametrize(
    ("message", "state"),
    [
        ("netlink error: Operation not supported", "unsupported"),
        ("no stats available", "unsupported"),
        ("ethtool: bad command line argument(s)", "unsupported"),
        ("Cannot get device settings: Operation not permitted", "denied"),
        ("Cannot get device settings: No such device", "error"),
    ],
)
def test_a_refusal_is_a_gap_with_its_reason(tmp_path: Path, message: str, state: str) -> None:
    host = captured(tmp_path, {"-i": DRIVER}, a=message)
    assert only(read(host)).pause_rx is None
    assert host.gaps["command: ethtool -a ens1"] == state


def test_a_refusal_inside_an_answer_is_one_too(tmp_path: Path) -> None:
    text = "Cannot get device coalesce settings: Operation not supported\nCoalesce parameters for ens1:\n"
    host = captured(tmp_path, {"-i": DRIVER, "-c": text})
    assert only(read(host)).rx_usecs is None
    assert host.gaps["command: ethtool -c ens1"] == "unsupported"


def test_a_missing_program_is_one_gap(tmp_path: Path) -> None:
    files = {f"/sys/class/net/ens{n}/device/": "" for n in range(4)}
    commands = [f"command: ethtool {option} ens{n}" for n in range(4) for option in ("--json -k", *ALL, "-S")]
    host = write_capture(tmp_path, files, absent=("/sys/class/net/x", *commands))
    assert read(host).interfaces is None
    assert {path: state for path, state in host.gaps.items() if "ethtool" in path} == {"command: ethtool": "absent"}


def test_a_tree_is_one_gap(tmp_path: Path) -> None:
    host = write_tree(tmp_path, NIC)
    facts = read(host)
    assert facts.interfaces is None
    assert {path: state for path, state in host.gaps.items() if path.startswith("command")} == {
        evidence_path(facts, "interfaces"): "not captured"
    }


def test_no_card_is_no_interface_and_nothing_is_asked(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/sys/class/net/lo/mtu": "65536"})
    assert read(host).interfaces == ()
    assert not [path for path in host.gaps if path.startswith("command")]


def test_interfaces_that_cannot_be_listed_are_unknown(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {}))
    assert facts.interfaces is None
    assert evidence_path(facts, "interfaces") == "/sys/class/net"


def test_of_too_many_interfaces_functions_of_shared_cards_are_left_out_first(tmp_path: Path) -> None:
    shared_ones = {f"/sys/class/net/a{n}/device/physfn/": "" for n in range(MOST_INTERFACES)}
    host = write_tree(tmp_path, {**shared_ones, **NIC})
    assert read(host).left_out == (f"a{MOST_INTERFACES - 1}",)


def test_counters_stay_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(captured(tmp_path, {**ALL, "-S": STATISTICS}))
    text = committed_json(Snapshot(Source(kind="capture"), {"ethtool": facts}, {}))
    assert "rx_out_of_buffer" not in text
    assert "00:11:22" not in text
    assert '"rx_ring_max": 8192' in text


@pytest.mark.parametrize(
    "name",
    ["rx0_drops", "rx_queue_3_drops", "queue_0_tx_errors", "ch0_drops", "tx-0.errors", "[0]: rx_drops",
     "rxq1: rx_errors", "rx_drop_cnt[2]", "cpu0_rx_drops"],
)  # fmt: skip
def test_counters_of_single_queues_are_left_out(name: str) -> None:
    assert parse_statistics(f"NIC statistics:\n     {name}: 5\n     rx_errors: 1\n") == (("rx_errors", 1),)


@pytest.mark.parametrize(
    ("text", "counters"),
    [
        ("", ()),
        ("ERROR: 1", ()),
        ("NIC statistics:\n  port.rx_dropped: 12\n", (("port.rx_dropped", 12),)),
        ("NIC statistics:\n  duplicate metric: 1\n", (("duplicate metric", 1),)),
        ("NIC statistics:\n  rx_errors: many\n  : 5\n", ()),
    ],
    ids=["nothing", "no statistics", "with a dot", "with a space", "no number"],
)
def test_statistics(text: str, counters: tuple[tuple[str, int], ...]) -> None:
    assert parse_statistics(text) == counters


@pytest.mark.parametrize(
    "text",
    ["", "[", "[]", "{}", "[1]", '[{"a": 1}]', '[{"a": {"active": "yes"}}]', "[" * 100_000],
    ids=["nothing", "cut", "empty", "object", "number", "no feature", "no truth", "deep"],
)
def test_json_that_is_something_else_gives_no_features(text: str) -> None:
    assert parse_features_json(text) == {}


def test_a_fixed_feature_is_not_refused() -> None:
    told = [{"rx-checksumming": {"active": True, "fixed": True, "requested": False}}]
    assert parse_features_json(json.dumps(told)) == {"rx-checksumming": Switch(True, True, False)}


def test_texts_without_their_headings_give_nothing() -> None:
    assert parse_limits_and_values("RX: 256\n") == ({}, {})
    assert parse_indirection("no table\n") == (None, ())
    assert parse_hash_function("toeplitz: on\n") is None
    assert parse_adaptive("rx-usecs: 3\n") == (None, None)
    assert parse_number("9" * 21) is None


def test_the_live_host_agrees_with_the_program() -> None:
    if shutil.which("ethtool") is None:
        pytest.skip("ethtool is not installed")
    host = LiveHost.here()
    for nic in read(host).interfaces or ():
        told = subprocess.run(["ethtool", "-i", nic.name], capture_output=True, text=True, check=True).stdout
        assert f"driver: {nic.driver}\n" in told


@pytest.mark.shared
@pytest.mark.skipif(not OUTPUTS.is_dir(), reason="needs the captured outputs beside the checkout")
def test_real_outputs_are_understood() -> None:
    def text(name: str) -> str:
        return (OUTPUTS / f"{name}.txt").read_text()

    maximums, current = parse_limits_and_values(text("TEST_ETHTOOL_G_DOCS"))
    assert (maximums["RX"], current["RX"], current["TX"]) == (2047, 200, 511)
    assert parse_limits_and_values(text("TEST_ETHTOOL_G_3"))[1] == {"RX": 256, "TX": 256}
    assert parse_limits_and_values(text("TEST_ETHTOOL_G_1")) == ({}, {})
    assert parse_pairs(text("TEST_ETHTOOL_I_GOOD")).get("firmware-version") is None
    assert parse_pairs(text("SUCCESS_ETHTOOL_A_BLANK_LINE"))["Autonegotiate"] == "on"
    assert parse_adaptive(text("TEST_ETHTOOL_C")) == (False, False)
    features = parse_features(text("ETHTOOL_K_STANDARD"))
    assert features["generic-segmentation-offload"] == Switch(active=False, fixed=False, refused=True)
    assert features["highdma"] == Switch(active=True, fixed=True, refused=False)
    statistics = dict(parse_statistics(text("SUCCEED_ETHTOOL_S")))
    assert statistics["rx_long_byte_count"] == 96506134
    assert "tx_queue_0_bytes" not in statistics
    assert parse_statistics(text("ETHTOOL_S_eth0_1")) == ()
