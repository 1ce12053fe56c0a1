"""What an earlier measurement must rest on to be used again, and when its search is gone on with."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.commands._measured import Asked, Described, basis, earlier, measure, validity
from advisor.commands._workload import Wanted, describe, wanted
from advisor.errors import SourceError
from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.batching import Declared, batching
from advisor.tuning.choice import round_of
from advisor.tuning.record import Record, parse_record, record_text
from advisor.tuning.search import RESUMED
from advisor.tuning.session import BUDGET_USED, Limits
from advisor.tuning.space import Resources

DESCRIBED = Described("made/up.py:factory", Declared(batch_size=32), 0, {"dataset": "abc", "torch": "2.13.0"})
PARTS = validity(DESCRIBED, batching(DESCRIBED.declared, 1, None), {})
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


def searched(folder: Path, budget: float, begun: Record | None = None, stream: io.StringIO | None = None) -> Record:
    """A search, of which each trial tells that it took 4 s."""

    def slow(config: Config, part: Part = "loop", windows: int = 3) -> Measurement:
        rates = tuple(max(config.num_workers, 1) * 490.0 + n for n in range(windows))
        notes = {"cpu_seconds_per_sample": 30e-6, "blocked_seconds_per_sample": 2e-3, "trial_seconds": 4.0}
        return Measurement("ok", samples_per_second=rates, notes=notes)

    asked = Asked(ranks=1, global_batch=None, limits=Limits(budget_seconds=budget))
    stream = stream or io.StringIO()
    record, ended = measure(DESCRIBED, asked, PARTS, Resources(cpus=2.0), folder / "studies", slow, stream, begun=begun)
    ended()
    return record


def kept(folder: Path, record: Record) -> Path:
    (folder / "tuning.json").write_text(record_text(record))
    return folder


@pytest.mark.parametrize("stopped", [BUDGET_USED, RESUMED])
def test_a_search_that_its_budget_ended_is_gone_on_from_with_a_larger_one(tmp_path: Path, stopped: str) -> None:
    record = replace(searched(tmp_path, 60.0), stopped=stopped)
    found = earlier(kept(tmp_path, record), PARTS, 300.0)
    assert (found.record, found.begun) == (None, record)
    assert "was cut short by its budget (1 min 0 s); going on from its trials" in str(found.note)

    stream = io.StringIO()
    again = searched(tmp_path, 300.0, found.begun, stream)
    before = [t for t in sorted((*record.trials, *record.parts), key=lambda t: t.number) if round_of(t) is None]
    now = sorted((*again.trials, *again.parts), key=lambda t: t.number)
    assert [(t.config, t.measurement) for t in now[: len(before)]] == [(t.config, t.measurement) for t in before]
    assert stream.getvalue().count("kept from an earlier run") == len(before)
    assert min(n for t in again.trials if (n := round_of(t)) is not None) == 1  # they are compared anew
    assert again.budget_seconds == 300.0


@pytest.mark.parametrize(
    ("stopped", "budget", "said"),
    [
        pytest.param(BUDGET_USED, 60.0, "by its budget (1 min 0 s), and a larger --budget goes on", id="same-budget"),
        pytest.param(BUDGET_USED, 30.0, "by its budget (1 min 0 s), and a larger --budget goes on", id="smaller"),
        pytest.param("no point left promised more", 300.0, "is used again; --fresh measures again", id="complete"),
        pytest.param("no more than 3 trials may be run (--max-trials)", 300.0, "its search: no more", id="trials"),
    ],
)
def test_a_record_that_is_used_again_says_what_ended_its_search(
    tmp_path: Path, stopped: str, budget: float, said: str
) -> None:
    record = replace(searched(tmp_path, 60.0), stopped=stopped)
    found = earlier(kept(tmp_path, record), PARTS, budget)
    assert (found.record, found.begun) == (record, None)
    assert said in str(found.note)


def test_a_record_of_before_budgets_were_kept_is_used_again_and_says_what_ended_it(tmp_path: Path) -> None:
    document = json.loads(record_text(replace(searched(tmp_path, 60.0), stopped=BUDGET_USED)))
    del document["budget_seconds"]
    (tmp_path / "tuning.json").write_text(json.dumps(document))
    found = earlier(tmp_path, PARTS, 300.0)
    assert found.record is not None
    assert f"what ended its search: {BUDGET_USED}; --fresh measures again" in str(found.note)


@pytest.mark.parametrize("budget", [0, -1, "NaN", "Infinity"])
def test_a_budget_that_is_none_is_not_believed(tmp_path: Path, budget: object) -> None:
    text = record_text(searched(tmp_path, 60.0)).replace('"budget_seconds": 60.0', f'"budget_seconds": {budget}')
    with pytest.raises(SourceError, match="budget_seconds"):
        parse_record(text, "tuning.json")


def test_a_workload_whose_name_is_no_text_can_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"no text \xff")
    folder.mkdir()
    (folder / "train.py").write_text("def factory(): return [1] * 100\n")
    found = describe(job(folder))
    record = replace(searched(tmp_path, 60.0), basis=basis(found, 1), validity=found.parts)
    assert "no text \\\\udcff/train.py:factory" in record_text(record)
