"""The study file: what survives an interrupt, a kill and damage."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from advisor.errors import BusyError, InputError
from advisor.model.trial import Config, Measurement, Outcome, Parameter, Space, Trial
from advisor.tuning.study import open_study

CONFIG = Config(2, 2, 32, 1, persistent_workers=True)
GOOD = Measurement("ok", samples_per_second=(10.0, 11.0), notes={"cpu_seconds_per_sample": 0.5, "kind": "x"})
SPACE = Space((Parameter("num_workers", (0, 1, 2, 3), ""), Parameter("prefetch_factor", (1, 2, 4, 8), "")))


def keep_one(folder: Path, measurement: Measurement = GOOD, config: Config = CONFIG, key: str = "k") -> Trial:
    with open_study(folder, key, (16, 32)) as study:
        trial = Trial(study.begin(config, "baseline"), config, measurement, "baseline")
        study.finish(trial, 2.5, {"memory": -1.0})
    return trial


def states(folder: Path, key: str = "k") -> list[str]:
    from optuna import load_study
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    store = JournalStorage(JournalFileBackend(str(folder / f"{key}.journal")))
    return [t.state.name for t in load_study(study_name=f"advisor-{key}", storage=store).trials]


def test_a_trial_comes_back_as_it_was(tmp_path: Path) -> None:
    trial = keep_one(tmp_path)
    with open_study(tmp_path, "k", (16, 32)) as study:
        (kept,) = study.kept()
    assert kept.trial == trial
    assert kept.seconds == 2.5


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("ok", "COMPLETE"),
        ("out-of-memory", "PRUNED"),
        ("no-space-in-shm", "PRUNED"),
        ("timed-out", "FAIL"),
        ("user-error", "FAIL"),
        ("killed", "FAIL"),
    ],
)
def test_every_outcome_is_told(tmp_path: Path, outcome: Outcome, state: str) -> None:
    measurement = GOOD if outcome == "ok" else Measurement(outcome, message="why")
    trial = keep_one(tmp_path, measurement)
    assert states(tmp_path) == [state]
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert [k.trial for k in study.kept()] == [trial]


def test_an_interrupted_trial_is_failed_and_forgotten(tmp_path: Path) -> None:
    def interrupted() -> None:
        with open_study(tmp_path, "k", (16, 32)) as study:
            study.begin(CONFIG, "baseline")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert states(tmp_path) == ["FAIL"]
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert study.kept() == ()


def test_what_a_killed_run_left_running_is_failed(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom advisor.model.trial import Config\n"
        "from advisor.tuning.study import open_study\n"
        "with open_study(Path(sys.argv[1]), 'k', (32,)) as study:\n"
        "    study.begin(Config(0, None, 32), 'baseline')\n    study._study.enqueue_trial({'num_workers': 1})\n"
        "    os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert states(tmp_path) == ["RUNNING", "WAITING"]
    with open_study(tmp_path, "k", (32,)) as study:
        assert study.kept() == ()
    assert states(tmp_path) == ["FAIL", "FAIL"]


def test_proposals_stay_in_the_space(tmp_path: Path) -> None:
    with open_study(tmp_path, "k", (16, 32)) as study:
        asked = [study.suggest(SPACE) for _ in range(20)]
    assert all(0 <= a.num_workers <= 3 for a in asked)
    assert all((a.prefetch_factor is None) == (a.num_workers == 0) for a in asked)
    assert {a.batch_size for a in asked} == {16, 32}
    assert {a.prefetch_factor for a in asked} <= {None, 1, 2, 4, 8}


def test_a_baseline_beyond_the_space_is_measured_as_it_is(tmp_path: Path) -> None:
    config = Config(24, 3, 32)
    assert keep_one(tmp_path, config=config).config == config
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert study.kept()[0].trial.config == config


def test_another_key_is_another_study(tmp_path: Path) -> None:
    keep_one(tmp_path)
    with open_study(tmp_path, "other", (16, 32)) as study:
        assert study.kept() == ()


@pytest.mark.parametrize("how", ["fresh", "complete"])
def test_a_finished_or_unwanted_study_starts_anew(tmp_path: Path, how: str) -> None:
    keep_one(tmp_path)
    if how == "complete":
        with open_study(tmp_path, "k", (16, 32)) as study:
            study.close()
    with open_study(tmp_path, "k", (16, 32), fresh=how == "fresh") as study:
        assert study.kept() == ()


def test_what_was_begun_afresh_is_resumed_by_the_same_command(tmp_path: Path) -> None:
    with open_study(tmp_path, "k", (16, 32), fresh=True) as study:
        trial = Trial(study.begin(CONFIG, "baseline"), CONFIG, GOOD, "baseline")
        study.finish(trial, 1.0, {})
    with open_study(tmp_path, "k", (16, 32), fresh=True) as study:
        assert [k.trial for k in study.kept()] == [trial]


def test_what_was_asked_for_afresh_and_done_is_measured_anew_when_asked_again(tmp_path: Path) -> None:
    with open_study(tmp_path, "k", (16, 32), fresh=True) as study:
        trial = Trial(study.begin(CONFIG, "baseline"), CONFIG, GOOD, "baseline")
        study.finish(trial, 1.0, {})
        study.settle()
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert [k.trial for k in study.kept()] == [trial]
    with open_study(tmp_path, "k", (16, 32), fresh=True) as study:
        assert study.kept() == ()


def test_a_micro_batch_that_is_no_longer_tried_can_still_be_compared(tmp_path: Path) -> None:
    """A first run could not estimate what it takes; the one that resumes its comparison leaves it out."""
    assert keep_one(tmp_path, config=Config(2, 2, 64)).config.batch_size == 64
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert study.kept()[0].trial.config == Config(2, 2, 64)


def test_half_a_line_at_the_end_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    trial = keep_one(tmp_path)
    journal = tmp_path / "k.journal"
    with journal.open("ab") as stream:
        stream.write(b'{"op_code": 4, "worker')
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert [k.trial for k in study.kept()] == [trial]
        assert study.notes == (f"the study {journal} ended in half a line, which was dropped",)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(b"not json\n", id="text"),
        pytest.param(b"\x00\xff\xfe\n", id="bytes"),
        pytest.param(b"[1, 2]\n", id="other-json"),
        pytest.param(b"{}\n", id="no-operation"),
        pytest.param(b'{"op_code": 99}\n', id="unknown-operation"),
        pytest.param(b'{"op_code": 4, "trial_id": 77, "worker_id": "x"}\n', id="operation-on-nothing"),
        pytest.param(b"[" * 100_000 + b"\n", id="nested-too-deep"),
    ],
)
def test_a_damaged_journal_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "k.journal").write_bytes(damage)
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert study.kept() == ()
        assert len(study.notes) == 1
        assert "set aside as k.journal.damaged-1" in study.notes[0]
    assert (tmp_path / "k.journal.damaged-1").read_bytes() == damage


def test_a_record_that_is_not_ours_is_left_out(tmp_path: Path) -> None:
    keep_one(tmp_path)
    journal = tmp_path / "k.journal"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        if "record" in line.get("user_attr", {}):
            line["user_attr"]["record"] = '{"trial": 1}'
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_study(tmp_path, "k", (16, 32)) as study:
        assert study.kept() == ()


def test_a_lock_left_by_a_killed_run_does_not_stop_the_next(tmp_path: Path) -> None:
    keep_one(tmp_path)
    os.symlink(tmp_path / "k.journal", tmp_path / "k.journal.lock")
    assert len(keep_one(tmp_path).measurement.samples_per_second) == 2


def test_two_searches_at_once_are_refused(tmp_path: Path) -> None:
    with (
        open_study(tmp_path, "k", (32,)),
        pytest.raises(BusyError, match="another advisor tune"),
        open_study(tmp_path, "other", (32,)),
    ):
        pass


@pytest.mark.parametrize(
    "storage", ["nonsense://x", "postgresql://nobody@localhost:1/none", "sqlite:////proc/none/x.db"]
)
def test_a_storage_that_cannot_be_used_is_one_sentence(tmp_path: Path, storage: str) -> None:
    with (
        pytest.raises(InputError, match=r"--storage .* cannot be used") as caught,
        open_study(tmp_path, "k", (32,), storage),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("storage", ["", "/", "/tmp/.."])
def test_a_storage_that_is_a_folder_is_one_sentence(tmp_path: Path, storage: str) -> None:
    with pytest.raises(InputError, match="is not a regular file"), open_study(tmp_path, "k", (32,), storage):
        pass


def test_a_folder_that_cannot_be_made_is_one_sentence() -> None:
    with pytest.raises(InputError, match="cannot keep the study"), open_study(Path("/proc/none"), "k", (32,)):
        pass


def test_a_database_keeps_a_study_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studies.db"
    with open_study(tmp_path, "k", (16, 32), url) as study:
        trial = Trial(study.begin(CONFIG, "baseline"), CONFIG, GOOD, "baseline")
        study.finish(trial, 1.0, {})
    with open_study(tmp_path, "k", (16, 32), url) as study:
        assert [k.trial for k in study.kept()] == [trial]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"one line without an end", id="no-newline"),
        pytest.param(b"a,b\n1,2\n", id="table"),
        pytest.param(b'{"name": "x"}\n', id="other-json"),
        pytest.param(b"\x00\xff", id="bytes"),
        pytest.param(b'{"op_code": 0, "worker', id="less-than-one-record"),
    ],
)
def test_a_file_that_is_no_study_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    mine = tmp_path / "results.csv"
    mine.write_bytes(content)
    with (
        pytest.raises(InputError, match=r"results\.csv is not a study") as caught,
        open_study(tmp_path / "studies", "k", (32,), str(mine)),
    ):
        pass
    assert "\n" not in str(caught.value)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir() if p.is_file()] == [("results.csv", content)]


def test_a_file_beside_the_study_that_is_no_lock_of_it_is_left_alone(tmp_path: Path) -> None:
    """``--storage poetry``: Optuna would take poetry.lock for its lock, and remove it after a while."""
    beside = tmp_path / "poetry.lock"
    beside.write_text("mine\n")
    with (
        pytest.raises(InputError, match=r"poetry\.lock is not a lock of the study"),
        open_study(tmp_path / "studies", "k", (32,), str(tmp_path / "poetry")),
    ):
        pass
    assert beside.read_text() == "mine\n"
    assert not (tmp_path / "poetry").exists()


def test_only_locks_that_optuna_makes_are_removed(tmp_path: Path) -> None:
    journal, left = tmp_path / "s.journal", tmp_path / f"s.journal.lock{uuid.uuid4()}.rename"
    for lock in (tmp_path / "s.journal.lock", left):
        lock.symlink_to(journal)
    others = [tmp_path / name for name in ("s.journal.lock-notes", "s.journal.lock.old", "s.journal.locked")]
    for other in others:
        other.write_text("mine\n")
    with open_study(tmp_path / "studies", "k", (32,), str(journal)) as study:
        study.begin(Config(0, None, 32), "baseline")
    assert not os.path.lexists(left)
    assert [other.read_text() for other in others] == ["mine\n"] * 3


def test_a_named_study_is_begun_in_a_missing_or_empty_file_and_resumed(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "missing"):
        for expected in (0, 1):
            with open_study(tmp_path / "studies", "k", (16, 32), str(tmp_path / name)) as study:
                assert len(study.kept()) == expected
                study.finish(Trial(study.begin(CONFIG, "baseline"), CONFIG, GOOD, "baseline"), 1.0, {})
