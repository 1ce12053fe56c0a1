"""NVML asked through the real binding, with a test double in the driver library's place."""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from advisor.host.nvml import ask_nvml, parse_answers

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
0.nvlinks 18
0.numa_node 1
1.name NVIDIA H200
1.bus_id 00010000:AF:00.0
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the test double."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("fake_nvml.c")
    name = "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", f"-Wl,-soname,{name}", "-o", folder / name, source],
        check=True,
    )
    return folder


@pytest.fixture
def ask(library: Path, tmp_path: Path) -> Ask:
    """Asks the double whose state is the given text."""

    def asked(state: str, seconds: float = 20.0) -> tuple[Mapping[str, Any] | None, str | None]:
        path = tmp_path / "state"
        path.write_text(state)
        return ask_nvml(seconds, {"LD_LIBRARY_PATH": str(library), "FAKE_NVML": str(path)})

    return asked


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


def test_an_old_driver_is_asked_by_the_old_name(ask: Ask) -> None:
    answers, _ = ask(TWO_GPUS)
    assert answers is not None
    assert answers["gpus"][0]["throttle_reasons"] == 4


def test_what_a_gpu_does_not_support_is_null_with_its_state(ask: Ask) -> None:
    answers, _ = ask(TWO_GPUS)
    assert answers is not None
    second = answers["gpus"][1]
    assert second["bus_id"] == "10000:af:00.0"
    assert second["ecc_mode"] is None
    assert second["nvlinks_active"] is None
    assert second["gaps"]["ecc_mode"] == second["gaps"]["nvlinks_active"] == "unsupported"


def test_pairs_tell_what_they_may_do(ask: Ask) -> None:
    answers, _ = ask(TWO_GPUS)
    assert answers is not None
    assert answers["p2p"] == [
        {"a": 0, "b": 1, "read": 0, "write": 0, "nvlink": 5, "atomics": 0, "common_ancestor": 30, "gaps": {}}
    ]


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetHandleByIndex", "nvmlDeviceGetUUID"], ids=["at the handle", "at a later question"]
)
def test_a_lost_gpu_is_told_and_the_others_go_on(ask: Ask, function: str) -> None:
    answers, gap = ask(TWO_GPUS + f"error.1.{function} 15\n")
    assert gap is None
    assert answers is not None
    first, second = answers["gpus"]
    assert (first["lost"], second["lost"]) == (False, True)
    assert second["gaps"]["uuid"] == "error"
    assert first["name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("number", "state"),
    [(9, "absent"), (4, "denied"), (10, "timed out"), (18, "error"), (999, "error")],
    ids=["driver not loaded", "no permission", "time-out", "library and driver differ", "unknown"],
)
def test_an_init_that_fails_gives_its_state(ask: Ask, number: int, state: str) -> None:
    assert ask(f"count 1\nerror.nvmlInitWithFlags {number}\n") == (None, state)


def test_a_hanging_call_ends_with_the_time_limit(ask: Ask) -> None:
    assert ask(TWO_GPUS + "hang.nvmlDeviceGetName 1\n", seconds=2.0) == (None, "timed out")


def test_no_gpus_is_an_answer(ask: Ask) -> None:
    answers, gap = ask("count 0\n")
    assert gap is None
    assert answers is not None
    assert answers["gpus"] == []


@pytest.mark.parametrize("text", ["", "Traceback ...", "[]", '{"state": "?"}', '{"answers": 1}'])
def test_an_answer_that_is_none_is_an_error(text: str) -> None:
    assert parse_answers(text) == (None, "error")
