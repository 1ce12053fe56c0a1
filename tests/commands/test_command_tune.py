"""``advisor tune`` whole, in this process: its own trials run as it runs them for a user."""

import json
import os
from pathlib import Path

import pytest

from advisor.cli import run

SLEEPY = """
import time
import torch
from advisor.model.workload import Workload


class Sleepy(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.full((16,), float(index))


def factory():
    return Workload(Sleepy(), batch_size=8)


def raises():
    return Workload(Raises(), batch_size=8)


class Raises(Sleepy):
    def __getitem__(self, index):
        raise ValueError("no such sample")
"""
SHORT = ("--budget", "20s", "--allow-busy", "--ranks", "1")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "sleepy.py"
    path.write_text(SLEEPY)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """What rests on the measurement, byte by byte; facts and findings of a live machine are other tests' business."""
    files = [folder / "tuning.json", *sorted((folder / "job").iterdir())]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def test_a_workload_is_measured_chosen_written_and_used_again(
    tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "OUT"
    command = ["tune", "--workload", f"{workload}:factory", "--out", str(out), *SHORT]
    assert run([*command, "--max-trials", "5"]) == 0
    text = capsys.readouterr()
    rows = dict(line.split(maxsplit=1) for line in text.out.splitlines())
    assert "global batch 8" in rows["Batch"]
    assert rows["Baseline"].startswith("num_workers 0, batch_size 8: ")
    assert "trial 1: w0 p- b8 a1 (baseline): " in text.err
    loader = json.loads((out / "job/dataloader.json").read_text())
    record = json.loads((out / "tuning.json").read_text())
    # Which configuration wins is this machine's business; that what is written is what was chosen, and earned, is ours.
    chosen = record["choice"]["config"]
    assert loader["num_workers"] == chosen["num_workers"]
    assert chosen == record["baseline"] or record["choice"]["gain"]["low"] > 1
    assert {t["measurement"]["outcome"] for t in record["trials"]} == {"ok"}
    assert "measured on" in (out / "job/dataloader.py").read_text().splitlines()[0]

    first = contents(out)
    assert run([*command, "--max-trials", "5"]) == 0
    again = capsys.readouterr()
    assert "is used again" in again.err
    assert "; --fresh measures again" in again.err
    assert "trial 1" not in again.err
    assert contents(out) == first

    assert run(["tune", "--replay", str(out / "tuning.json"), "--format", "json"]) == 0
    replayed = json.loads(capsys.readouterr().out)
    assert replayed["chosen"]["num_workers"] == record["choice"]["config"]["num_workers"]


def test_a_diagnosis_writes_nothing(tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "OUT"
    command = ["tune", "--workload", f"{workload}:factory", "--diagnose-only", "--step-time", "5ms", "--out", str(out)]
    for _ in range(2):  # the second one measures again
        assert run([*command, "--fresh", *SHORT]) == 0
        said = capsys.readouterr()
        assert "no loader gains more; storage: a sample takes" in said.out
        assert "Search    1 trial; only a diagnosis was asked for" in said.out
        assert "headroom: the training step alone" in said.err
        assert "kept from an earlier run" not in said.err
    assert not out.exists()


def test_a_workload_that_raises_is_reported_and_the_rest_is_written(
    tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "OUT"
    huge = ("--checkpoint-bytes", str(1 << 50))
    data = tmp_path / os.fsdecode(b"no text \xff")
    data.mkdir()
    command = ["tune", "--workload", f"{workload}:raises", "--data", str(data), "--out", str(out), *huge, *SHORT]
    assert run(command) == 3
    told = capsys.readouterr()
    text = told.out
    assert "user-error" in text
    assert "no such sample" in text
    assert told.err.endswith("advisor: no configuration could be measured\n")
    assert "no DataLoader settings are written" in text
    assert (out / "facts.json").is_file()
    assert json.loads((out / "tuning.json").read_text())["validity"]["data"].endswith("no text \\udcff")
    report = (out / "report.md").read_text()
    assert "storage/checkpoint-exceeds-memory" in report
    assert "- Chosen: nothing, as no configuration could be measured; no DataLoader settings are written." in report
    assert "no such sample" in report.partition("- Failed: ")[2]
    assert not (out / "job/dataloader.json").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--workload", "nowhere.py:factory"], "nowhere.py", id="no-such-file"),
        pytest.param(["--workload", "no-factory"], "no-factory", id="no-factory-named"),
        pytest.param(["--budget", "soon"], "is not a length of time", id="budget"),
        pytest.param(["--budget", "0"], "is not a length of time", id="no-budget"),
        pytest.param(["--ranks", "0"], "--ranks", id="no-ranks"),
        pytest.param(["--global-batch", "x"], "--global-batch", id="batch-not-a-number"),
        pytest.param(["--data-file-bytes", "0"], "--data-file-bytes", id="no-bytes"),
        pytest.param(["--step-time", "-1"], "is not a length of time", id="step-time"),
        pytest.param(["--data", "/nonexistent"], "--data /nonexistent does not exist", id="no-data"),
        pytest.param(["--replay", "/nonexistent"], "cannot read /nonexistent", id="no-replay"),
        pytest.param(["--python", "/nonexistent"], "--python /nonexistent", id="no-interpreter"),
        pytest.param(["--", "train.sh", "--epochs", "1"], "not supported yet", id="command"),
        pytest.param(["--exhaustive", "--diagnose-only"], "exclude each other", id="exclusive"),
        pytest.param(["--replay", "x", "--amp", "bfloat16"], "measures nothing: leave --amp out", id="replay-amp"),
        pytest.param(["--replay", "x", "--fresh"], "measures nothing: leave --fresh out", id="replay-fresh"),
        pytest.param(["--replay", "x", "--vram", "1GiB"], "measures nothing: leave --vram out", id="replay-vram"),
        pytest.param(["--set", "sysctl"], "--set must be", id="set"),
    ],
)
def test_what_the_user_got_wrong_is_one_sentence_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    command = ["tune", "--allow-busy", "--out", str(tmp_path / "OUT")]
    if not any(a in ("--workload", "--data") for a in arguments):
        (tmp_path / "empty.py").write_text(SLEEPY)
        command += ["--workload", f"{tmp_path}/empty.py:factory"]
    assert run([*command, *arguments]) == 2
    text = capsys.readouterr()
    assert said in text.err
    assert "Traceback" not in text.err
    assert text.out == ""
    assert not (tmp_path / "OUT").exists()


def test_a_global_batch_that_the_ranks_do_not_divide_is_refused(
    tmp_path: Path, workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tune", "--workload", f"{workload}:factory", "--ranks", "3", "--global-batch", "8", "--allow-busy"]
    assert run([*command, "--out", str(tmp_path / "OUT")]) == 2
    assert "must be a multiple of the ranks (3)" in capsys.readouterr().err


def test_a_broken_replay_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tuning.json"
    path.write_text("{}")
    assert run(["tune", "--replay", str(path)]) == 2
    assert f"{path}: " in capsys.readouterr().err


def test_nothing_is_left_in_shared_memory(tmp_path: Path, workload: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    command = [
        "tune",
        "--workload",
        f"{workload}:factory",
        "--diagnose-only",
        "--quiet",
        "--out",
        str(tmp_path / "OUT"),
    ]
    assert run([*command, *SHORT]) == 0
    assert {n for n in set(os.listdir("/dev/shm")) - before if n.startswith("torch_")} == set()
