"""Failures that are brought about on purpose: each is told as what it is, leaves nothing, and does not end a study."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from pydantic import TypeAdapter

from advisor.model.trial import Config, Measurement, Outcome, Trial
from advisor.tuning.study import open_study
from tests.tuning.trials import ALONE, MIB, ONE_WORKER, WORKERS, nothing_left, paths, trial

GROUP_BYTES = 900 * MIB
"""Room for advisor, a supervisor and torch, and for a little that is eaten."""
MEASUREMENT: TypeAdapter[Measurement] = TypeAdapter(Measurement)
Inside = Callable[[], AbstractContextManager[list[str]]]
"""What a command is put behind to run under a limit."""


@contextmanager
def small_shared_memory() -> Iterator[list[str]]:
    """A mount namespace whose /dev/shm has room for few batches."""
    small = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=16m none /dev/shm && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*small, "true"], capture_output=True).returncode != 0:
        pytest.skip("a small /dev/shm cannot be mounted here")
    yield small


@contextmanager
def small_control_group() -> Iterator[list[str]]:
    """A control group with little memory, beside that of these tests."""
    group = _beside_ours()
    try:
        group.mkdir()
        version_1 = (group / "memory.limit_in_bytes").exists()
        (group / ("memory.limit_in_bytes" if version_1 else "memory.max")).write_text(str(GROUP_BYTES))
        swap = group / ("memory.memsw.limit_in_bytes" if version_1 else "memory.swap.max")
        if swap.exists():
            swap.write_text(str(GROUP_BYTES) if version_1 else "0")
    except OSError:
        if group.is_dir():
            group.rmdir()
        pytest.skip("a control group of memory cannot be made here: that takes root, and a delegated hierarchy")
    try:
        yield ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]
    finally:
        group.rmdir()


def _beside_ours() -> Path:
    """A new group that has the parent of ours, in the hierarchy of version 1 or 2 that accounts memory."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    in_version_1 = [path for _, names, path in lines if "memory" in names.split(",")]
    in_version_2 = [path for _, names, path in lines if not names]
    top = Path("/sys/fs/cgroup/memory" if in_version_1 else "/sys/fs/cgroup")
    ours = (in_version_1 or in_version_2 or ["/"])[0]
    return top / ours.rpartition("/")[0].lstrip("/") / f"advisor-test-{os.getpid()}"


@dataclass(frozen=True)
class Failure:
    """What is run, and what must be said of it."""

    case: str
    config: Config
    outcome: Outcome
    said: str
    """A pattern that the message matches."""
    options: Mapping[str, float] = field(default_factory=dict)
    inside: Inside | None = None

    def measured(self, temporary: Path) -> Measurement:
        """The real trial, in this process or below what limits it."""
        if self.inside is None:
            return trial(self.case, self.config, **self.options)
        code = "import sys; from tests.tuning.test_injected_failures import tell; tell(sys.argv[1], int(sys.argv[2]))"
        arguments = [sys.executable, "-c", code, self.case, str(self.config.num_workers)]
        with self.inside() as prefix:
            environment = {**paths(), "TMPDIR": str(temporary)}
            done = subprocess.run([*prefix, *arguments], capture_output=True, text=True, timeout=120, env=environment)
        assert done.returncode == 0, done.stderr
        return MEASUREMENT.validate_json(done.stdout)


def tell(case: str, workers: int) -> None:
    """Prints what comes of a trial, for a process of its own."""
    print(MEASUREMENT.dump_json(trial(case, WORKERS if workers else ALONE)).decode())


LIMIT = {"memory_limit_bytes": 700 * MIB}
HANG = r"DataLoader timed out after|not done within 5 s \(last seen: "
FAILURES = {
    "memory limit": Failure("Eats", ALONE, "out-of-memory", "more than the limit of 700 MiB", LIMIT),
    "memory limit, workers": Failure("Eats", WORKERS, "out-of-memory", "more than the limit of 700 MiB", LIMIT),
    "OOM killer": Failure(
        "Eats", ALONE, "out-of-memory", "kernel's OOM killer killed the trial's", inside=small_control_group
    ),
    "OOM killer, workers": Failure(
        "Eats", WORKERS, "out-of-memory", "kernel's OOM killer was at work: DataLoader", inside=small_control_group
    ),
    "full shared memory": Failure(
        "FillsSharedMemory", WORKERS, "no-space-in-shm", "unable to allocate shared memory", inside=small_shared_memory
    ),
    "open files": Failure("keeps_batches", WORKERS, "too-many-files", "ulimit -n"),
    "hang": Failure("Hangs", ALONE, "timed-out", HANG, {"seconds": 5.0}),
    "hang of workers": Failure("Hangs", WORKERS, "timed-out", HANG, {"seconds": 5.0}),
    "crash": Failure("Crashes", ALONE, "user-error", "died of SIGSEGV"),
    "crash of a worker": Failure("Crashes", WORKERS, "user-error", "native code crashed in a worker"),
    "exit": Failure("Leaves", ALONE, "user-error", "ended its process with status 7: giving up"),
    "killed": Failure("KillsItself", ALONE, "killed", "killed from outside by SIGKILL"),
    "killed worker": Failure("KillsItself", WORKERS, "killed", r"DataLoader worker \(pid"),
    "killed by its worker": Failure("KillsItsParent", WORKERS, "killed", "killed from outside by SIGKILL"),
    "killed watcher": Failure("KillsItsWatcher", ONE_WORKER, "killed", "that watched over the trial was killed"),
    "killed watcher, named memory": Failure(
        "kills_its_watcher_with_names_in_use", ONE_WORKER, "killed", "that watched over the trial was killed"
    ),
}


@pytest.fixture(autouse=True)
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with nothing_left(monkeypatch) as folder:
        yield folder
        running = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
        assert not [command for command in running if str(folder) in command]


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_each_is_told_as_what_it_is_and_the_study_goes_on(failure: Failure, tmp_path: Path, temporary: Path) -> None:
    with open_study(tmp_path, "k", (4,)) as study:
        number = study.begin(failure.config, "search")
        failed = Trial(number, failure.config, failure.measured(temporary), "search")
        study.finish(failed, 1.0, {})
    assert failed.measurement.outcome == failure.outcome
    assert re.search(failure.said, failed.measurement.message), failed.measurement.message
    with open_study(tmp_path, "k", (4,)) as study:
        assert [kept.trial for kept in study.kept()] == [failed]
        assert study.begin(ALONE, "search") == number + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed advisor"])
def test_a_trial_ends_with_advisor(number: signal.Signals, temporary: Path) -> None:
    """What becomes of the study then: tests/commands/test_tune_killed.py."""
    code = (
        # A shell that starts the suite in the background has SIGINT ignored.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from tests.tuning.trials import request_of, WORKERS; from advisor.tuning.trial import run_trial;"
        "run_trial(request_of('Hangs', WORKERS), lambda text: print(text, flush=True))"
    )
    environment = {**paths(), "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", code]
    advisor = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert advisor.stdout is not None
    assert any("starting 2 workers" in line for line in advisor.stdout)
    below = psutil.Process(advisor.pid).children(recursive=True)
    assert len(below) >= 2
    advisor.send_signal(number)
    advisor.wait(30)
    advisor.stdout.close()
    _, alive = psutil.wait_procs(below, timeout=30)
    assert not alive
