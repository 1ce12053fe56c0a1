"""RDMA devices: ports, rates and the entries in use of GID tables."""

import json
import shutil
from pathlib import Path

import pytest

from advisor.host.tree import Tree
from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes.rdma import Port, Rdma, parse_namespaces, parse_numbered, parse_rate, read
from tests.trees import write_capture, write_link, write_tree

H100 = Path(__file__).resolve().parents[3] / "shared/hosts/gpud/sysfs/sys-class-infiniband-h100.0"
IB = "/sys/class/infiniband"
PORT = f"{IB}/mlx5_0/ports/1"
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
LOCAL = "fe80:0000:0000:0000:0202:c9ff:fe00:0001"
IPV4 = "0000:0000:0000:0000:0000:ffff:c000:0205"
ROCE = {
    f"{IB}/mlx5_0/fw_ver": "28.41.1000\n",
    f"{IB}/mlx5_0/board_id": "MT_0000000838\n",
    f"{IB}/mlx5_0/hca_type": "\n",
    f"{IB}/mlx5_0/node_type": "1: CA\n",
    f"{IB}/mlx5_0/node_guid": "0202:c9ff:fe00:0001\n",
    f"{PORT}/state": "4: ACTIVE\n",
    f"{PORT}/phys_state": "5: LinkUp\n",
    f"{PORT}/rate": "400 Gb/sec (4X NDR)\n",
    f"{PORT}/link_layer": "Ethernet\n",
    f"{PORT}/gids/0": f"{LOCAL}\n",
    f"{PORT}/gids/1": f"{ZERO}\n",
    f"{PORT}/gids/10": f"{IPV4}\n",
    f"{PORT}/gid_attrs/types/0": "IB/RoCE v1\n",
    f"{PORT}/gid_attrs/types/10": "RoCE v2\n",
    f"{PORT}/gid_attrs/ndevs/0": "ens1\n",
    f"{PORT}/gid_attrs/ndevs/10": "ens1.100\n",
}


def test_a_roce_port_is_read(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**ROCE, "/dev/infiniband/uverbs0": "", "/dev/infiniband/rdma_cm": ""})
    rdma = read(host)
    assert rdma.devices is not None
    (device,) = rdma.devices
    assert (device.fw_version, device.board_id, device.hca_type, device.node_type) == (
        "28.41.1000",
        "MT_0000000838",
        None,
        "CA",
    )
    assert device.ports is not None
    (port,) = device.ports
    assert (port.number, port.state, port.state_name, port.phys_state_name) == (1, 4, "ACTIVE", "LinkUp")
    assert (port.rate_gbps, port.lanes, port.speed, port.link_layer) == (400.0, 4, "NDR", "Ethernet")
    assert port.gids is not None
    assert [(gid.index, gid.type, gid.netdev, gid.ipv4_mapped, gid.link_local) for gid in port.gids] == [
        (0, "IB/RoCE v1", "ens1", False, True),
        (10, "RoCE v2", "ens1.100", True, False),
    ]
    assert (rdma.active_ports, rdma.uverbs) == (1, 1)
    assert evidence_path(port, "rate_gbps") == f"{PORT}/rate"
    assert evidence_path(port.gids[1], "type") == f"{PORT}/gid_attrs/types/10"


def test_empty_entries_leave_no_gap(tmp_path: Path) -> None:
    host = write_tree(tmp_path, ROCE)
    read(host)
    assert not [path for path in host.gaps if "/gid" in path]


def test_guids_and_gids_stay_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, ROCE))
    text = committed_json(Snapshot(Source(kind="tree"), {"rdma": facts}, {}))
    assert json.loads(text)["facts"]["rdma"]["devices"]
    assert IPV4 not in text
    assert "0202:c9ff" not in text


def test_the_card_is_found_through_the_device(tmp_path: Path) -> None:
    card = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
    host = write_tree(
        tmp_path, {**ROCE, f"{card}/numa_node": "-1", "/sys/devices/pci0000:3a/0000:3a:00.0/numa_node": "1"}
    )
    write_link(tmp_path, f"{IB}/mlx5_0/device", "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0")
    devices = read(host).devices
    assert devices is not None
    assert (devices[0].pci_address, devices[0].numa_node) == ("0000:3b:00.0", 1)
    assert evidence_path(devices[0], "numa_node") == "/sys/devices/pci0000:3a/0000:3a:00.0/numa_node"


@pytest.mark.parametrize(
    ("beside", "virtual"), [(("physfn/",), True), (("numa_node",), False), ((), None)], ids=["part", "card", "untold"]
)
def test_a_part_of_a_card_is_told_by_its_link_to_the_card(
    tmp_path: Path, beside: tuple[str, ...], virtual: bool | None
) -> None:
    host = write_tree(tmp_path, {**ROCE, **{f"{IB}/mlx5_0/device/{name}": "" for name in beside}})
    (device,) = read(host).devices or ()
    assert device.virtual_function is virtual
    assert evidence_path(device, "virtual_function") == f"{IB}/mlx5_0/device/physfn"


def test_a_device_made_by_software_is_no_part_of_a_card(tmp_path: Path) -> None:
    (device,) = read(write_capture(tmp_path, ROCE)).devices or ()
    assert device.virtual_function is False


def test_a_port_that_does_not_say_its_state_leaves_the_sum_open(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**ROCE, f"{IB}/mlx5_1/ports/1/state": "strange\n"})
    assert read(host).active_ports is None
    assert host.gaps[f"{IB}/mlx5_1/ports/1/state"] == "unsupported"


def test_no_stack_is_no_device_only_where_absence_is_known(tmp_path: Path) -> None:
    known = read(write_capture(tmp_path / "capture", {}))
    assert (known.devices, known.active_ports, known.uverbs) == ((), 0, 0)
    unknown = read(write_tree(tmp_path / "tree", {}))
    assert (unknown.devices, unknown.active_ports, unknown.uverbs) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("400 Gb/sec (4X NDR)", (400.0, 4, "NDR")),
        ("2.5 Gb/sec (1X SDR)", (2.5, 1, "SDR")),
        ("10 Gb/sec (4X)", (10.0, 4, None)),
        ("100 Gb/sec", (100.0, None, None)),
        ("fast", (None, None, None)),
        ("", (None, None, None)),
    ],
)
def test_rates(text: str, rate: tuple[float | None, int | None, str | None]) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "state"),
    [("4: ACTIVE", (4, "ACTIVE")), ("3: Disabled\n", (3, "Disabled")), ("5:", (5, None)), ("ACTIVE", (None, None))],
)
def test_states(text: str, state: tuple[int | None, str | None]) -> None:
    assert parse_numbered(text) == state


COUNTERS = {
    f"{PORT}/counters/symbol_error": "0\n",
    f"{PORT}/counters/link_downed": "3\n",
    f"{PORT}/counters/port_xmit_data": "250\n",
    f"{PORT}/counters/port_xmit_wait": "N/A (no PMA)\n",
    f"{PORT}/hw_counters/lifespan": "10\n",
    f"{PORT}/hw_counters/out_of_sequence": "18446744073709551615\n",
    f"{PORT}/hw_counters/rnr_nak_retry_err": "-1\n",
}


def port_of(rdma: Rdma) -> Port:
    assert rdma.devices is not None
    (port,) = rdma.devices[0].ports or ()
    return port


def test_counters_are_read_with_data_in_bytes(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {**ROCE, **COUNTERS})
    counters = port_of(read(host)).counters
    assert counters is not None
    assert (counters.symbol_error, counters.link_downed, counters.xmit_data_bytes) == (0, 3, 1000)
    assert (counters.port_xmit_wait, counters.port_rcv_errors) == (None, None)
    assert host.gaps[evidence_path(counters, "port_xmit_wait")] == "unsupported"
    assert host.gaps[evidence_path(counters, "port_rcv_errors")] == "absent"


def test_counters_of_the_driver_keep_their_names(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**ROCE, **COUNTERS})
    counters = port_of(read(host)).hw_counters or ()
    assert [(one.name, one.value) for one in counters] == [
        ("out_of_sequence", 2**64 - 1),
        ("rnr_nak_retry_err", None),
    ]
    assert host.gaps[counters[1].origin] == "unsupported"


def test_a_port_without_counters_has_one_gap_for_each_folder(tmp_path: Path) -> None:
    host = write_capture(tmp_path, ROCE)
    port = port_of(read(host))
    assert (port.counters, port.hw_counters) == (None, None)
    assert [path for path in host.gaps if "counters" in path] == [f"{PORT}/counters", f"{PORT}/hw_counters"]


def test_counters_stay_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {**ROCE, **COUNTERS}))
    text = committed_json(Snapshot(Source(kind="tree"), {"rdma": facts}, {}))
    assert "link_downed" not in text
    assert "out_of_sequence" not in text


@pytest.mark.shared
@pytest.mark.skipif(not H100.is_dir(), reason="needs the captured machines beside the checkout")
def test_counters_of_a_real_machine_are_what_its_files_say(tmp_path: Path) -> None:
    shutil.copytree(H100, tmp_path / "sys/class/infiniband")
    devices = read(Tree.in_folder(tmp_path)).devices or ()
    ports = [port for device in devices for port in device.ports or ()]
    assert len(ports) > 8
    for port in ports:
        folder = tmp_path / port.origin.lstrip("/")
        assert port.counters is not None
        assert port.counters.xmit_data_bytes == 4 * int((folder / "counters/port_xmit_data").read_text())
        names = {path.name for path in (folder / "hw_counters").iterdir()} - {"lifespan"}
        told = {one.name: one.value for one in port.hw_counters or ()}
        assert told == {name: int((folder / "hw_counters" / name).read_text()) for name in names}


def test_a_port_names_its_subnet_and_a_device_the_node_that_programs_open(tmp_path: Path) -> None:
    device = "/sys/class/infiniband/mlx5_0"
    files = {
        f"{device}/ports/1/lid": "0x11\n",
        f"{device}/ports/1/sm_lid": "0x0\n",
        "/sys/class/infiniband_verbs/uverbs3/ibdev": "mlx5_0\n",
        "/sys/class/infiniband_verbs/abi_version": "6\n",
    }
    host = write_capture(tmp_path, files, outputs={("rdma", "system"): "netns shared copy-on-fork on\n"})
    rdma = read(host)
    (found,) = rdma.devices or ()
    (port,) = found.ports or ()
    assert (port.lid, port.sm_lid, host.gaps[evidence_path(port, "sm_lid")]) == (17, None, "unsupported")
    assert (found.verbs_node, found.verbs_node_there, rdma.namespaces) == ("uverbs3", False, "shared")
    with_node = read(write_capture(tmp_path / "node", {**files, "/dev/infiniband/uverbs3": ""}))
    assert (with_node.devices or ())[0].verbs_node_there is True
    hidden = read(write_tree(tmp_path / "tree", files))
    assert (hidden.devices or ())[0].verbs_node_there is None


@pytest.mark.parametrize(
    ("text", "found"), [("netns exclusive copy-on-fork on", "exclusive"), ("", None), ("netns other", None)]
)
def test_who_sees_rdma_devices(text: str, found: str | None) -> None:
    assert parse_namespaces(text) == found
