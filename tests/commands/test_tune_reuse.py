"""What an earlier measurement must rest on to be used again, as the interpreter that trains tells it."""

from pathlib import Path

import pytest

from advisor.commands._workload import Wanted, describe, wanted

TRAIN = """\
import os
from helpers import COST
from advisor import Workload


def factory():
    workers = os.environ.get("JOB_WORKERS")
    return Workload([COST] * 100, batch_size=4, num_workers=int(workers) if workers else None)
"""


def job(folder: Path) -> Wanted:
    return wanted(f"{folder}/train.py:factory", None, None, None, 20.0, folder)


def test_what_the_factory_imports_and_what_it_declares_are_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "helpers.py").write_text("COST = 1\n")
    first = describe(job(tmp_path)).parts
    assert describe(job(tmp_path)).parts == first
    assert first["declared_batch_size"] == 4
    assert "declared_num_workers" not in first

    monkeypatch.setenv("JOB_WORKERS", "3")
    declared = describe(job(tmp_path)).parts
    assert declared == {**first, "declared_num_workers": 3}

    (tmp_path / "helpers.py").write_text("COST = 25\n")
    changed = describe(job(tmp_path)).parts
    assert {name for name in changed if changed[name] != declared[name]} == {"code"}
