"""The parts of ``advisor tune`` that need no trial: options, the cache folder, the busy check, what is shown."""

import io
from dataclasses import replace
from pathlib import Path

import click
import pytest

from advisor.commands._busy import (
    PATIENCE_SECONDS,
    pressure_percent,
    refuse_foreign_gpu_work,
    refuse_when_busy,
    wait_until_quiet,
)
from advisor.commands._cache import cache_folder
from advisor.commands._measured import Described
from advisor.commands._options import Duration, StepTime, duration_text
from advisor.commands._progress import shown
from advisor.commands._workload import refuse_a_second_step
from advisor.errors import BusyError, InputError
from advisor.host.captured import open_root
from advisor.model.snapshot import Snapshot, Source
from advisor.model.trial import Config, Measurement, Trial
from advisor.probes._gpu_models import GpuDevice
from advisor.probes.gpu import Gpu
from advisor.tuning.batching import Declared
from advisor.tuning.progress import Ended, Said, Started


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600), ("1.5m", 90), ("0.5s", 0.5)],
)
def test_a_duration_is_seconds_minutes_or_hours(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "5 m", "-5m", "0", "0s", "5d", "1e9", "nan", "inf", "5m5s", "٥m", "9" * 400, "5m\n"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a length of time; give 90s, 5m or 1h"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize(("text", "seconds"), [("12ms", 0.012), ("0.5s", 0.5), ("2", 2.0)])
def test_a_step_time_may_be_in_milliseconds(text: str, seconds: float) -> None:
    assert StepTime().convert(text, None, None) == pytest.approx(seconds)


def test_no_time_stands_for_a_step_that_can_be_measured() -> None:
    """It would be told as one of the conditions and change nothing."""
    stepped = Described("train.py:factory", Declared(has_step=True), 0, {})
    with pytest.raises(InputError, match=r"--step-time: train\.py:factory has a training step of its own"):
        refuse_a_second_step(0.5, stepped)
    refuse_a_second_step(None, stepped)
    refuse_a_second_step(0.5, replace(stepped, declared=Declared()))


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (-3, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (270, "4 min 30 s")]
)
def test_a_duration_is_told_in_words(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("environment", "folder"),
    [({"XDG_CACHE_HOME": "{}/x"}, "x/advisor"), ({"HOME": "{}/h"}, "h/.cache/advisor")],
    ids=["xdg", "home"],
)
def test_the_cache_lies_where_the_environment_says(tmp_path: Path, environment: dict[str, str], folder: str) -> None:
    with cache_folder({name: value.format(tmp_path) for name, value in environment.items()}) as (found, note):
        assert note is None
    assert found == tmp_path / folder
    assert found.is_dir()


def test_a_relative_xdg_folder_is_ignored(tmp_path: Path) -> None:
    with cache_folder({"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)}) as (found, _):
        pass
    assert found == tmp_path / ".cache" / "advisor"


@pytest.mark.parametrize(
    "environment", [{}, {"HOME": ""}, {"HOME": "/proc/none"}, {"XDG_CACHE_HOME": "/proc"}], ids=str
)
def test_a_cache_that_cannot_be_written_is_replaced_and_said_and_the_other_one_removed(
    environment: dict[str, str],
) -> None:
    used = []

    def interrupted() -> None:
        with cache_folder(environment) as (found, note):
            used.append(found)
            (found / "studies").mkdir()
            assert str(found) in str(note)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not used[0].exists()


PRESSURE = "some avg10={} avg60=0.10 avg300=0.05 total=123456\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n"


@pytest.mark.parametrize(
    ("text", "percent"),
    [(PRESSURE.format("0.22"), 0.22), (PRESSURE.format("97"), 97.0), ("", None), ("some avg10=x", None)],
    ids=["little", "much", "empty", "garbage"],
)
def test_cpu_pressure_is_read_off_the_line_of_some(text: str, percent: float | None) -> None:
    assert pressure_percent(text) == percent


def machine(tmp_path: Path, pressure: str | None) -> Path:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "sys").mkdir()
    if pressure is not None:
        (tmp_path / "proc/pressure/cpu").write_text(pressure)
    return tmp_path


def test_a_busy_node_is_refused_with_what_to_do(tmp_path: Path) -> None:
    host = open_root(str(machine(tmp_path, PRESSURE.format("35.5"))))
    with pytest.raises(BusyError, match=r"35\.5 % of the last 10 s .* --allow-busy"):
        refuse_when_busy(host)


def test_an_idle_node_is_fine(tmp_path: Path) -> None:
    assert refuse_when_busy(open_root(str(machine(tmp_path, PRESSURE.format("3.00"))))) is None


def test_a_kernel_without_pressure_is_said(tmp_path: Path) -> None:
    note = refuse_when_busy(open_root(str(machine(tmp_path, None))))
    assert note is not None
    assert "could not be told" in note


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


GOOD = Ended(Trial(0, Config(4, 2, 32), Measurement("ok", samples_per_second=(1234.5,)), "probe"))
BAD = Ended(Trial(1, Config(8, 2, 32), Measurement("killed", message="by\x1b[2J signal 9"), "search"))
KEPT = Ended(Trial(2, Config(0, None, 32), Measurement("ok", samples_per_second=(10.0,)), "baseline"), reused=True)


def test_elsewhere_than_on_a_terminal_each_trial_is_one_line() -> None:
    stream = io.StringIO()
    with shown(stream, lambda: 60.0, quiet=False) as listen:
        for event in (Started(0, Config(4, 2, 32), "probe"), GOOD, BAD, KEPT, Said("the end")):
            listen(event)
    assert stream.getvalue().splitlines() == [
        "trial 1: w4 p2 b32 a1 (probe): 1,234 samples/s",
        "trial 2: w8 p2 b32 a1 (search): killed: by\\x1b[2J signal 9",
        "trial 3: w0 p- b32 a1 (baseline, kept from an earlier run): 10 samples/s",
        "the end",
    ]


def test_quiet_says_nothing() -> None:
    stream = Terminal()
    with shown(stream, lambda: 60.0, quiet=True) as listen:
        listen(GOOD)
    assert stream.getvalue() == ""


def test_a_terminal_sees_what_is_measured_how_much_is_done_and_what_is_left() -> None:
    stream = Terminal()
    with shown(stream, lambda: 61.0, quiet=False, color=False) as listen:
        listen(GOOD)
        listen(Started(1, Config(8, 2, 32), "search"))
    text = stream.getvalue()
    assert "w8 p2 b32 a1 (search)" in text
    assert "1 done" in text
    assert "best w4 p2 b32 a1 1,234/s" in text
    assert "1 min 1 s left" in text


def test_a_node_that_becomes_quiet_is_waited_for(tmp_path: Path) -> None:
    host = open_root(str(machine(tmp_path, PRESSURE.format("35.50"))))
    said: list[str] = []
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 2:
            (tmp_path / "proc/pressure/cpu").write_text(PRESSURE.format("3.00"))

    assert wait_until_quiet(host, said.append, sleep) is None
    assert len(naps) == 2
    assert len(said) == 1
    assert "--allow-busy" in said[0]


def test_a_node_that_stays_busy_is_refused_in_the_end(tmp_path: Path) -> None:
    host = open_root(str(machine(tmp_path, PRESSURE.format("35.50"))))
    naps: list[float] = []
    with pytest.raises(BusyError, match="--allow-busy"):
        wait_until_quiet(host, lambda note: None, naps.append)
    assert sum(naps) >= PATIENCE_SECONDS


@pytest.mark.parametrize(("processes", "refused"), [((41, 42), True), ((), False), (None, False)])
def test_foreign_work_on_a_gpu_is_not_disturbed(processes: tuple[int, ...] | None, refused: bool) -> None:
    gpus = Gpu(gpus=(GpuDevice(index=0, compute_processes=()), GpuDevice(index=1, compute_processes=processes)))
    snapshot = Snapshot(source=Source(kind="live"), facts={"gpu": gpus}, gaps={})
    if refused:
        with pytest.raises(BusyError, match=r"GPU 1 \(processes 41, 42\)"):
            refuse_foreign_gpu_work(snapshot)
    else:
        refuse_foreign_gpu_work(snapshot)
