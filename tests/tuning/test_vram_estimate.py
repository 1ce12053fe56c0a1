"""What a step would take of an accelerator, estimated where there is none; each workload is in trained_workloads.py."""

from pathlib import Path
from typing import Any

import pytest

from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.tuning.trial import TrialRequest, estimate_peaks
from advisor.tuning.vram import fit
from advisor.workloads._estimate import estimated
from advisor.workloads._load import load

CASES = Path(__file__).resolve().parent / "trained_workloads.py"
MIB = 1 << 20
PARAMETERS = 16 * (256 * 256 + 256) + 256 * 10 + 10
"""Of the network of the vectors."""


def peaks_of(case: str, *sizes: int, accumulation: int = 1) -> dict[int, int]:
    """In this process; the optimizer's step covers ``accumulation`` of the largest micro-batch."""
    name = f"{CASES}:{case}"
    config = {"batch_size": max(sizes), "accumulation": accumulation}
    request: dict[str, Any] = {"workload": name, "data": None, "sizes": sizes, "config": config}
    told = estimated(load(name, None).workload, request)["peaks"]
    return {int(size): peak for size, peak in told.items()}


def test_parameters_gradients_and_the_state_of_adam_are_all_there() -> None:
    """Four bytes each for weight and gradient, eight for Adam; activations of two samples are nothing beside them."""
    assert peaks_of("one_by_one", 2)[2] == pytest.approx(16 * PARAMETERS, rel=0.1)


def test_an_update_of_all_parameters_at_once_takes_as_much_again() -> None:
    assert peaks_of("made_at_once", 2)[2] == pytest.approx(20 * PARAMETERS, rel=0.1)


@pytest.mark.parametrize("case", ["made_in_the_step", "reads_its_loss", "all_in_memory"])
def test_a_model_made_late_a_loss_that_is_read_and_a_data_set_in_memory_change_nothing(case: str) -> None:
    assert peaks_of(case, 2, 4096) == pytest.approx(peaks_of("made_at_once", 2, 4096), rel=0.02)


def test_the_peak_is_flat_first_and_then_grows_with_each_sample() -> None:
    """Each of 16 layers keeps what its activation gives, 1 KiB of a sample; the batch is there, and two are at work."""
    found = peaks_of("made_at_once", 2, 1024, 2048, 4096, accumulation=2)
    line = fit({size: float(peak) for size, peak in found.items()})
    assert line is not None
    assert line.sure
    assert line.per_sample == pytest.approx(19 * 1024, rel=0.05)
    assert line.start == pytest.approx(16 * PARAMETERS, rel=0.1)
    assert line.flat == pytest.approx(20 * PARAMETERS, rel=0.1)


@pytest.mark.parametrize("case", ["pictures", "sentences"])
def test_convolutions_and_layers_that_are_copied_can_be_estimated(case: str) -> None:
    line = fit({size: float(peak) for size, peak in peaks_of(case, 8, 16, 32, 64).items()})
    assert line is not None
    assert line.sure
    assert line.per_sample > 0.5 * MIB


def test_the_longest_sample_that_was_seen_stands_for_all() -> None:
    longest = peaks_of("sentences", 64)[64]
    activations_of_a_sample = 64 * 128 * 4 * 4
    assert longest > 64 * 10 * activations_of_a_sample


def test_gradients_stay_while_micro_batches_are_accumulated() -> None:
    once, accumulated = (peaks_of("one_by_one", 16384, accumulation=times)[16384] for times in (1, 4))
    assert accumulated - once == pytest.approx(4 * PARAMETERS, rel=0.2)


def test_a_decision_on_data_that_are_not_there_cannot_be_estimated() -> None:
    with pytest.raises(WorkloadError, match="cannot be run without data: it needs the value of a tensor"):
        peaks_of("decides_by_its_loss", 2)


def test_a_precision_that_only_an_accelerator_has_is_not_guessed() -> None:
    with pytest.raises(WorkloadError, match="autocast for an accelerator is turned off here"):
        peaks_of("in_half_precision", 2)


def test_without_a_step_there_is_nothing_to_estimate() -> None:
    with pytest.raises(WorkloadError, match="has no step"):
        peaks_of("without_a_step", 2)


def request(case: str) -> TrialRequest:
    sizes = (1, 2, 4, 8, 16, 32)
    return TrialRequest(Config(batch_size=16, accumulation=2), f"{CASES}:{case}", sizes=sizes, seconds=60.0)


def test_a_child_tells_some_sizes_from_the_least_to_the_largest() -> None:
    found = estimate_peaks(request("made_in_the_step"))
    assert sorted(found) == [1, 2, 8, 32]
    assert all(peak > 16 * PARAMETERS for peak in found.values())


def test_a_child_tells_in_one_sentence_why_it_cannot() -> None:
    with pytest.raises(WorkloadError, match=rf"\({CASES}:\d+\)$") as told:
        estimate_peaks(request("decides_by_its_loss"))
    assert "\n" not in str(told.value)


def test_an_accelerator_that_is_asked_for_by_name_ends_the_child_alone() -> None:
    """Tensors without data may well lie on one that is not here; what PyTorch then aborts is not this process."""
    if _has_gpu():
        pytest.skip("a GPU is here")
    with pytest.raises(WorkloadError) as told:
        estimate_peaks(request("on_a_gpu_by_name"))
    assert str(told.value)
    assert "\n" not in str(told.value)


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def test_a_factory_that_changes_the_folder_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"import os, sys\nsys.path.insert(0, {str(CASES.parent)!r})\nfrom trained_workloads import one_by_one\n"
    (tmp_path / "moves.py").write_text(f"{text}\ndef factory():\n    os.chdir('/')\n    return one_by_one()\n")
    monkeypatch.chdir(tmp_path)
    request = TrialRequest(Config(batch_size=4), "moves.py:factory", sizes=(4,), seconds=120.0)
    assert set(estimate_peaks(request)) == {4}
