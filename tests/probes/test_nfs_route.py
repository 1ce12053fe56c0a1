"""The network interface that leads to an NFS server."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._nfs_route import interface_to, server_of
from advisor.probes.ip import Route
from advisor.probes.mounts import read
from tests.trees import write_tree

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
ROUTES = HEAD + "".join(
    f"{name}\t{destination}\t{gateway}\t0003\t0\t0\t0\t{mask}\t0\t0\t0\n"
    for name, destination, gateway, mask in (
        ("eno1", "00000000", "0102A8C0", "00000000"),
        ("eno1", "0002A8C0", "00000000", "00FFFFFF"),
        ("ens1", "0000000A", "00000000", "000000FF"),
        ("ens2", "0000100A", "00000000", "0000FFFF"),
    )
)


def mounted(options: str) -> str:
    return f"60 20 0:50 / /data rw - nfs4 filer:/export rw,vers=4.2,{options}\n"


@pytest.mark.parametrize(
    ("address", "interface"),
    [
        ("10.16.3.4", "ens2"),
        ("10.17.3.4", "ens1"),
        ("192.168.2.9", "eno1"),
        ("203.0.113.7", "eno1"),
    ],
    ids=["the narrowest of two", "one subnet", "beside it", "by the default route"],
)
def test_the_narrowest_route_leads_to_the_server(tmp_path: Path, address: str, interface: str) -> None:
    files = {"/proc/self/mountinfo": mounted(f"clientaddr=10.0.0.1,addr={address}"), "/proc/net/route": ROUTES}
    (found,) = read(write_tree(tmp_path, files)).mounts or ()
    assert found.nfs_interface == interface
    assert evidence_path(found, "nfs_interface") == "/proc/net/route"
    assert address not in found.model_dump_json()


@pytest.mark.parametrize("options", ["addr=fd00::1", "addr=ip-1", "addr=10.0.0.999", "hard"])
def test_a_server_without_an_address_of_four_numbers_is_not_found(tmp_path: Path, options: str) -> None:
    files = {"/proc/self/mountinfo": mounted(options), "/proc/net/route": ROUTES}
    (found,) = read(write_tree(tmp_path, files)).mounts or ()
    assert found.nfs_interface is None


def test_without_routes_nothing_leads_there(tmp_path: Path) -> None:
    (found,) = read(write_tree(tmp_path, {"/proc/self/mountinfo": mounted("addr=10.0.0.5")})).mounts or ()
    assert found.nfs_interface is None


def test_routes_are_not_read_without_nfs(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/self/mountinfo": "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n"})
    read(host)
    assert "/proc/net/route" not in host.gaps


def test_numbers_in_the_other_order_are_not_guessed() -> None:
    big_endian = Route("eth0", "0A000000", "FF000000", True)
    assert interface_to(server_of(["addr=10.0.0.5"]) or 0, [big_endian]) is None


def test_a_server_that_no_route_reaches() -> None:
    assert interface_to(server_of(["addr=192.0.2.5"]) or 0, [Route("eth0", "0000000A", "000000FF", True)]) is None
