"""``advisor tune --vram``: the memory of an accelerator that is not here, and of one that is."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest

from advisor.cli import run
from advisor.commands._measured import Asked, Described, resources
from advisor.commands._options import Size
from advisor.commands._vram import estimate, room_for_a_step
from advisor.commands._workload import Wanted, described
from advisor.derived.budget import Budget
from advisor.errors import WorkloadError
from advisor.tuning.batching import Declared
from advisor.tuning.session import Limits
from advisor.tuning.trial import TrialRequest, WorkloadDescription

CASES = Path(__file__).resolve().parents[1] / "tuning/trained_workloads.py"
GIB = 1 << 30
NO_GPU = Described("x.py:f", Declared(batch_size=8, global_batch=64, has_step=True), 0, {})
ONE_GPU = replace(NO_GPU, accelerators=1, vram_bytes=80 * GIB, vram_taken_bytes=2 * GIB)
JOB = Wanted("x.py:f", None, "/usr/bin/python3", None, 60.0)
ASKED = Asked(1, None, Limits())


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80GiB", 80 * GIB),
        ("80 GiB", 80 * GIB),
        ("1.5gib", 3 * GIB // 2),
        ("512MiB", GIB // 2),
        ("80GB", 80 * 10**9),
        ("1TiB", 1024 * GIB),
    ],
)
def test_an_amount_of_memory_has_a_unit(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize(
    "text", ["", "80", "80G", "0GiB", "-1GiB", "80 KiB", "nan", "80GiBs", "٨GiB", "8GiB\n", "1e9GiB"]
)
def test_what_is_no_amount_of_memory_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not an amount of memory; give 80GiB"):
        Size().convert(text, None, None)


@pytest.mark.parametrize(
    ("described", "told", "ranks", "room"),
    [
        pytest.param(NO_GPU, 80 * GIB, 1, None, id="none here"),
        pytest.param(ONE_GPU, None, 1, 70 * GIB, id="one here"),
        pytest.param(ONE_GPU, 40 * GIB, 1, 34 * GIB, id="a smaller one counts"),
        pytest.param(ONE_GPU, 800 * GIB, 1, 70 * GIB, id="a larger one does not"),
        pytest.param(ONE_GPU, None, 2, 35 * GIB, id="shared by two ranks"),
        pytest.param(replace(ONE_GPU, vram_bytes=None, vram_taken_bytes=None), None, 1, None, id="not told"),
        pytest.param(
            replace(ONE_GPU, vram_bytes=None, vram_taken_bytes=None), 20 * GIB, 1, 17 * GIB, id="told by hand"
        ),
    ],
)
def test_what_a_step_may_take(described: Described, told: int | None, ranks: int, room: int | None) -> None:
    assert room_for_a_step(described, told, ranks) == room
    assert resources(Budget(), None, room).vram_bytes == resources(None, None, room).vram_bytes == room


def answer(per_sample: int) -> Callable[[TrialRequest], dict[int, int]]:
    return lambda request: {size: size * per_sample for size in request.sizes}


def test_what_is_estimated_not_to_fit_is_left_out() -> None:
    told = estimate(JOB, NO_GPU, ASKED, 2 * GIB, answer(GIB // 32))
    assert told is not None
    assert told.basis == "estimated"
    assert told.limit_bytes == int(1.8 * GIB) - GIB
    assert told.left_out == (32, 64)


def test_an_estimate_says_that_it_is_not_of_autocast() -> None:
    told = estimate(JOB, NO_GPU, replace(ASKED, amp="bfloat16"), 2 * GIB, answer(GIB // 32))
    plain = estimate(JOB, NO_GPU, ASKED, 2 * GIB, answer(GIB // 32))
    assert told is not None
    assert plain is not None
    assert told.says == f"{plain.says}; that is the job's own step: in the autocast of --amp it takes another amount"


@pytest.mark.parametrize("has_step", [True, False])
def test_what_cannot_be_estimated_is_said_in_one_sentence(has_step: bool) -> None:
    def refuse(request: TrialRequest) -> dict[int, int]:
        raise WorkloadError("its step cannot be run without data")

    job = replace(NO_GPU, declared=replace(NO_GPU.declared, has_step=has_step))
    told = estimate(JOB, job, ASKED, 2 * GIB, refuse)
    assert told is not None
    assert (told.basis, told.left_out) == ("unknown", ())
    why = "its step cannot be run without data" if has_step else "the workload has no step"
    assert told.says == f"not estimated, so no micro-batch was left out for it: {why}"


@pytest.mark.parametrize(
    ("described", "told", "limits"),
    [(NO_GPU, None, Limits()), (ONE_GPU, GIB, Limits()), (NO_GPU, GIB, Limits(diagnose_only=True))],
    ids=["not asked for", "measured here", "nothing is searched"],
)
def test_nothing_is_estimated_without_need(described: Described, told: int | None, limits: Limits) -> None:
    def never(request: TrialRequest) -> dict[int, int]:
        raise AssertionError

    assert estimate(JOB, described, replace(ASKED, limits=limits), told, never) is None


DESCRIPTION = WorkloadDescription(
    *("x.py:f", True, False, 100, "data", "code", 8, 0, None, None, None, None, None, "fork", "3.12.1", "2.13.0"),
    devices=("NVIDIA H100",),
    device="cuda",
    device_bytes=80 * GIB,
    device_free_bytes=78 * GIB,
)


def test_the_memory_of_the_device_is_part_of_the_key_once_it_is_known() -> None:
    told = described(DESCRIPTION)
    assert told.parts["vram_total_bytes"] == 80 * GIB
    assert (told.vram_bytes, told.vram_taken_bytes) == (80 * GIB, 2 * GIB)
    unknown = described(replace(DESCRIPTION, devices=(), device="cpu", device_bytes=None, device_free_bytes=None))
    assert "vram_total_bytes" not in unknown.parts
    assert unknown.vram_taken_bytes is None


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tuned(out: Path, case: str, *options: str) -> int:
    short = ("--budget", "60s", "--max-trials", "2", "--allow-busy", "--ranks", "1")
    return run(["tune", "--workload", f"{CASES}:{case}", "--out", str(out), *short, *options])


def test_the_estimate_is_in_the_record_the_report_and_the_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sample takes some MiB, so that of up to 2048 in a micro-batch few hundred fit into 2 GiB."""
    out = tmp_path / "OUT"
    assert tuned(out, "wide", "--vram", "2GiB") == 0
    said = capsys.readouterr().out
    record = json.loads((out / "tuning.json").read_text())
    assert record["vram"]["basis"] == "estimated"
    assert record["validity"]["vram_bytes"] == 2 * GIB
    assert {1024, 2048} <= set(record["vram"]["left_out"])
    assert {2, 64}.isdisjoint(record["vram"]["left_out"])
    tried = {t["config"]["batch_size"] for t in [*record["trials"], *record["parts"]]}
    assert tried.isdisjoint(record["vram"]["left_out"])
    sizes = next(p["choices"] for p in record["space"] if p["name"] == "batch_size")
    assert set(sizes).isdisjoint(record["vram"]["left_out"])
    assert "an estimate of the step as it runs here: within 10 % in PyTorch's own tests" in said
    assert "Accelerator memory, estimated: a step takes" in (out / "report.md").read_text()


def test_bad_sizes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tuned(tmp_path / "OUT", "wide", "--vram", "80") == 2
    text = capsys.readouterr()
    assert "'80' is not an amount of memory; give 80GiB, 512MiB or 80GB" in text.err
    assert "Traceback" not in text.err
    assert not (tmp_path / "OUT").exists()
