"""A data set that gives whole batches by itself: ``DataLoader(dataset, batch_size=None)``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.commands import _summary
from advisor.commands._measured import Asked, Described
from advisor.commands._vram import estimate
from advisor.commands._workload import Wanted
from advisor.errors import InputError
from advisor.model.trial import Config, Measurement, Trial
from advisor.tuning.batching import Declared, batching
from advisor.tuning.cost import learn
from advisor.tuning.session import Limits
from advisor.tuning.space import Resources, violations, worker_bound
from tests.commands.simulated_tune import arguments, files, tuned

BATCHED = Declared(batched=True, accumulation=3, has_step=True)


def test_workers_and_prefetching_alone_are_searched(tmp_path: Path) -> None:
    record = tuned(tmp_path, replace(BATCHED, has_step=False), ranks=2)
    trials = [*record.trials, *record.parts]
    assert len({trial.config.num_workers for trial in trials}) > 2
    assert {(trial.config.batch_size, trial.config.accumulation) for trial in trials} == {(None, 3)}
    assert record.choice.changes
    assert record.global_batch is None


def test_the_files_hold_what_dataloader_takes(tmp_path: Path) -> None:
    from torch.utils.data import DataLoader

    record = tuned(tmp_path, BATCHED)
    names = arguments(record)
    assert names["ACCUMULATION"] == 3
    loader = DataLoader([[1, 2], [3, 4]], **{**names["DATALOADER"], "num_workers": 0, "prefetch_factor": None,
                                             "persistent_workers": False})  # fmt: skip
    assert list(loader) == [[1, 2], [3, 4]]
    document = json.loads(files(record)["job/dataloader.json"])
    assert document["batch_size"] is None
    assert "assumed" not in document
    reason = "# batch_size:\n# measured trial: as the workload tells: the data set gives whole batches by itself ("
    assert reason in files(record)["job/dataloader.py"]


def test_the_terminal_speaks_of_no_global_batch(tmp_path: Path) -> None:
    text = _summary.text(tuned(tmp_path, BATCHED), None, None)
    assert "Batch     the data set gives whole batches by itself, ranks 1\n" in text
    assert "global batch" not in text


def test_a_global_batch_is_refused() -> None:
    with pytest.raises(InputError, match=r"--global-batch 64: .*batched=True.*; leave --global-batch out"):
        batching(BATCHED, 1, 64)


def trial(samples: int, steps: int, batch: int | None = None) -> Trial:
    notes: dict[str, float | int | str] = {"samples": samples, "steps": steps, "cpu_seconds_per_sample": 1e-3}
    notes["blocked_seconds_per_sample"] = 1e-3
    measured = Measurement("ok", samples_per_second=(100.0,), batch_bytes=16_000, notes=notes)
    return Trial(0, Config(1, 2, batch), measured)


def test_what_a_batch_takes_is_that_of_the_samples_that_were_counted_in_it() -> None:
    cost = learn([trial(160, 10)])
    assert (cost.samples_per_batch, cost.batch_bytes_per_sample) == (16, 1000.0)
    excess = violations(Config(1, 2), Resources(shm_bytes=100_000), cost)["shared memory"]
    assert excess == 4 * 16_000 - 0.8 * 100_000
    assert worker_bound(Resources(cpus=64.0, shm_bytes=100_000), cost, 1)[0] == 3
    assert learn([trial(160, 10, 16)]).samples_per_batch is None


def test_what_its_step_takes_of_an_accelerator_is_not_estimated() -> None:
    described = Described("x.py:f", BATCHED, 0, {})
    found = estimate(Wanted("x.py:f", None, "python3", None, 60.0), described, Asked(1, None, Limits()), 80 << 30)
    assert found is not None
    assert (found.basis, found.left_out) == ("unknown", ())
    assert "the data set gives whole batches by itself" in found.says
