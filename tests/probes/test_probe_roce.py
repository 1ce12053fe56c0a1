"""RDMA over Ethernet: path MTU, trust, PFC, ECN, traffic class."""

from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.roce import Roce, RoceInterface, parse_pfc, parse_traffic_class, path_mtu, read
from tests.trees import write_capture, write_tree

NIC = "/sys/class/net/ens1"
CLASS = "/sys/class/infiniband/mlx5_0/tc/1/traffic_class"
PFC = ("dcb", "pfc", "show", "dev", "ens1")
SHOWN = "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:on 6:off 7:off\n"
CARD = {f"{NIC}/type": "1\n", f"{NIC}/mtu": "9000\n", f"{NIC}/device/infiniband/mlx5_0/": ""}
OFED = {
    **CARD,
    f"{NIC}/qos/trust": "dscp\n",
    **{f"{NIC}/ecn/roce_np/enable/{n}": f"{int(n in (3, 5))}\n" for n in range(8)},
    **{f"{NIC}/ecn/roce_rp/enable/{n}": "0\n" for n in range(8)},
    f"{NIC}/ecn/roce_np/cnp_dscp": "48\n",
    f"{NIC}/ecn/roce_np/cnp_802p_prio": "6\n",
    f"{NIC}/ecn/roce_np/min_time_between_cnps": "4\n",
    CLASS: "Global tclass=106\n",
}


def only(roce: Roce) -> RoceInterface:
    assert roce.interfaces is not None
    (interface,) = roce.interfaces
    return interface


def gap(host: Host, interface: RoceInterface, field: str) -> str | None:
    return Snapshot(Source(), {}, host.gaps).gap(evidence_path(interface, field))


def test_all_of_a_card_with_its_makers_driver_is_read(tmp_path: Path) -> None:
    nic = only(read(write_capture(tmp_path, OFED, outputs={PFC: SHOWN})))
    assert (nic.name, nic.rdma_devices, nic.path_mtu_bytes, nic.trust) == ("ens1", ("mlx5_0",), 4096, "dscp")
    assert (nic.pfc_priorities, nic.ecn_np_priorities, nic.ecn_rp_priorities) == ((3, 5), (3, 5), ())
    assert (nic.cnp_dscp, nic.cnp_priority, nic.min_time_between_cnps_usecs) == (48, 6, 4)
    assert (nic.traffic_class_forced, nic.traffic_class) == (True, 106)
    assert evidence_path(nic, "pfc_priorities") == "command: dcb pfc show dev ens1"
    assert evidence_path(nic, "traffic_class") == CLASS


def test_without_its_makers_driver_nothing_is_known_of_loss(tmp_path: Path) -> None:
    host = write_capture(tmp_path, CARD)
    nic = only(read(host))
    for field in (
        "trust",
        "ecn_np_priorities",
        "ecn_rp_priorities",
        "cnp_dscp",
        "traffic_class",
        "traffic_class_forced",
    ):
        assert getattr(nic, field) is None
        assert gap(host, nic, field) == "absent", field
    assert nic.pfc_priorities is None
    assert gap(host, nic, "pfc_priorities") == "not captured"
    assert nic.path_mtu_bytes == 4096
    assert [path for path in host.gaps if "ecn" in path] == [f"{NIC}/ecn"]


def test_a_missing_dcb_is_one_gap(tmp_path: Path) -> None:
    other = {path.replace("ens1", "ens2"): text for path, text in CARD.items()}
    missing = [f"command: dcb pfc show dev {name}" for name in ("ens1", "ens2")]
    host = write_capture(tmp_path, {**CARD, **other}, absent=("/sys/class/net/x", *missing))
    interfaces = read(host).interfaces or ()
    assert len(interfaces) == 2
    assert [evidence_path(one, "pfc_priorities") for one in interfaces] == ["command: dcb"] * 2
    assert {path: state for path, state in host.gaps.items() if "dcb" in path} == {"command: dcb": "absent"}


@pytest.mark.parametrize(
    ("message", "state"),
    [("Attribute read: Operation not supported\n", "unsupported"), ("Operation not permitted\n", "denied")],
)
def test_a_refusal_of_dcb_is_a_gap(tmp_path: Path, message: str, state: str) -> None:
    write_capture(tmp_path, CARD, outputs={PFC: ""})
    (tmp_path / "cmd/0.stderr").write_text(message)
    (tmp_path / "cmd/0.rc").write_text("1")
    host = open_root(str(tmp_path))
    nic = only(read(host))
    assert nic.pfc_priorities is None
    assert gap(host, nic, "pfc_priorities") == state


@pytest.mark.parametrize(
    ("text", "forced", "value"),
    [("", False, None), ("Global tclass=106\n", True, 106), ("src_ip=192.0.2.1 tclass=8\n", False, None),
     ("Global tclass=much\n", True, None)],
    ids=["none", "for all", "for some", "no number"],
)  # fmt: skip
def test_traffic_classes(tmp_path: Path, text: str, forced: bool, value: int | None) -> None:
    nic = only(read(write_tree(tmp_path, {**CARD, CLASS: text})))
    assert (nic.traffic_class_forced, nic.traffic_class) == (forced, value)
    assert parse_traffic_class(text.strip()) == value


def test_one_priority_that_says_nothing_leaves_all_open(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**OFED, f"{NIC}/ecn/roce_np/enable/4": "perhaps\n"})
    nic = only(read(host))
    assert (nic.ecn_np_priorities, nic.ecn_rp_priorities) == (None, ())
    assert gap(host, nic, "ecn_np_priorities") == "unsupported"


@pytest.mark.parametrize(
    "changed",
    [{f"{NIC}/type": "32\n"}, {f"{NIC}/device/infiniband/mlx5_0/": None}, {f"{NIC}/type": None}],
    ids=["InfiniBand", "no RDMA", "no type"],
)
def test_other_interfaces_are_left_out(tmp_path: Path, changed: dict[str, str | None]) -> None:
    files = {path: text for path, text in {**CARD, f"{NIC}/device/x": "", **changed}.items() if text is not None}
    host = write_tree(tmp_path, files)
    assert read(host).interfaces == ()
    assert not [path for path in host.gaps if path.startswith("command")]


def test_interfaces_that_cannot_be_listed_are_unknown(tmp_path: Path) -> None:
    assert read(write_tree(tmp_path, {})).interfaces is None


@pytest.mark.parametrize(
    ("mtu", "size"),
    [(9000, 4096), (4192, 4096), (4191, 2048), (2144, 2048), (2048, 1024), (1500, 1024), (352, 256), (351, None)],
)
def test_path_mtus(mtu: int, size: int | None) -> None:
    assert path_mtu(mtu) == size


@pytest.mark.parametrize(
    ("text", "priorities"),
    [(SHOWN, (3, 5)), ("pfc-cap 8 prio-pfc 0:off 1:on delay 0", (1,)), ("prio-pfc 0:off", ()), ("pfc-cap 8", None)],
    ids=["two lines", "one line", "none", "nothing"],
)
def test_pfc(text: str, priorities: tuple[int, ...] | None) -> None:
    assert parse_pfc(text) == priorities
