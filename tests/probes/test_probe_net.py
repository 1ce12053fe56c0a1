"""Network interfaces: hardware, what it can, and which of the virtual ones are listed."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._links import parse_vlans
from advisor.probes.net import Interface, Net, parse_kind, read
from tests.trees import write_capture, write_link, write_tree

NET = "/sys/class/net"
CARD = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"


def files(name: str, place: str, **values: str) -> dict[str, str]:
    """The files of an interface in the device tree."""
    return {f"{place}/net/{name}/{file.replace('__', '/')}": text + "\n" for file, text in values.items()}


def link(tmp_path: Path, name: str, place: str) -> None:
    write_link(tmp_path, f"{NET}/{name}", f"../../{place.removeprefix('/sys/')}/net/{name}")


def by_name(net: Net) -> dict[str, Interface]:
    assert net.interfaces is not None
    return {interface.name: interface for interface in net.interfaces}


def test_a_card_tells_its_driver_queues_and_rdma_device(tmp_path: Path) -> None:
    folder = f"{CARD}/net/ens1"
    host = write_tree(
        tmp_path,
        {
            **files("ens1", CARD, type="1", speed="100000", mtu="9000", operstate="up", carrier="1", duplex="full"),
            f"{folder}/queues/rx-0/": "",
            f"{folder}/queues/rx-1/": "",
            f"{folder}/queues/tx-0/": "",
            f"{CARD}/numa_node": "1\n",
            f"{CARD}/infiniband/mlx5_0/": "",
            "/sys/bus/pci/drivers/mlx5_core/": "",
        },
    )
    link(tmp_path, "ens1", CARD)
    write_link(tmp_path, f"{folder}/device", "../..")
    write_link(tmp_path, f"{CARD}/driver", "../../../../bus/pci/drivers/mlx5_core")
    (nic,) = by_name(read(host)).values()
    assert (nic.physical, nic.type, nic.speed_mbps, nic.mtu, nic.operstate) == (True, 1, 100000, 9000, "up")
    assert (nic.carrier, nic.duplex, nic.driver, nic.rx_queues, nic.tx_queues) == (True, "full", "mlx5_core", 2, 1)
    assert (nic.pci_address, nic.numa_node, nic.rdma_devices) == ("0000:3b:00.0", 1, ("mlx5_0",))
    assert evidence_path(nic, "speed_mbps") == f"{NET}/ens1/speed"
    assert evidence_path(nic, "numa_node") == f"{NET}/ens1/device/numa_node"


@pytest.mark.parametrize("speed", ["-1", "0", "65535", "4294967295", "fast"])
def test_a_speed_that_says_nothing_is_unknown(tmp_path: Path, speed: str) -> None:
    host = write_tree(tmp_path, {f"{NET}/eth0/speed": speed, f"{NET}/eth0/device/numa_node": "-1"})
    (nic,) = by_name(read(host)).values()
    assert nic.speed_mbps is None
    assert host.gaps[evidence_path(nic, "speed_mbps")] == "unsupported"


def test_behind_virtio_the_pci_device_above_counts(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {**files("eth0", f"{CARD}/virtio2", mtu="1500"), f"{CARD}/numa_node": "0"})
    link(tmp_path, "eth0", f"{CARD}/virtio2")
    write_link(tmp_path, f"{CARD}/virtio2/net/eth0/device", "../..")
    (nic,) = by_name(read(host)).values()
    assert (nic.pci_address, nic.numa_node) == ("0000:3b:00.0", 0)
    assert evidence_path(nic, "numa_node") == f"{CARD}/numa_node"


def test_container_ends_are_left_out_beside_hardware_only(tmp_path: Path) -> None:
    virtual = "/sys/devices/virtual"
    tree = {
        **files("veth9", virtual, uevent="INTERFACE=veth9", mtu="1500"),
        **files("bond0", virtual, uevent="DEVTYPE=bond\nINTERFACE=bond0", bonding__mode="802.3ad 4"),
        **files("lo", virtual, uevent="INTERFACE=lo", type="772"),
        f"{NET}/bonding_masters": "bond0",
    }
    host = write_tree(tmp_path, tree)
    for name in ("veth9", "bond0", "lo"):
        link(tmp_path, name, virtual)
    assert sorted(by_name(read(host))) == ["bond0", "lo", "veth9"]
    write_tree(tmp_path, files("eth0", CARD, mtu="1500"))
    link(tmp_path, "eth0", CARD)
    found = by_name(read(host))
    assert sorted(found) == ["bond0", "eth0", "lo"]
    assert (found["bond0"].kind, found["bond0"].bond_mode, found["bond0"].physical) == ("bond", "802.3ad", False)
    assert (found["eth0"].physical, found["eth0"].pci_address) == (True, "0000:3b:00.0")


def test_no_folder_is_no_interface_only_where_absence_is_known(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "capture", {})).interfaces == ()
    assert read(write_tree(tmp_path / "tree", {})).interfaces is None


def test_no_address_is_kept() -> None:
    assert not {"address", "mac"} & set(Interface.model_fields)


@pytest.mark.parametrize(
    ("uevent", "kind"), [("DEVTYPE=vlan\nINTERFACE=a", "vlan"), ("INTERFACE=a\nDEVTYPE=bridge", "bridge"), ("", None)]
)
def test_kinds_of_virtual_interfaces(uevent: str, kind: str | None) -> None:
    assert parse_kind(uevent) == kind


def test_state_and_counters_of_an_interface(tmp_path: Path) -> None:
    text = {"flags": "0x1103", "tx_queue_len": "1000", "carrier_changes": "4", "statistics/rx_missed_errors": "7"}
    host = write_capture(tmp_path, {f"{NET}/eth0/{name}": f"{value}\n" for name, value in text.items()})
    (nic,) = by_name(read(host)).values()
    assert (nic.administratively_up, nic.promiscuous, nic.tx_queue_len, nic.carrier_changes) == (True, True, 1000, 4)
    assert nic.statistics is not None
    assert (nic.statistics.rx_missed_errors, nic.statistics.rx_bytes) == (7, None)
    assert evidence_path(nic.statistics, "rx_missed_errors") == f"{NET}/eth0/statistics/rx_missed_errors"
    assert host.gaps[f"{NET}/eth0/statistics/rx_bytes"] == "absent"


@pytest.mark.parametrize("flags", ["", "1003", "0xup", "0x100000000000"])
def test_flags_that_are_none_say_nothing(tmp_path: Path, flags: str) -> None:
    host = write_tree(tmp_path, {f"{NET}/eth0/flags": flags})
    (nic,) = by_name(read(host)).values()
    assert (nic.administratively_up, nic.promiscuous) == (None, None)
    assert host.gaps[evidence_path(nic, "administratively_up")] == "unsupported"


def test_a_bond_names_its_members_and_what_spreads_flows_over_them(tmp_path: Path) -> None:
    files = {
        "uevent": "DEVTYPE=bond\nINTERFACE=bond0\n",
        "bonding/mode": "802.3ad 4\n",
        "bonding/slaves": "ens1 ens2\n",
        "bonding/xmit_hash_policy": "layer3+4 1\n",
        "bonding/lacp_rate": "fast 1\n",
        "bonding/active_slave": "\n",
    }
    host = write_capture(tmp_path, {f"{NET}/bond0/{name}": text for name, text in files.items()})
    write_link(tmp_path / "fs", f"{NET}/bond0/lower_ens1", "../ens1")
    write_link(tmp_path / "fs", f"{NET}/bond0/lower_ens2", "../ens2")
    bond = by_name(read(host))["bond0"]
    assert (bond.bond_mode, bond.bond_members, bond.bond_hash_policy) == ("802.3ad", ("ens1", "ens2"), "layer3+4")
    assert (bond.bond_lacp_rate, bond.bond_active_member, bond.lower) == ("fast", None, ("ens1", "ens2"))
    assert evidence_path(bond, "bond_members") == f"{NET}/bond0/bonding/slaves"


def test_a_vlan_has_its_number_from_a_file_for_root(tmp_path: Path) -> None:
    table = "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\nbond0.100      | 100  | bond0\n"
    files = {f"{NET}/bond0.100/uevent": "DEVTYPE=vlan\n", "/proc/net/vlan/config": table}
    vlan = by_name(read(write_capture(tmp_path, files)))["bond0.100"]
    assert (vlan.vlan_id, evidence_path(vlan, "vlan_id")) == (100, "/proc/net/vlan/config")
    del files["/proc/net/vlan/config"]
    host = write_tree(tmp_path / "tree", files)
    vlan = by_name(read(host))["bond0.100"]
    assert (vlan.vlan_id, host.gaps[evidence_path(vlan, "vlan_id")]) == (None, "not captured")


@pytest.mark.parametrize("text", ["", "bond0.1 | one | bond0\n", "bond0.1 | 1\n", "|\n"])
def test_a_table_of_vlans_that_is_none(text: str) -> None:
    assert parse_vlans(text) == {}


def test_the_rest_is_named_but_for_what_is_made_up_for_each_container(tmp_path: Path) -> None:
    virtual = "/sys/devices/virtual"
    names = ("tun0", "tailscale0", "veth1a2b3c4", "cali0123456789a", "cilium_host", "eni3f2a91b0c4d", "vnet7", "dummy0")
    host = write_tree(
        tmp_path,
        {
            f"{NET}/eth0/device/vendor": "0x15b3\n",
            **{path: text for name in names for path, text in files(name, virtual, uevent=f"INTERFACE={name}").items()},
        },
    )
    for name in names:
        link(tmp_path, name, virtual)
    net = read(host)
    assert list(by_name(net)) == ["eth0"]
    assert net.others == ("cilium_host", "dummy0", "tailscale0", "tun0")
