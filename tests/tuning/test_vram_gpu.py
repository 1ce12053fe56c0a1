"""On a real GPU: the peak of an unseen micro-batch is predicted from smaller ones, and what the child tells is true."""

import subprocess
import sys
from pathlib import Path

import pytest

from advisor.model.trial import Config, Trial
from advisor.tuning.trial import TrialRequest, describe_workload, run_trial
from advisor.tuning.vram import learn_peaks

CASES = Path(__file__).resolve().parent / "trained_workloads.py"
pytestmark = pytest.mark.gpu
SEEN, UNSEEN = (64, 128, 256), 1024
"""So large that activations outweigh the workspaces of kernels."""


@pytest.fixture(autouse=True)
def _needs_a_gpu() -> None:
    """Asked in a child: this process never sets CUDA up."""
    asked = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-c", asked], check=False).returncode:
        pytest.skip("needs a GPU")


def ran(case: str, size: int) -> Trial:
    config = Config(batch_size=size)
    request = TrialRequest(config, f"{CASES}:{case}", windows=1, window_seconds=0.2, seconds=120.0)
    return Trial(0, config, run_trial(request))


@pytest.mark.parametrize("case", ["pictures", "sentences_alike"])
def test_the_peak_of_an_unseen_micro_batch_is_predicted(case: str) -> None:
    line = learn_peaks([ran(case, size) for size in SEEN]).line
    assert line is not None
    allocated = ran(case, UNSEEN).measurement.notes["vram_allocated_bytes"]
    assert line.at(UNSEEN) == pytest.approx(allocated, rel=0.05)


def test_the_memory_of_the_device_is_described() -> None:
    told = describe_workload(TrialRequest(Config(batch_size=1), f"{CASES}:pictures"))
    assert told.device_bytes is not None
    assert told.device_free_bytes is not None
    assert 0 < told.device_free_bytes < told.device_bytes


def test_a_trial_tells_what_was_allocated_reserved_and_tried_again() -> None:
    measured = ran("pictures", 16).measurement
    allocated = measured.notes["vram_allocated_bytes"]
    assert measured.outcome == "ok"
    assert isinstance(allocated, int)
    assert measured.peak_vram_bytes is not None
    assert 0 < allocated <= measured.peak_vram_bytes
    assert measured.notes["vram_alloc_retries"] == 0
