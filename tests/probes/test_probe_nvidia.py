"""The NVIDIA kernel driver without NVML: its parameters, the GPUs it has taken, peer memory, device nodes."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes.nvidia import FABRIC_MANAGER, IMEX, PARAMS, PEERS, parse_fabric_manager, parse_keys, read
from tests.trees import write_capture, write_tree

GPUS = "/proc/driver/nvidia/gpus"
INFORMATION = (
    "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 200\nGPU UUID: \t GPU-5b1c8f0e-0000-1111-2222-333344445555\n"
    "Video BIOS: \t 96.00.89.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\n"
    "Bus Location: \t 0000:19:00.0\nDevice Minor: \t {minor}\nGPU Firmware: \t 580.95.05\nGPU Excluded:\t {excluded}\n"
)
BEFORE_ITS_START = (
    "Model: \t\t Tesla V100-SXM2-32GB\nIRQ:   \t\t 0\nGPU UUID: \t GPU-????????-????-????-????-????????????\n"
    "Video BIOS: \t ??.??.??.??.??\nBus Location: \t 0000:1a:00.0\nDevice Minor: \t 1\nGPU Firmware: \t N/A\n"
)
DRIVER = {
    PARAMS: "ResmanDebugLevel: 4294967295\nEnableStreamMemOPs: 0\nRmProfilingAdminOnly: 1\nEnableGpuFirmware: 18\n"
    'EnableResizableBar: 0\nNvLinkDisable: 0\nEnablePCIERelaxedOrderingMode: x\nRegistryDwords: "ForceP2P=17;"\n'
    'CoherentGPUMemoryMode: ""\nImexChannelCount: 2048\n',
    f"{GPUS}/0000:19:00.0/information": INFORMATION.format(minor=0, excluded="No"),
    f"{GPUS}/0000:1a:00.0/information": BEFORE_ITS_START,
    "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm": "N\n",
    "/sys/module/nvidia_uvm/parameters/uvm_ats_mode": "1\n",
    "/sys/module/nvidia_drm/parameters/modeset": "Y\n",
    "/sys/module/nvidia_peermem/version": "580.95.05\n",
    "/dev/nvidiactl": "",
    "/dev/nvidia-uvm": "",
    "/dev/nvidia0": "",
    f"{IMEX}/channel0": "",
    "/run/nvidia-persistenced/socket": "",
}


def test_a_node_with_the_driver_tells_all(tmp_path: Path) -> None:
    host = write_capture(tmp_path, DRIVER, outputs={FABRIC_MANAGER: "Fabric Manager version is : 580.95.05\n"})
    facts = read(host)
    assert (facts.hmm_disabled, facts.ats_mode, facts.modeset) == (False, True, True)
    assert (facts.peermem_version, facts.legacy_peermem_version, facts.peer_memory_clients) == ("580.95.05", None, None)
    assert (facts.control_node_there, facts.uvm_node_there, facts.imex_channel_nodes) == (True, True, 1)
    assert (facts.persistenced_socket_there, facts.fabric_manager_version) == (True, "580.95.05")
    assert host.gaps[evidence_path(facts, "peer_memory_clients")] == "absent"


def test_parameters_are_typed_and_those_that_a_driver_lacks_are_absent(tmp_path: Path) -> None:
    host = write_capture(tmp_path, DRIVER)
    told = read(host).parameters
    assert told is not None
    assert (told.profiling_needs_root, told.stream_memory_operations, told.gpu_firmware) == (True, False, 18)
    assert (told.registry_dwords, told.coherent_memory_mode, told.imex_channels) == ("ForceP2P=17;", "", 2048)
    assert evidence_path(told, "profiling_needs_root") == PARAMS
    assert (told.user_numa_management, told.relaxed_ordering) == (None, None)
    assert host.gaps[evidence_path(told, "user_numa_management")] == "absent"
    assert host.gaps[evidence_path(told, "relaxed_ordering")] == "unsupported"


def test_gpus_of_the_driver_say_whether_their_node_is_there(tmp_path: Path) -> None:
    host = write_capture(tmp_path, DRIVER)
    first, second = read(host).cards or ()
    assert (first.address, first.model, first.minor_number) == ("0000:19:00.0", "NVIDIA H100 80GB HBM3", 0)
    assert (first.vbios_version, first.firmware_version) == ("96.00.89.00.01", "580.95.05")
    assert (first.excluded, first.node_there) == (False, True)
    assert (second.vbios_version, second.firmware_version, second.excluded) == (None, None, None)
    assert second.node_there is False
    assert host.gaps[evidence_path(second, "node_there")] == "absent"


def test_a_gpu_that_the_driver_leaves_alone_is_told(tmp_path: Path) -> None:
    tree = {f"{GPUS}/0000:19:00.0/information": INFORMATION.format(minor=0, excluded="Yes")}
    (card,) = read(write_capture(tmp_path, tree)).cards or ()
    assert card.excluded is True


@pytest.mark.parametrize("minor", ["-1", "99", "x", ""], ids=["negative", "too many", "a word", "nothing"])
def test_an_odd_minor_number_is_none(tmp_path: Path, minor: str) -> None:
    tree = {f"{GPUS}/0000:19:00.0/information": INFORMATION.format(minor=minor, excluded="No")}
    (card,) = read(write_capture(tmp_path, tree)).cards or ()
    assert (card.minor_number, card.node_there) == (None, None)


def test_the_older_module_of_peer_memory_shows_as_a_client(tmp_path: Path) -> None:
    facts = read(write_capture(tmp_path, {f"{PEERS}/nv_mem/version": "1.3\n"}))
    assert (facts.legacy_peermem_version, facts.peer_memory_clients) == ("1.3", ("nv_mem",))


def test_without_the_driver_all_is_absent(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {})
    facts = read(host)
    assert (facts.parameters, facts.cards, facts.peermem_version) == (None, None, None)
    assert (facts.control_node_there, facts.persistenced_socket_there) == (False, False)
    fields = ("parameters", "cards", "peermem_version", "control_node_there", "imex_channel_nodes")
    assert {host.gaps[evidence_path(facts, field)] for field in fields} == {"absent"}


def test_a_plain_tree_tells_nothing_of_what_it_lacks(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/version": "Linux"})
    facts = read(host)
    assert (facts.control_node_there, facts.cards, facts.fabric_manager_version) == (None, None, None)
    assert host.gaps[evidence_path(facts, "control_node_there")] == "not captured"


@pytest.mark.parametrize(
    ("text", "version"),
    [("Fabric Manager version is : 535.104.05\n", "535.104.05"), ("usage: ...\n", None), ("", None)],
)
def test_versions_of_fabric_manager(text: str, version: str | None) -> None:
    assert parse_fabric_manager(text) == version


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('RegistryDwords: "a=1;b=2"\n', {"RegistryDwords": "a=1;b=2"}),
        ("GPU Excluded:\t No\nno colon\n", {"GPU Excluded": "No"}),
        ("", {}),
    ],
)
def test_keys_of_the_driver_s_files(text: str, told: Mapping[str, str]) -> None:
    assert parse_keys(text) == told
