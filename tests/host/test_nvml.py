"""NVML asked through the real binding, with a test double in the driver library's place."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.host._nvml_fields import ALL, plain_text, sysfs_address
from advisor.host.nvml import ask_nvml, parse_answers
from tests.nvml_test_double import EIGHT_GPUS, GEFORCE, build

Ask = Callable[..., tuple[Mapping[str, Any] | None, str | None]]

TWO_GPUS = """
count 2
0.name NVIDIA H200
0.uuid GPU-00000000-0000-0000-0000-000000000000
0.bus_id 00000000:3B:00.0
0.memory 150754820096 1048576
0.persistence 1
0.pcie_generation 5
0.pcie_width 8
0.pcie_max_generation 5
0.pcie_max_width 16
0.power_limit 500000
0.power_default_limit 700000
0.throttle_reasons 0x4
0.ecc 1 1
0.mig 0 1
0.compute_mode 0
0.remapped 0 1 0 0
0.links 18
0.nvlinks 18
0.numa_node 1
0.p2p.0 0
0.p2p.1 0
0.p2p.2 5
0.p2p.3 0
0.ancestor 30
1.name NVIDIA H200
1.bus_id 00010000:AF:00.0
"""


@pytest.fixture(scope="session")
def test_double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the test double."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_test_double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a test double without the functions of newer drivers."""
    return build(tmp_path_factory.mktemp("old-nvml"), "-DOLD_DRIVER")


def asker(library: Path, state: Path) -> Ask:
    def asked(content: str | bytes, seconds: float = 60.0) -> tuple[Mapping[str, Any] | None, str | None]:
        state.write_bytes(content if isinstance(content, bytes) else content.encode())
        return ask_nvml(seconds, {"LD_LIBRARY_PATH": str(library), "FAKE_NVML": str(state)})

    return asked


@pytest.fixture
def ask(test_double: Path, tmp_path: Path) -> Ask:
    """Asks the test double whose state is the given text."""
    return asker(test_double, tmp_path / "state")


@pytest.fixture
def ask_old(old_test_double: Path, tmp_path: Path) -> Ask:
    """Asks the test double of an old driver."""
    return asker(old_test_double, tmp_path / "state")


def test_two_gpus_are_told_field_by_field(ask: Ask) -> None:
    answers, gap = ask(TWO_GPUS)
    assert gap is None
    assert answers is not None
    assert "FAKE" in answers["driver_version"]
    assert answers["cuda_version"] == "12.4"
    first = answers["gpus"][0]
    expected = {
        "index": 0,
        "lost": False,
        "name": "NVIDIA H200",
        "bus_id": "0000:3b:00.0",
        "memory_total_bytes": 150754820096,
        "memory_used_bytes": 1048576,
        "persistence_mode": True,
        "pcie_generation": 5,
        "pcie_width": 8,
        "pcie_max_width": 16,
        "power_limit_milliwatts": 500000,
        "power_default_limit_milliwatts": 700000,
        "ecc_mode": True,
        "mig_mode": False,
        "mig_pending_mode": True,
        "compute_mode": 0,
        "remapped_rows_uncorrectable": 1,
        "remapped_rows_failed": False,
        "nvlinks_active": 18,
        "numa_node": 1,
    }
    assert {field: first[field] for field in expected} == expected


def test_a_node_of_eight_answers_every_question(ask: Ask) -> None:
    answers, gap = ask(EIGHT_GPUS)
    assert gap is None
    assert answers is not None
    assert answers["confidential_compute"] is False
    assert [gpu["index"] for gpu in answers["gpus"]] == list(range(8))
    last = answers["gpus"][7]
    # The GPU's memory is a NUMA node on Grace only, and it has registered with its fabric in full.
    assert {field: last[field] for field in ALL if last[field] is None} == {"numa_node": None}
    assert last["gaps"] == {"numa_node": "unsupported"}
    expected = {
        "brand": "nvidia",
        "architecture": "hopper",
        "compute_capability": "9.0",
        "serial": "1650123004567",
        "minor_number": 7,
        "virtualization": "none",
        "addressing_mode": "hmm",
        "bar1_total_bytes": 137438953472,
        "power_enforced_limit_milliwatts": 650000,
        "power_min_limit_milliwatts": 200000,
        "graphics_application_clock_mhz": 1755,
        "power_throttle_nanoseconds": 1500000000,
        "slowdown_temperature_celsius": 89,
        "memory_temperature_celsius": 41,
        "recovery_action": "none",
        "ecc_corrected_errors": 12,
        "near_cpus": list(range(56, 112)),
        "near_memory_nodes": [1],
        "compute_processes": [4242, 4243],
        "fabric_state": "completed",
        "fabric_status": 0,
        "fabric_clique": 1,
        "fabric_bandwidth_degraded": False,
        "fabric_route_unhealthy": False,
        "fabric_misconfiguration": "none",
        "fabric_health": "healthy",
    }
    assert {field: last[field] for field in expected} == expected
    assert last["nvlinks"][17] == {
        "number": 17,
        "active": True,
        "version": 7,
        "remote_kind": "switch",
        "remote_bus_id": "0000:05:00.0",
        "replay_errors": 0,
        "recovery_errors": 1,
        "crc_flit_errors": 2,
        "crc_data_errors": 3,
        "ecc_data_errors": 4,
        "gaps": {},
    }
    assert len(answers["p2p"]) == 28


def test_an_old_driver_is_asked_by_the_old_names(ask_old: Ask) -> None:
    answers, gap = ask_old(EIGHT_GPUS)
    assert gap is None
    assert answers is not None
    gpu = answers["gpus"][4]
    assert gpu["throttle_reasons"] == 0x44
    assert gpu["near_cpus"] == list(range(56, 112))
    assert gpu["compute_processes"] == [4242, 4243]
    missing = ("mig_mode", "fabric_state", "architecture", "remapped_rows_pending", "near_memory_nodes")
    assert {gpu["gaps"][field] for field in missing} == {"unsupported"}
    assert gpu["nvlinks"][0]["gaps"] == {"remote_kind": "unsupported"}


def test_a_card_for_games_lacks_most_and_says_so(ask: Ask) -> None:
    answers, _ = ask(GEFORCE)
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert (gpu["brand"], gpu["power_limit_milliwatts"], gpu["lost"]) == ("geforce", 450000, False)
    for field in ("ecc_mode", "mig_mode", "nvlinks", "fabric_state", "retired_pages_pending", "recovery_action"):
        assert (gpu[field], gpu["gaps"][field]) == (None, "unsupported"), field


def test_what_a_gpu_does_not_support_is_null_with_its_state(ask: Ask) -> None:
    answers, _ = ask(TWO_GPUS)
    assert answers is not None
    second = answers["gpus"][1]
    assert second["bus_id"] == "10000:af:00.0"
    assert second["ecc_mode"] is None
    assert second["nvlinks_active"] is None
    assert second["gaps"]["ecc_mode"] == second["gaps"]["nvlinks_active"] == "unsupported"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("0.serial ", "serial"),
        ("0.serial N/A", "serial"),
        ("0.memory 0xffffffffffffffff 0", "memory_total_bytes"),
        ("0.pcie_replays 0xffffffff", "pcie_replays"),
        ("0.pcie_width 0", "pcie_width"),
        ("0.brand 99", "brand"),
        ("0.performance_state 32", "performance_state"),
        ("0.value.82 0", "memory_temperature_celsius"),
        ("0.cpus 1 0", "near_cpus"),
    ],
    ids=["empty", "n/a", "no memory size", "no counter", "no lanes", "new number", "no state", "no heat", "no CPU"],
)
def test_what_stands_for_not_known_is_no_value(ask: Ask, line: str, field: str) -> None:
    answers, _ = ask(f"count 1\n{line}\n")
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert (gpu[field], gpu["gaps"][field]) == (None, "unsupported")


def test_text_that_is_none_is_an_error_of_its_field_alone(ask: Ask) -> None:
    answers, _ = ask(b"count 1\n0.name \xff\xfe\n0.persistence 1\n")
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert (gpu["name"], gpu["gaps"]["name"], gpu["persistence_mode"]) == (None, "error", True)


def test_numbers_of_links_may_be_left_out(ask: Ask) -> None:
    answers, _ = ask("count 1\n0.links 6\n0.nvlinks 5\n0.hole 2\n")
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert [(link["number"], link["active"]) for link in gpu["nvlinks"]] == [
        (0, True),
        (1, True),
        (3, True),
        (4, True),
        (5, False),
    ]
    assert gpu["nvlinks_active"] == 4


@pytest.mark.parametrize("newest", [3, 2], ids=["with a summary", "before the summary"])
def test_the_fabric_is_asked_in_the_form_that_the_driver_knows(ask: Ask, newest: int) -> None:
    answers, _ = ask(f"count 1\n0.fabric 3 0 7 0x5a5 2 {newest}\n")
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert (gpu["fabric_state"], gpu["fabric_clique"]) == ("completed", 7)
    assert (gpu["fabric_bandwidth_degraded"], gpu["fabric_route_recovery"]) == (True, True)
    assert (gpu["fabric_route_unhealthy"], gpu["fabric_access_timeout"]) == (False, False)
    assert gpu["fabric_misconfiguration"] == "few nvlinks"
    assert gpu["fabric_health"] == ("unhealthy" if newest == 3 else None)


def test_a_fabric_that_the_gpu_has_not_joined_has_no_status(ask: Ask) -> None:
    answers, _ = ask("count 1\n0.fabric 2 0 0 0 0 3\n")
    assert answers is not None
    (gpu,) = answers["gpus"]
    assert (gpu["fabric_state"], gpu["fabric_status"], gpu["fabric_clique"]) == ("in progress", None, None)
    assert gpu["fabric_cluster_uuid"] is None


def test_pairs_tell_what_they_may_do(ask: Ask) -> None:
    answers, _ = ask(TWO_GPUS)
    assert answers is not None
    assert answers["p2p"] == [
        {"a": 0, "b": 1, "read": 0, "write": 0, "nvlink": 5, "atomics": 0, "common_ancestor": 30, "gaps": {}}
    ]


@pytest.mark.parametrize(
    ("function", "field"),
    [
        ("nvmlDeviceGetHandleByIndex", "name"),
        ("nvmlDeviceGetUUID", "uuid"),
        ("nvmlDeviceGetNvLinkState", "nvlinks"),
        ("all", "ecc_mode"),
    ],
    ids=["at the handle", "at a later question", "at its links", "at every question"],
)
def test_a_lost_gpu_is_told_and_the_others_go_on(ask: Ask, function: str, field: str) -> None:
    answers, gap = ask(f"error.3.{function} 15\n{EIGHT_GPUS}")
    assert gap is None
    assert answers is not None
    assert [gpu["lost"] for gpu in answers["gpus"]] == [index == 3 for index in range(8)]
    assert (answers["gpus"][3][field], answers["gpus"][3]["gaps"][field]) == (None, "error")
    assert answers["gpus"][4]["name"] == "NVIDIA H100 80GB HBM3"
    assert len(answers["gpus"][7]["nvlinks"]) == 18


def test_a_gpu_that_waits_for_its_reset_is_told(ask: Ask) -> None:
    answers, _ = ask(f"error.0.nvmlDeviceGetEccMode 16\n{TWO_GPUS}")
    assert answers is not None
    assert [gpu["reset_required"] for gpu in answers["gpus"]] == [True, False]


@pytest.mark.parametrize(
    ("number", "failure", "state"),
    [
        (9, "no driver", "absent"),
        (12, "no library", "absent"),
        (4, "no permission", "denied"),
        (10, "timed out", "timed out"),
        (18, "version mismatch", "error"),
        (999, "error", "error"),
    ],
)
def test_an_init_that_fails_says_why(ask: Ask, number: int, failure: str, state: str) -> None:
    expected = {"failure": failure, "state": state, "number": number}
    assert ask(f"count 1\nerror.nvmlInitWithFlags {number}\n") == (expected, None)


def test_a_library_that_is_none_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("not a library\n")
    answers, gap = ask_nvml(60.0, {"LD_LIBRARY_PATH": str(tmp_path)})
    assert gap is None
    assert answers == {"failure": "no library", "state": "absent", "number": 12}


def test_a_gpu_that_hangs_keeps_its_own_answers_back_alone(ask: Ask) -> None:
    answers, gap = ask(f"hang.2.nvmlDeviceGetBAR1MemoryInfo 1\n{EIGHT_GPUS}", seconds=10.0)
    assert gap is None
    assert answers is not None
    assert answers["failure"] == "timed out"
    hanging, next_one = answers["gpus"][2:4]
    assert (hanging["name"], hanging["bar1_total_bytes"], hanging["lost"]) == ("NVIDIA H100 80GB HBM3", None, None)
    assert {hanging["gaps"][field] for field in ("bar1_total_bytes", "nvlinks", "lost")} == {"timed out"}
    assert next_one["bar1_total_bytes"] == 137438953472
    assert len(answers["p2p"]) == 21


def test_a_library_that_hangs_ends_with_the_time_limit(ask: Ask) -> None:
    expected = {"failure": "timed out", "state": "timed out"}
    assert ask(f"hang.nvmlInitWithFlags 1\n{TWO_GPUS}", seconds=2.0) == (expected, None)


def test_no_gpus_is_an_answer(ask: Ask) -> None:
    answers, gap = ask("count 0\n")
    assert gap is None
    assert answers is not None
    assert answers["gpus"] == []


@pytest.mark.parametrize("text", ["", "Traceback ...", "[]", '{"state": "?"}', '{"answers": 1}', '{"failure": []}'])
def test_an_answer_that_is_none_is_an_error(text: str) -> None:
    assert parse_answers(text) == (None, "error")


@pytest.mark.parametrize("name", [b"NVIDIA H200", "NVIDIA H200"], ids=["bytes", "text"])
def test_bindings_answer_bytes_or_text(name: bytes | str) -> None:
    assert plain_text(name) == "NVIDIA H200"


def test_addresses_are_written_as_sysfs_does() -> None:
    assert sysfs_address("00010000:AF:00.0") == "10000:af:00.0"
