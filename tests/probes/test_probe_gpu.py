"""GPUs as NVML tells of them, and without it as the bus and the driver's files do."""

from pathlib import Path
from typing import Any

import pytest

from advisor.host.base import Host, Output
from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.probes._gpu_models import GpuDevice
from advisor.probes._gpu_nvml import clock_reasons
from advisor.probes.gpu import SMI, VERSION, failure_of_smi, parse_model, parse_version, parse_visible, read
from tests.trees import ALL_ABSENT, write_capture, write_tree

OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (x@y)  Tue\nGCC version: 13\n"
)
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
BUS = "/sys/bus/pci/devices"


def answer(index: int, **values: Any) -> dict[str, Any]:
    """NVML's answers for one GPU."""
    return {"index": index, "lost": False, "bus_id": f"0000:3{index}:00.0", "gaps": {}, **values}


def answers(*gpus: dict[str, Any], **values: Any) -> dict[str, Any]:
    return {"driver_version": "580.95.05", "cuda_version": "13.0", "gaps": {}, "gpus": list(gpus), "p2p": [], **values}


def with_nvml(tmp_path: Path, nvml: dict[str, Any], environment: dict[str, str] | None = None) -> Host:
    return write_capture(tmp_path, {"/proc/driver/nvidia/version": OPEN}, nvml=nvml, environment=environment or {})


def test_nvml_tells_of_every_gpu(tmp_path: Path) -> None:
    first = answer(
        0,
        name="NVIDIA H200",
        uuid="GPU-11aa",
        memory_total_bytes=150 << 30,
        power_limit_milliwatts=700000,
        nvlinks_active=18,
        compute_processes=[41, 42],
        numa_node=None,
        gaps={"numa_node": "unsupported"},
    )
    host = with_nvml(tmp_path, answers(first, answer(1, name="NVIDIA H200", lost=True)))
    facts = read(host)
    assert (facts.source, facts.count, facts.visible_count) == ("nvml", 2, 1)
    assert (facts.driver_version, facts.open_kernel_module, facts.cuda_version) == ("580.95.05", True, "13.0")
    assert facts.gpus is not None
    gpu = facts.gpus[0]
    assert (gpu.name, gpu.pci_address, gpu.vendor, gpu.memory_total_bytes) == (
        "NVIDIA H200",
        "0000:30:00.0",
        "nvidia",
        150 << 30,
    )
    assert (gpu.power_limit_watts, gpu.nvlinks_active, gpu.compute_processes, gpu.lost) == (700.0, 18, (41, 42), False)
    assert gpu.numa_node is None
    assert host.gaps[evidence_path(gpu, "numa_node")] == "unsupported"


def test_pairs_tell_whether_memory_can_be_shared(tmp_path: Path) -> None:
    pair = {"a": 0, "b": 1, "read": 0, "write": 3, "nvlink": None, "gaps": {"nvlink": "unsupported"}}
    host = with_nvml(tmp_path, answers(answer(0), answer(1), p2p=[pair]))
    (peer,) = read(host).peers or ()
    assert (peer.a, peer.b, peer.read, peer.write, peer.nvlink) == (0, 1, True, False, None)
    assert host.gaps[evidence_path(peer, "nvlink")] == "unsupported"


def test_what_a_pair_lacks_has_its_reason(tmp_path: Path) -> None:
    pair = {"a": 0, "b": 1, "read": 4, "write": 6, "nvlink": 5, "atomics": 0, "common_ancestor": 50, "gaps": {}}
    host = with_nvml(tmp_path, answers(answer(0), answer(1), p2p=[pair]))
    (peer,) = read(host).peers or ()
    assert (peer.read, peer.read_refusal, peer.common_ancestor, peer.atomics) == (False, "disabled", "SYS", True)
    # 6 is NVML_P2P_STATUS_UNKNOWN.
    assert peer.write is None
    assert host.gaps[evidence_path(peer, "write")] == "unsupported"


def test_reasons_for_low_clocks_have_names_and_times_have_units(tmp_path: Path) -> None:
    told = answer(0, throttle_reasons=0x44, power_throttle_nanoseconds=1_500_000_000, power_limit_milliwatts=650_500)
    (gpu,) = read(with_nvml(tmp_path, answers(told))).gpus or ()
    assert (gpu.throttle_reasons, gpu.throttle_names) == (0x44, ("sw_power_cap", "hw_thermal_slowdown"))
    assert (gpu.power_throttle_seconds, gpu.power_limit_watts) == (1.5, 650.5)


@pytest.mark.parametrize(
    ("bits", "names"), [(0, ()), (1, ("gpu_idle",)), (0x1000 | 0x80, ("hw_power_brake_slowdown",))]
)
def test_bits_of_clock_reasons(bits: int, names: tuple[str, ...]) -> None:
    assert clock_reasons(bits) == names


def test_links_are_told_one_by_one(tmp_path: Path) -> None:
    links = [
        {"number": 0, "active": True, "version": 7, "remote_kind": "switch", "crc_flit_errors": 5, "gaps": {}},
        {"number": 2, "active": False, "version": None, "gaps": {"version": "unsupported"}},
    ]
    host = with_nvml(tmp_path, answers(answer(0, nvlinks=links, nvlinks_active=1)))
    (gpu,) = read(host).gpus or ()
    up, down = gpu.nvlinks or ()
    assert (up.number, up.active, up.remote_kind, up.crc_flit_errors) == (0, True, "switch", 5)
    assert (down.number, down.active, down.version) == (2, False, None)
    assert host.gaps[evidence_path(down, "version")] == "unsupported"


def test_what_an_older_advisor_did_not_ask_is_not_captured(tmp_path: Path) -> None:
    host = with_nvml(tmp_path, answers(answer(0, name="NVIDIA H200", power_limits_milliwatts=[1, 2])))
    facts = read(host)
    (gpu,) = facts.gpus or ()
    assert (gpu.name, gpu.bar1_total_bytes, gpu.nvlinks, gpu.fabric_state) == ("NVIDIA H200", None, None, None)
    for field in ("bar1_total_bytes", "nvlinks", "fabric_state", "throttle_names"):
        assert host.gaps[evidence_path(gpu, field)] == "not captured"
    assert host.gaps[evidence_path(facts, "confidential_compute")] == "not captured"


def test_what_does_not_fit_is_an_error_of_its_field_alone(tmp_path: Path) -> None:
    odd = answer(0, name=["x"], memory_total_bytes="many", persistence_mode=True, nvlinks=[{"number": "?"}, 7])
    host = with_nvml(tmp_path, answers(odd, {"index": "1"}, p2p=[{"a": 0}, 5], cuda_version=7, confidential_compute=1))
    facts = read(host)
    (gpu,) = facts.gpus or ()
    assert (gpu.name, gpu.memory_total_bytes, gpu.persistence_mode, gpu.nvlinks) == (None, None, True, ())
    assert host.gaps[evidence_path(gpu, "name")] == host.gaps[evidence_path(gpu, "memory_total_bytes")] == "error"
    assert (facts.peers, facts.cuda_version, facts.confidential_compute) == ((), None, None)


@pytest.mark.parametrize(
    ("told", "failure", "gap"),
    [
        ({"failure": "version mismatch", "state": "error", "number": 18}, "version mismatch", "error"),
        ({"failure": "no driver", "state": "absent", "number": 9}, "no driver", "absent"),
        ({"failure": 7, "state": None}, "error", "error"),
    ],
    ids=["library and driver differ", "no driver", "odd"],
)
def test_why_nvml_gave_nothing_is_told(tmp_path: Path, told: dict[str, Any], failure: str, gap: str) -> None:
    host = write_capture(tmp_path, bus(), nvml=told, environment={})
    facts = read(host)
    assert (facts.nvml_failure, facts.source, facts.count) == (failure, "pci", 2)
    assert host.gaps["nvml"] == gap


def test_gpus_that_answered_count_though_one_hangs(tmp_path: Path) -> None:
    silent = {"index": 1, "lost": None, "name": None, "gaps": {"name": "timed out", "lost": "timed out"}}
    host = with_nvml(tmp_path, answers(answer(0, name="NVIDIA H200"), silent, failure="timed out"))
    facts = read(host)
    assert (facts.nvml_failure, facts.source, facts.count) == ("timed out", "nvml", 2)
    assert host.gaps["nvml/1/name"] == "timed out"


def test_the_environment_takes_gpus_away(tmp_path: Path) -> None:
    host = with_nvml(tmp_path, answers(answer(0), answer(1)), {"CUDA_VISIBLE_DEVICES": "1"})
    assert (read(host).count, read(host).visible_count) == (2, 1)


def bus(vendor: str = "0x10de") -> dict[str, str]:
    """Two GPUs and the display of a management controller."""
    devices = {"0000:0f:00.0": ("0x030200", vendor), "0000:07:00.0": ("0x030200", vendor)}
    devices["0000:02:00.0"] = ("0x030000", "0x1a03")
    return {
        f"{BUS}/{address}/{name}": text
        for address, codes in devices.items()
        for name, text in zip(("class", "vendor"), codes, strict=True)
    }


def test_without_nvml_the_bus_tells(tmp_path: Path) -> None:
    information = "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 200\nGPU UUID: \t GPU-????\n"
    tree = {**bus(), "/proc/driver/nvidia/gpus/0000:0f:00.0/information": information}
    host = write_tree(tmp_path, {**tree, "/proc/driver/nvidia/version": CLOSED})
    facts = read(host)
    assert (facts.source, facts.count, facts.visible_count) == ("pci", 2, None)
    assert (facts.driver_version, facts.open_kernel_module) == ("535.104.05", False)
    assert [(gpu.index, gpu.pci_address, gpu.vendor, gpu.name) for gpu in facts.gpus or ()] == [
        (0, "0000:07:00.0", "nvidia", None),
        (1, "0000:0f:00.0", "nvidia", "NVIDIA A100-SXM4-80GB"),
    ]
    assert evidence_path(facts, "driver_version") == "/proc/driver/nvidia/version"


def test_where_only_the_driver_tells_its_folders_count(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/driver/nvidia/gpus/0004:04:00.0/information": "Model: Tesla V100\n"})
    assert [(gpu.pci_address, gpu.name) for gpu in read(host).gpus or ()] == [("0004:04:00.0", "Tesla V100")]


def test_cards_without_a_driver_are_there_but_not_visible(tmp_path: Path) -> None:
    facts = read(write_capture(tmp_path, bus(), absent=[*ALL_ABSENT, "nvml"], environment={}))
    assert (facts.count, facts.visible_count) == (2, 0)


def test_what_an_amd_processor_has_built_in_is_none_of_the_gpus_beside_nvidias(tmp_path: Path) -> None:
    built_in = {f"{BUS}/0000:00:01.0/class": "0x030000", f"{BUS}/0000:00:01.0/vendor": "0x1002"}
    facts = read(write_tree(tmp_path, {**bus(), **built_in}))
    assert [(gpu.index, gpu.pci_address, gpu.vendor) for gpu in facts.gpus or ()] == [
        (0, "0000:07:00.0", "nvidia"),
        (1, "0000:0f:00.0", "nvidia"),
    ]


def test_amd_cards_are_visible_through_their_device(tmp_path: Path) -> None:
    tree = {**bus("0x1002"), "/dev/kfd": ""}
    facts = read(write_capture(tmp_path, tree, environment={"HIP_VISIBLE_DEVICES": "0"}))
    assert (facts.count, facts.visible_count) == (2, 1)
    assert {gpu.vendor for gpu in facts.gpus or ()} == {"amd"}


def test_no_card_is_known_only_where_absence_is(tmp_path: Path) -> None:
    known = read(write_capture(tmp_path / "capture", {}, environment={}))
    assert (known.gpus, known.count, known.visible_count) == ((), 0, 0)
    unknown = read(write_tree(tmp_path / "tree", {}))
    assert (unknown.gpus, unknown.count, unknown.visible_count) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OPEN, ("580.95.05", True)),
        (CLOSED, ("535.104.05", False)),
        ("NVRM version: something else\n", (None, None)),
        ("", (None, None)),
    ],
    ids=["open", "closed", "odd", "empty"],
)
def test_driver_versions(text: str, expected: tuple[str | None, bool | None]) -> None:
    assert parse_version(text) == expected


@pytest.mark.parametrize(("text", "model"), [("Model: \t X 1\nIRQ: 2", "X 1"), ("Model:\n", None), ("", None)])
def test_models(text: str, model: str | None) -> None:
    assert parse_model(text) == model


GPUS = [GpuDevice(index=0, uuid="GPU-aa11"), GpuDevice(index=1, uuid="GPU-bb22"), GpuDevice(index=2)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0,1,2", 3),
        (" 2 , 0", 2),
        ("", 0),
        ("-1", 0),
        ("0,9,1", 1),
        ("NoDevFiles", 0),
        ("GPU-aa,GPU-bb22", 2),
        ("GPU-cc,0", 0),
        ("MIG-1/2/0,MIG-1/3/0", 2),
    ],
)
def test_lists_of_visible_gpus(text: str, count: int) -> None:
    assert parse_visible(text, GPUS) == count


def test_nvidia_smi_tells_of_a_library_of_another_version(tmp_path: Path) -> None:
    """A collector cannot ask NVML, but nvidia-smi, which then says why it has no answer."""
    printed = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.95\n"
    write_capture(tmp_path, {VERSION: CLOSED})
    for name, text in (("argv", "\n".join(SMI)), ("stdout", printed), ("rc", "18")):
        (tmp_path / f"cmd/0.{name}").write_text(text)
    told = read(open_root(str(tmp_path)))
    assert (told.nvml_failure, evidence_path(told, "nvml_failure")) == ("version mismatch", "command: nvidia-smi -q -x")


def test_an_answer_of_nvidia_smi_is_no_failure() -> None:
    assert failure_of_smi(None) is None
    assert failure_of_smi(Output(SMI, 0, "<nvidia_smi_log>Driver/library version mismatch</nvidia_smi_log>")) is None
    assert failure_of_smi(Output(SMI, 9, "NVIDIA-SMI has failed")) is None
