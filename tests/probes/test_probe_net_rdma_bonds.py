"""Members of a bond that RDMA goes over: the card's one RDMA device lies in the folder of its first port alone."""

from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.model.facts import evidence_path
from advisor.probes.net import Interface, read
from tests.trees import write_capture, write_link, write_tree

NET, IB = "/sys/class/net", "/sys/class/infiniband"
PORTS = ("/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0", "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1")
BOND = "/sys/devices/virtual/net/bond0"
GIDS = f"{IB}/mlx5_bond_0/ports/1"
ZERO, LOCAL = ":".join(["0000"] * 8), "fe80:0000:0000:0000:0202:c9ff:fe00:0001"
FILES = {
    **{f"{port}/net/ens1f{n}np{n}/mtu": "9000\n" for n, port in enumerate(PORTS)},
    **{f"{port}/numa_node": "0\n" for port in PORTS},
    f"{PORTS[0]}/infiniband/mlx5_bond_0/": "",
    f"{BOND}/uevent": "DEVTYPE=bond\nINTERFACE=bond0\n",
    f"{GIDS}/gids/0": f"{ZERO}\n",
    f"{GIDS}/gids/1": f"{LOCAL}\n",
    f"{GIDS}/gid_attrs/ndevs/1": "bond0\n",
}


def linked(folder: Path, master: str | None = BOND) -> None:
    for number, port in enumerate(PORTS):
        name = f"ens1f{number}np{number}"
        write_link(folder, f"{NET}/{name}", f"../../{port.removeprefix('/sys/')}/net/{name}")
        write_link(folder, f"{port}/net/{name}/device", "../..")
        if master:
            write_link(folder, f"{port}/net/{name}/master", f"../../../../../{master.removeprefix('/sys/devices/')}")
    write_link(folder, f"{NET}/bond0", f"../../{BOND.removeprefix('/sys/')}")


def second_port(host: Host) -> Interface:
    (found,) = (one for one in read(host).interfaces or () if one.name == "ens1f1np1")
    return found


def test_the_second_port_of_a_bonded_card_does_rdma(tmp_path: Path) -> None:
    host = write_capture(tmp_path, FILES)
    linked(tmp_path / "fs")
    found = {one.name: one.rdma_devices for one in read(host).interfaces or ()}
    assert found == {"bond0": None, "ens1f0np0": ("mlx5_bond_0",), "ens1f1np1": ("mlx5_bond_0",)}
    assert evidence_path(second_port(host), "rdma_devices") == IB


@pytest.mark.parametrize(
    ("files", "master"),
    [
        ({f"{GIDS}/gid_attrs/ndevs/1": "ens1f0np0\n"}, BOND),
        ({f"{GIDS}/gids/1": f"{ZERO}\n"}, BOND),
        ({}, None),
        ({f"{BOND}/uevent": "DEVTYPE=bridge\n"}, BOND),
    ],
    ids=["RDMA goes over one port", "no address in use", "not bonded", "a bridge"],
)
def test_a_port_that_no_rdma_goes_over(tmp_path: Path, files: dict[str, str], master: str | None) -> None:
    host = write_capture(tmp_path, {**FILES, **files})
    linked(tmp_path / "fs", master)
    found = second_port(host)
    assert found.rdma_devices == ()
    assert evidence_path(found, "rdma_devices") == f"{NET}/ens1f1np1/device/infiniband"


def test_a_bond_whose_rdma_devices_cannot_be_listed_is_unknown(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {path: text for path, text in FILES.items() if not path.startswith(IB)})
    linked(tmp_path)
    found = second_port(host)
    assert (found.rdma_devices, host.gaps[evidence_path(found, "rdma_devices")]) == (None, "not captured")


def test_a_machine_with_a_bond_and_no_rdma_at_all(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {path: text for path, text in FILES.items() if "infiniband" not in path})
    linked(tmp_path / "fs")
    assert second_port(host).rdma_devices == ()
