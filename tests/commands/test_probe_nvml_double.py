"""`advisor probe`, whole, on a node whose NVIDIA library is a test double."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.cli import run
from tests.nvml_test_double import EIGHT_GPUS, GEFORCE, build

Probe = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="session")
def test_double(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the test double."""
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def probe(test_double: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Probe:
    """Probes this machine with the test double in the given state; gives facts.json."""

    def probed(state: str) -> dict[str, Any]:
        (tmp_path / "state").write_text(state)
        assert run(["probe", "--quiet", "--out", str(tmp_path / "out")]) == 0
        document: dict[str, Any] = json.loads((tmp_path / "out/facts.json").read_text())
        return document

    monkeypatch.setenv("LD_LIBRARY_PATH", str(test_double))
    monkeypatch.setenv("FAKE_NVML", str(tmp_path / "state"))
    return probed


def gpu_gaps(document: dict[str, Any]) -> dict[str, str]:
    return {path: state for path, state in document["gaps"].items() if path.split("/")[0] == "nvml"}


def test_eight_gpus_of_the_test_double_are_facts(probe: Probe) -> None:
    document = probe(EIGHT_GPUS)
    section = document["facts"]["gpu"]
    assert (section["source"], section["count"], len(section["peers"])) == ("nvml", 8, 28)
    gpu = section["gpus"][3]
    expected = {
        "name": "NVIDIA H100 80GB HBM3",
        "power_enforced_limit_watts": 650.0,
        "power_default_limit_watts": 700.0,
        "graphics_application_clock_mhz": 1755,
        "near_cpus": list(range(56)),
        "nvlinks_active": 18,
        "fabric_state": "completed",
    }
    assert {name: gpu[name] for name in expected} == expected
    assert section["peers"][0]["common_ancestor"] == "SYS"
    assert gpu_gaps(document) == {f"nvml/{index}/numa_node": "unsupported" for index in range(8)}


def test_facts_json_names_no_board_of_the_test_double_and_nothing_that_moves(probe: Probe, tmp_path: Path) -> None:
    probe(EIGHT_GPUS)
    written = (tmp_path / "out/facts.json").read_text()
    for private in ("1111-2222-3333", "165012300456", "abababab"):
        assert private not in written
    gpu = json.loads(written)["facts"]["gpu"]["gpus"][0]
    moving = (
        "temperature_celsius",
        "throttle_names",
        "power_watts",
        "sm_clock_mhz",
        "compute_processes",
        "pcie_replays",
    )
    assert [name for name in moving if name in gpu] == []


def test_split_gpus_of_the_test_double_say_so(probe: Probe) -> None:
    section = probe(f"0.mig 1 1\n1.mig 0 1\n{EIGHT_GPUS}")["facts"]["gpu"]
    assert [(gpu["mig_mode"], gpu["mig_pending_mode"]) for gpu in section["gpus"][:3]] == [
        (True, True),
        (False, True),
        (False, False),
    ]


def test_a_card_for_games_of_the_test_double_has_gaps_not_zeros(probe: Probe) -> None:
    document = probe(GEFORCE)
    (gpu,) = document["facts"]["gpu"]["gpus"]
    assert (gpu["brand"], gpu["persistence_mode"]) == ("geforce", False)
    gaps = gpu_gaps(document)
    for field in ("ecc_mode", "mig_mode", "nvlinks", "fabric_state", "remapped_rows_pending", "near_cpus"):
        assert gpu.get(field) is None
        assert gaps[f"nvml/0/{field}"] == "unsupported"


def test_a_lost_gpu_of_the_test_double_is_a_fact(probe: Probe) -> None:
    section = probe(f"error.5.all 15\n{EIGHT_GPUS}")["facts"]["gpu"]
    assert [gpu["lost"] for gpu in section["gpus"]] == [index == 5 for index in range(8)]
    assert section["gpus"][6]["nvlinks_active"] == 18


@pytest.mark.parametrize(
    ("number", "failure", "gap"),
    [(9, "no driver", "absent"), (18, "version mismatch", "error"), (4, "no permission", "denied")],
)
def test_why_the_test_double_gave_nothing_is_a_fact(probe: Probe, number: int, failure: str, gap: str) -> None:
    document = probe(f"error.nvmlInitWithFlags {number}\n")
    assert document["facts"]["gpu"]["nvml_failure"] == failure
    assert document["facts"]["gpu"]["source"] == "pci"
    assert gpu_gaps(document) == {"nvml": gap}


def test_a_capture_of_the_test_double_gives_the_same_facts(probe: Probe, tmp_path: Path) -> None:
    live = probe(EIGHT_GPUS)["facts"]["gpu"]
    assert run(["capture", "--quiet", str(tmp_path / "node.tar")]) == 0
    assert b"1111-2222-3333" not in (tmp_path / "node.tar").read_bytes()
    assert b"165012300456" not in (tmp_path / "node.tar").read_bytes()
    assert run(["probe", "--quiet", "--root", str(tmp_path / "node.tar"), "--out", str(tmp_path / "again")]) == 0
    assert json.loads((tmp_path / "again/facts.json").read_text())["facts"]["gpu"] == live
