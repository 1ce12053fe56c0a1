"""Device probes on the captured machines of other projects: none raises, and counts agree with VERIFY.tsv.

VERIFY.tsv was read out of the same trees by a script that shares nothing with the probes.
"""

import csv
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.discover import unit
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.tree import Tree
from advisor.model.snapshot import Snapshot, Source, committed_json, full_json
from advisor.probes.gpu import Gpu
from advisor.probes.pci import Pci
from advisor.probes.rdma import Rdma

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
PROBES = ("pci", "net", "rdma", "block", "mounts", "gpu", "python")
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]

DISAGREEMENTS = {
    ("util-linux/lsblk/multi-devs-bcachefs.tar.xz", "nvme"): "the script counts block devices where PCI is missing",
    ("util-linux/lsblk/simple-lvm.tar.xz", "nvme"): "the script counts block devices where PCI is missing",
    ("libnvme/tree-pcie.tar.xz", "nvme"): "the script counts NVMe controllers where PCI is missing",
    ("gpud/sysfs", "ib"): "the script looks for a folder sys, and this is only the class folder",
}
"""Machine and column: why another number is right."""


def rows() -> list[dict[str, str]]:
    """The machines that are one root each."""
    if not HOSTS.is_dir():
        return []
    with open(HOSTS / "VERIFY.tsv", newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file, delimiter="\t"))
    paths = [row["path"] for row in found]
    return [row for row in found if paths.count(row["path"]) == 1]


ROWS = rows()


def opened(path: str, tmp_path: Path) -> Host:
    """The machine of one row."""
    if path.endswith(".ttar"):
        spec = importlib.util.spec_from_file_location("ttar_extract", HOSTS / "tools/ttar_extract.py")
        assert spec is not None
        assert spec.loader is not None
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        tool.extract(str(HOSTS / path), str(tmp_path))
        return open_root(str(tmp_path))
    if path == "gpud/sysfs":
        shutil.copytree(HOSTS / path / "sys-class-infiniband-h100.0", tmp_path / "sys/class/infiniband")
        return Tree.in_folder(tmp_path)
    return open_root(str(HOSTS / path))


def counts(pci: Pci, rdma: Rdma, gpu: Gpu) -> Iterator[tuple[str, str]]:
    """The columns of VERIFY.tsv as the probes tell them."""
    devices = pci.devices or ()
    yield "pci", str(pci.count or 0)
    yield "mlx", str(sum(device.vendor == "15b3" for device in devices))
    yield "nvme", str(sum(device.kind == "nvme" for device in devices))
    yield "raid", str(sum(device.kind == "raid" for device in devices))
    yield "nvgpu", str(sum(one.vendor == "nvidia" for one in gpu.gpus or ()))
    yield "amdgpu", str(sum(one.vendor == "amd" for one in gpu.gpus or ()))
    yield "ib", ",".join(sorted(device.name for device in rdma.devices or ()))


@pytest.mark.parametrize("row", ROWS, ids=[row["path"] for row in ROWS])
def test_device_counts_agree_and_facts_can_be_saved(row: dict[str, str], tmp_path: Path) -> None:
    host = opened(row["path"], tmp_path)
    facts = {name: unit("probes", name).read(host) for name in PROBES}
    pci, rdma, gpu = facts["pci"], facts["rdma"], facts["gpu"]
    found = dict(counts(pci, rdma, gpu))
    wrong = {name: (value, row[name]) for name, value in found.items() if value != row[name]}
    assert set(wrong) == {column for path, column in DISAGREEMENTS if path == row["path"]}, wrong
    known = [device.numa_node for device in pci.devices or () if device.numa_node is not None]
    if row["pci_numa"] == "0":
        assert not known
    if row["pci_numa"] == row["pci"]:
        assert len(known) == len(pci.devices or ())
    snapshot = Snapshot(Source(kind=host.kind), facts, host.gaps)
    assert len(committed_json(snapshot)) <= len(full_json(snapshot))
    # Of a plain tree only what is in it can say that something is not there: that a device has no port above it, and a
    # whole list of capabilities that one is not among them.
    absent = [path for path, state in host.gaps.items() if state == "absent"]
    assert [path for path in absent if not path.endswith("/..") and "/config/" not in path] == []
