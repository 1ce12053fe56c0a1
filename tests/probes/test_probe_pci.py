"""PCI devices: their kinds, links, bridges, NUMA nodes and IOMMU groups."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes._pci_codes import kind_of, parse_hex
from advisor.probes._sysfs import is_pci_address, pci_chain
from advisor.probes.pci import Device, Pci, parse_errors, parse_link_speed, parse_number, read
from tests.trees import write_capture, write_link, write_tree

BUS = "/sys/bus/pci/devices"
ROOT = "/sys/devices/pci0000:3a"
PORT = f"{ROOT}/0000:3a:00.0"
GPU = f"{PORT}/0000:3b:00.0"


def device(folder: str, class_code: str, vendor: str, **files: str) -> dict[str, str]:
    """The files of one device below its folder."""
    named = {"class": class_code, "vendor": vendor, "device": "0x2330", **files}
    return {f"{folder}/{name}": text + "\n" for name, text in named.items()}


def machine(tmp_path: Path, files: dict[str, str], *folders: str) -> Pci:
    """What is read of devices in ``folders``, each linked from the bus."""
    host = write_tree(tmp_path, files)
    for folder in folders:
        name = folder.rpartition("/")[2]
        write_link(tmp_path, f"{BUS}/{name}", f"../../../{folder.removeprefix('/sys/')}")
    return read(host)


def by_address(pci: Pci) -> dict[str, Device]:
    assert pci.devices is not None
    return {device.address: device for device in pci.devices}


def test_a_gpu_below_a_port_has_its_link_and_its_ports(tmp_path: Path) -> None:
    link = {"current_link_speed": "2.5 GT/s PCIe", "current_link_width": "8", "max_link_speed": "32.0 GT/s PCIe"}
    files = {
        **device(PORT, "0x060400", "0x8086", max_link_speed="16.0 GT/s PCIe", max_link_width="16", numa_node="1"),
        **device(GPU, "0x030200", "0x10de", max_link_width="16", numa_node="1", local_cpulist="32-63", **link),
        f"{GPU}/aer_dev_correctable": "RxErr 1\nBadTLP 2\nTOTAL_ERR_COR 3\n",
    }
    gpu = by_address(machine(tmp_path, files, PORT, GPU))["0000:3b:00.0"]
    assert (gpu.kind, gpu.vendor, gpu.device, gpu.class_code) == ("gpu", "10de", "2330", "030200")
    assert (gpu.link_speed_gts, gpu.link_width, gpu.max_link_speed_gts, gpu.max_link_width) == (2.5, 8, 32.0, 16)
    assert (gpu.upstream, gpu.upstream_max_link_speed_gts, gpu.upstream_max_link_width) == ("0000:3a:00.0", 16.0, 16)
    assert (gpu.path, gpu.root) == (("0000:3a:00.0", "0000:3b:00.0"), "pci0000:3a")
    assert (gpu.numa_node, gpu.near_numa_node, gpu.local_cpulist, gpu.correctable_errors) == (1, 1, "32-63", 3)
    assert evidence_path(gpu, "link_width") == f"{BUS}/0000:3b:00.0/current_link_width"
    assert evidence_path(gpu, "upstream_max_link_width") == f"{BUS}/0000:3a:00.0/max_link_width"


def test_only_bridges_above_what_matters_are_listed(tmp_path: Path) -> None:
    other = f"{ROOT}/0000:3a:01.0"
    usb = f"{other}/0000:3c:00.0"
    display = f"{other}/0000:3d:00.0"
    files = {
        **device(PORT, "0x060400", "0x8086"),
        **device(GPU, "0x030200", "0x10de"),
        **device(other, "0x060400", "0x8086"),
        **device(usb, "0x0c0330", "0x8086"),
        **device(display, "0x030000", "0x1a03"),
    }
    pci = machine(tmp_path, files, PORT, GPU, other, usb, display)
    kinds = {address: device.kind for address, device in by_address(pci).items()}
    assert kinds == {"0000:3a:00.0": "bridge", "0000:3b:00.0": "gpu", "0000:3d:00.0": "display"}
    assert pci.count == 5


def test_of_bridges_only_links_and_nodes_are_read(tmp_path: Path) -> None:
    port = device(PORT, "0x060400", "0x8086", max_link_width="16", numa_node="0", local_cpulist="0-7")
    pci = machine(tmp_path, {**port, **device(GPU, "0x030200", "0x10de")}, PORT, GPU)
    bridge = by_address(pci)["0000:3a:00.0"]
    assert (bridge.max_link_width, bridge.near_numa_node, bridge.local_cpulist, bridge.path) == (16, 0, None, ())


@pytest.mark.parametrize(
    ("own", "above", "numa_node", "near", "path"),
    [
        ("0", "1", 0, 0, f"{BUS}/0000:3b:00.0/numa_node"),
        ("-1", "1", None, 1, f"{PORT}/numa_node"),
        (None, "1", None, 1, f"{PORT}/numa_node"),
        ("-1", "-1", None, None, f"{BUS}/0000:3b:00.0/numa_node"),
        ("-1", None, None, None, f"{BUS}/0000:3b:00.0/numa_node"),
    ],
    ids=["own", "the port knows", "own is missing", "nobody knows", "nobody says"],
)
def test_the_numa_node_falls_back_to_the_parent(
    tmp_path: Path, own: str | None, above: str | None, numa_node: int | None, near: int | None, path: str
) -> None:
    port = {"numa_node": above} if above else {}
    card = {"numa_node": own} if own else {}
    files = {**device(PORT, "0x060400", "0x8086", **port), **device(GPU, "0x030200", "0x10de", **card)}
    gpu = by_address(machine(tmp_path, files, PORT, GPU))["0000:3b:00.0"]
    assert (gpu.numa_node, gpu.near_numa_node) == (numa_node, near)
    assert evidence_path(gpu, "near_numa_node") == path


@pytest.mark.parametrize("width", ["0", "63", "255", "", "x16", "-1"])
def test_a_width_that_says_nothing_is_unknown(tmp_path: Path, width: str) -> None:
    host = write_tree(tmp_path, device(f"{BUS}/0000:3b:00.0", "0x030200", "0x10de", current_link_width=width))
    (gpu,) = by_address(read(host)).values()
    assert gpu.link_width is None
    assert host.gaps[f"{BUS}/0000:3b:00.0/current_link_width"] == "unsupported"


def test_on_the_root_bus_there_is_no_port_above(tmp_path: Path) -> None:
    card = f"{ROOT}/0000:3a:02.0"
    host = write_tree(tmp_path, device(card, "0x020000", "0x1af4"))
    write_link(tmp_path, f"{BUS}/0000:3a:02.0", "../../../devices/pci0000:3a/0000:3a:02.0")
    (nic,) = by_address(read(host)).values()
    assert (nic.upstream, nic.upstream_max_link_width, nic.path) == (None, None, ("0000:3a:02.0",))
    assert host.gaps[evidence_path(nic, "upstream_max_link_width")] == "absent"


def test_behind_vmd_the_last_root_counts(tmp_path: Path) -> None:
    drive = f"{PORT}/pci10000:00/10000:00:02.0/10000:01:00.0"
    files = {**device(drive, "0x010802", "0x8086", numa_node="-1"), f"{PORT}/numa_node": "1\n"}
    (nvme,) = by_address(machine(tmp_path, files, drive)).values()
    assert (nvme.address, nvme.kind, nvme.root) == ("10000:01:00.0", "nvme", "pci10000:00")
    assert nvme.path == ("10000:00:02.0", "10000:01:00.0")
    assert nvme.near_numa_node == 1


def test_iommu_driver_and_virtual_functions(tmp_path: Path) -> None:
    folder = f"{BUS}/0000:3b:00.0"
    files = {
        **device(folder, "0x020700", "0x15b3", sriov_numvfs="4"),
        "/sys/kernel/iommu_groups/17/type": "DMA-FQ\n",
        "/sys/kernel/iommu_groups/3/type": "identity\n",
        "/sys/bus/pci/drivers/mlx5_core/": "",
    }
    host = write_tree(tmp_path, files)
    write_link(tmp_path, f"{folder}/iommu_group", "../../../../kernel/iommu_groups/17")
    write_link(tmp_path, f"{folder}/driver", "../../../../bus/pci/drivers/mlx5_core")
    write_link(tmp_path, f"{folder}/physfn", "../0000:3b:00.1")
    pci = read(host)
    (nic,) = by_address(pci).values()
    assert (nic.kind, nic.iommu_group, nic.iommu_type, pci.iommu_groups) == ("nic", "17", "DMA-FQ", 2)
    assert (nic.driver, nic.virtual_function, nic.virtual_functions) == ("mlx5_core", True, 4)
    assert evidence_path(nic, "iommu_type") == "/sys/kernel/iommu_groups/17/type"


def test_addresses_are_in_order(tmp_path: Path) -> None:
    names = ("0000:b7:00.0", "10000:01:00.0", "0000:0f:00.0", "0000:07:00.0", "0000:4e:00.0")
    host = write_tree(
        tmp_path, {path: text for name in names for path, text in device(f"{BUS}/{name}", "0x0302", "0x10de").items()}
    )
    assert read(host).devices == ()  # a class of four digits is not one
    files = {path: text for name in names for path, text in device(f"{BUS}/{name}", "0x030200", "0x10de").items()}
    found = by_address(read(write_tree(tmp_path, files)))
    assert list(found) == ["0000:07:00.0", "0000:0f:00.0", "0000:4e:00.0", "0000:b7:00.0", "10000:01:00.0"]


def test_a_host_without_pci_has_no_devices_and_a_dump_without_it_says_nothing(tmp_path: Path) -> None:
    known = read(write_capture(tmp_path / "capture", {}))
    assert (known.devices, known.count) == ((), 0)
    unknown = read(write_tree(tmp_path / "tree", {}))
    assert (unknown.devices, unknown.count, unknown.iommu_groups) == (None, None, None)


@pytest.mark.parametrize(
    ("class_code", "vendor", "kind"),
    [
        ("030000", "10de", "gpu"),
        ("030200", "10de", "gpu"),
        ("038000", "1002", "gpu"),
        ("120000", "1002", "gpu"),
        ("120000", "8086", None),
        ("030000", "1a03", "display"),
        ("030000", "102b", "display"),
        ("020000", None, "nic"),
        ("020700", None, "nic"),
        ("028000", None, "nic"),
        ("010802", None, "nvme"),
        ("010400", None, "raid"),
        ("010700", None, "sas"),
        ("068000", "10de", "nvswitch"),
        ("068000", "8086", None),
        ("040300", "10de", None),
        (None, "10de", None),
    ],
)
def test_kinds_follow_class_and_vendor(class_code: str | None, vendor: str | None, kind: str | None) -> None:
    assert kind_of(class_code, vendor) == kind


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("16.0 GT/s PCIe", 16.0),
        ("8 GT/s", 8.0),
        ("2.5 GT/s PCIe", 2.5),
        ("Unknown", None),
        ("Unknown speed", None),
        ("", None),
        (None, None),
        ("١٦ GT/s", None),
    ],
)
def test_link_speeds(text: str | None, speed: float | None) -> None:
    assert parse_link_speed(text) == speed


@pytest.mark.parametrize(("text", "number"), [("16", 16), (" 7\n", 7), ("1e3", None), ("-1", None), ("9" * 40, None)])
def test_numbers(text: str, number: int | None) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "code"), [("0x10de", "10de"), ("0x1A", "001a"), ("10de", None), ("0x", None), ("", None), (None, None)]
)
def test_hex_codes(text: str | None, code: str | None) -> None:
    assert parse_hex(text, 4) == code


@pytest.mark.parametrize(
    ("text", "errors"),
    [("RxErr 0\nTOTAL_ERR_COR 12\n", 12), ("TOTAL_ERR_FATAL 0", 0), ("RxErr 4\n", None), ("", None), (None, None)],
)
def test_the_sum_of_errors_is_taken(text: str | None, errors: int | None) -> None:
    assert parse_errors(text) == errors


@pytest.mark.parametrize(
    ("name", "is_address"),
    [
        ("0000:3b:00.0", True),
        ("10000:01:00.0", True),
        ("d58f:00:02.0", True),
        ("3b:00.0", False),
        ("pci0000:3a", False),
    ],
)
def test_addresses(name: str, is_address: bool) -> None:
    assert is_pci_address(name) is is_address


def test_a_chain_starts_below_the_last_root() -> None:
    vmbus = "/sys/devices/LNXSYSTM:00/VMBUS:00/47505500-0001/pcid58f:00/d58f:00:02.0/infiniband/mlx5_0"
    assert pci_chain(vmbus) == ("d58f:00:02.0",)
    assert pci_chain("/sys/devices/virtual/net/lo") == ()
