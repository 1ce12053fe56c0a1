"""The course of a search on a stream that each worker gives all of."""

from pathlib import Path

from tests.tuning.simulated_machine import Machine, search


def test_workers_that_repeat_each_other_are_not_tried(tmp_path: Path) -> None:
    machine = Machine(cpu=30e-6, blocked=1e-3)
    result, choice, _ = search(machine, tmp_path, repeats=True)
    assert {config.num_workers for config in machine.runs} == {0, 1}
    assert choice.config is not None
    assert choice.config.num_workers <= 1
    workers = next(p for p in result.space.parameters if p.name == "num_workers")
    assert workers.choices == (0, 1)
    assert "each worker of this stream gives every sample" in workers.why
