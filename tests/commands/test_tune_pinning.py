"""``pin_memory`` is searched and written where there is an accelerator, and left as the job has it elsewhere."""

from pathlib import Path

import pytest

from advisor.commands import _summary
from advisor.tuning.batching import Declared
from tests.commands.simulated_tune import arguments, files, tuned

NO_GPU = "PyTorch pins no memory where it finds no accelerator, so it was not searched"


@pytest.mark.parametrize("pinned", [True, False])
def test_without_an_accelerator_what_the_job_has_stays(tmp_path: Path, pinned: bool) -> None:
    record = tuned(tmp_path, Declared(batch_size=16, pin_memory=pinned))
    assert record.choice.changes
    assert arguments(record)["DATALOADER"]["pin_memory"] is pinned
    script, text = files(record)["job/dataloader.py"], _summary.text(record, None, None)
    assert f"# pin_memory:\n# measured trial: as the workload tells; {NO_GPU} (" in script
    assert f"Note      pin_memory stays {pinned}, as the workload tells: {NO_GPU}\n" in text


def test_no_configuration_is_measured_twice_for_what_has_no_effect(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(batch_size=16, pin_memory=True))
    assert {trial.config.pin_memory for trial in (*record.trials, *record.parts)} == {True}


def test_without_an_accelerator_none_is_written_that_nobody_told(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(batch_size=16))
    assert "pin_memory" not in "".join(files(record).values())
    text = _summary.text(record, None, None)
    assert f"Note      pin_memory is not written, as the workload tells none: {NO_GPU}\n" in text


def test_with_an_accelerator_it_is_searched_as_a_rule(tmp_path: Path) -> None:
    record = tuned(tmp_path, Declared(batch_size=16), gpus=("Example 9000",))
    assert arguments(record)["DATALOADER"]["pin_memory"] is True
    assert "pins no memory" not in _summary.text(record, None, None) + "".join(files(record).values())


def test_pytorchs_warning_of_it_is_not_told_beside_ours(tmp_path: Path) -> None:
    warned = "UserWarning: 'pin_memory' argument is set as true but no accelerator is found, then device pinned"
    record = tuned(tmp_path, Declared(batch_size=16, pin_memory=True), warnings=(warned, "UserWarning: another"))
    assert [note for note in record.notes if "UserWarning" in note] == ["UserWarning: another"]
