"""Memory errors are what a driver counts; without one nothing is known."""

from pathlib import Path

from advisor.model.facts import evidence_path
from advisor.probes.edac import ORIGIN, read
from tests.trees import write_capture, write_tree


def controller(number: int, **files: str) -> dict[str, str]:
    """The files of one controller."""
    return {f"{ORIGIN}/mc{number}/{name}": f"{text}\n" for name, text in files.items()}


def module(controller: int, name: str, **files: str) -> dict[str, str]:
    """The files of one module."""
    return {f"{ORIGIN}/mc{controller}/{name}/{file}": f"{text}\n" for file, text in files.items()}


def test_errors_of_controllers_and_their_modules(tmp_path: Path) -> None:
    files = controller(0, mc_name="Skylake Socket#0 IMC#0", size_mb="65536", ce_count="3", ue_count="0")
    files |= controller(1, mc_name="Skylake Socket#0 IMC#1", size_mb="65536", ce_count="4", ue_count="1")
    files |= module(0, "dimm0", dimm_label="CPU_SrcID#0_MC#0", size="32768", dimm_ce_count="3", dimm_ue_count="0")
    files |= module(1, "rank12", dimm_label="A1", dimm_mem_type="Registered-DDR4", dimm_ce_count="4")
    edac = read(write_tree(tmp_path, files))
    assert (edac.corrected, edac.uncorrected) == (7, 1)
    first, second = edac.controllers or ()
    assert (first.name, first.size_bytes, first.corrected) == ("Skylake Socket#0 IMC#0", 64 << 30, 3)
    assert [(m.name, m.label, m.size_bytes, m.corrected) for m in first.modules or ()] == [
        ("dimm0", "CPU_SrcID#0_MC#0", 32 << 30, 3)
    ]
    assert [(m.name, m.kind, m.uncorrected) for m in second.modules or ()] == [("rank12", "Registered-DDR4", None)]


def test_no_driver_is_not_no_errors(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/sys/devices/system/cpu/online": "0\n"})
    edac = read(host)
    assert (edac.controllers, edac.corrected, edac.uncorrected) == (None, None, None)
    assert host.gaps[ORIGIN] == "absent"


def test_a_folder_without_controllers_is_not_no_errors(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {f"{ORIGIN}/power/control": "auto\n"})
    edac = read(host)
    assert (edac.controllers, edac.corrected, edac.uncorrected) == ((), None, None)
    assert host.gaps[evidence_path(edac, "corrected")] == "absent"


def test_a_count_of_nonsense_makes_no_sum(tmp_path: Path) -> None:
    host = write_tree(tmp_path, controller(0, ce_count="1", ue_count="0") | controller(1, ce_count="?", ue_count="0"))
    edac = read(host)
    assert (edac.corrected, edac.uncorrected) == (None, 0)
    assert host.gaps[f"{ORIGIN}/mc1/ce_count"] == "unsupported"
