"""One measured trial: a `TrialRequest` in, a `Measurement` out, whatever the workload does in between.

    advisor ── supervisor (supervisor.py) ── child (child.py) ── DataLoader workers

The supervisor lives only for the trial and is the subreaper of all that the child starts, so "everything below it" is
the trial and nothing else: it is watched, killed and cleaned up as a whole, also when advisor itself dies.
"""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import advisor
from advisor.errors import WorkloadError
from advisor.model.trial import Config, Measurement, Part
from advisor.tuning.outcome import Ending, classify, ending_from, measurement_from
from advisor.tuning.processes import TEMPORARY, orphans_ended
from advisor.tuning.sharing import Sharing, not_told, sharing_from
from advisor.tuning.shm import SharedMemory
from advisor.tuning.temporary import temporary_base, written_in

PACKAGE = Path(advisor.__file__).resolve().parent
GRACE_SECONDS = 30.0
"""What a supervisor may take beyond the trial's limit to kill and clean up before it is given up."""
BUDGET_SHARE = 1 / 5
LEAST_LIMIT_SECONDS, MOST_LIMIT_SECONDS = 30.0, 300.0
"""The time limit of a trial: long enough to start an interpreter with torch, short enough that a hang is bearable."""
LONGEST_BASE = 50
"""A socket of multiprocessing adds some 50 bytes: trial-12345678/t/pymp-12345678/listener-12345678."""
Progress = Callable[[str], None]

# The child's script lies in a folder that holds nothing but itself and a link to advisor: the interpreter may be the
# user's own, and the folder that advisor is installed in would bring its torch and numpy along.
_CHILD_SCRIPT = """\
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if __name__ == "__main__":
    if sys.version_info < (3, 10):
        import json
        said = "%s is Python %d.%d; a trial needs 3.10 or newer" % ((sys.executable,) + sys.version_info[:2])
        with open(os.path.join(sys.path[0], "events"), "a") as events:
            events.write(json.dumps({"failure": {"workload_error": said, "text": said}}) + "\\n")
        sys.exit(1)
    from advisor.tuning.child import main
    main(sys.path[0])
"""
_SUPERVISOR_SCRIPT = """\
import os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from advisor.tuning.supervisor import main
main(sys.path[0])
"""


@dataclass(frozen=True)
class TrialRequest:
    """What is to be measured, in which interpreter, and within which limits."""

    config: Config
    workload: str
    """``image-files``, ``FILE.py:factory`` or ``package.module:factory``."""
    data: str | None = None
    python: str = sys.executable
    seconds: float = 60.0
    """Time limit of the whole child, start-up included."""
    windows: int = 3
    window_seconds: float = 2.0
    step_time: float | None = None
    """Seconds that stand in for a training step of one micro-batch when the workload has none."""
    slice_index: int = 0
    """Which part of the seeded permutation of the data set is read."""
    part: Part = "loop"
    """What of the job is run: see `Part`."""
    cpus: tuple[int, ...] | None = None
    """CPUs that the child and its workers are bound to; ``None``: those of advisor."""
    memory_limit_bytes: int | None = None
    """The trial is stopped when its processes together need more; ``None``: most of what is available."""
    epoch_samples: int | None = None
    """Samples of an epoch of one rank; ``None``: not known, or the data set stands for a larger one."""
    sizes: tuple[int, ...] = ()
    """Micro-batches whose peak is to be estimated."""


@dataclass(frozen=True)
class WorkloadDescription:
    """What a workload declares and what it would run on, as its own interpreter tells."""

    title: str
    has_step: bool
    iterable: bool
    sample_count: int | None
    """``None``: the data set does not tell its length."""
    fingerprint: str
    """Changes when the data set changes."""
    code: str
    """Changes when the workload's code changes."""
    batch_size: int | None
    num_workers: int | None
    prefetch_factor: int | None
    accumulation: int | None
    global_batch: int | None
    pin_memory: bool | None
    persistent_workers: bool | None
    start_method: str
    python_version: str
    torch_version: str
    devices: tuple[str, ...]
    """Names of the accelerators that torch can use."""
    device: str
    """Where the step runs: ``cpu``, ``cuda``."""
    drop_last: bool = True
    """Whether its loader leaves out a last batch that is not full."""
    device_bytes: int | None = None
    """All memory of the accelerator..."""
    device_free_bytes: int | None = None
    """...and what of it is free once a process has its context there."""
    batched: bool = False
    """Whether the data set gives whole batches by itself."""


def limit_seconds(budget_seconds: float) -> float:
    """The time limit of a trial of a search with this budget."""
    return min(max(BUDGET_SHARE * budget_seconds, LEAST_LIMIT_SECONDS), MOST_LIMIT_SECONDS)


def run_trial(request: TrialRequest, on_progress: Progress | None = None) -> Measurement:
    """The measurement of one trial. Only Ctrl-C raises; then the trial is gone too."""
    return measurement_from(_supervised(request, "measure", on_progress))


def describe_workload(request: TrialRequest, on_progress: Progress | None = None) -> WorkloadDescription:
    """What ``request.workload`` declares; raises WorkloadError when it cannot be loaded."""
    ending = _supervised(request, "describe", on_progress)
    if ending.result is None:
        _, message = classify(ending)
        raise WorkloadError(message)
    told = dict(ending.result)
    return WorkloadDescription(**{**told, "devices": tuple(told["devices"])})


def look_at_sharing(request: TrialRequest, on_progress: Progress | None = None) -> Sharing:
    """How the workers of ``request.workload``, a stream, share its samples."""
    ending = _supervised(request, "sharing", on_progress)
    return sharing_from(ending.result) if ending.result is not None else not_told("the data set", classify(ending)[1])


def estimate_peaks(request: TrialRequest, on_progress: Progress | None = None) -> dict[int, int]:
    """Bytes that a step takes at its peak by micro-batch, estimated; raises WorkloadError when that cannot be done."""
    ending = _supervised(request, "estimate", on_progress)
    if ending.result is None:
        _, message = classify(ending)
        raise WorkloadError(message)
    return {int(size): int(peak) for size, peak in ending.result["peaks"].items()}


def _supervised(request: TrialRequest, task: str, on_progress: Progress | None) -> Ending:
    shm = SharedMemory()
    orphans: set[int] = set()

    def noticed(pids: set[int]) -> None:
        shm.note_mappings(pids - orphans)
        orphans.update(pids)

    with orphans_ended(noticed), _trial_folder(request, task) as folder, _supervisor(folder) as process:
        order = {
            "python": request.python,
            "folder": str(folder),
            "seconds": request.seconds,
            "memory_limit_bytes": request.memory_limit_bytes,
        }
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        told = _listen(process, time.monotonic() + request.seconds + GRACE_SECONDS, on_progress)
    if told is None:
        shm.remove_leftovers(orphans)  # else the supervisor has done so
        return Ending(ended_by="supervisor lost")
    return ending_from(told)


@contextlib.contextmanager
def _trial_folder(request: TrialRequest, task: str) -> Iterator[Path]:
    """The folder of one trial: scripts, request, events, and what the child believes to be /tmp."""
    base = _short_base()
    with written_in(base):
        folder = Path(tempfile.mkdtemp(prefix="trial-", dir=base))
    try:
        with written_in(base):
            (folder / "advisor").symlink_to(PACKAGE, target_is_directory=True)
            (folder / "trial_child.py").write_text(_CHILD_SCRIPT, "utf-8")
            (folder / "trial_supervisor.py").write_text(_SUPERVISOR_SCRIPT, "utf-8")
            (folder / "request.json").write_text(json.dumps({**asdict(request), "task": task}), "utf-8")
            (folder / TEMPORARY).mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _short_base() -> str:
    """Where temporary files go. Workers make sockets there, whose paths must stay within 108 bytes."""
    base = temporary_base()
    return "/tmp" if len(os.fsencode(base)) > LONGEST_BASE and os.access("/tmp", os.W_OK | os.X_OK) else base


@contextlib.contextmanager
def _supervisor(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, str(folder / "trial_supervisor.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C reaches advisor alone, which then ends the trial in order
    )
    try:
        yield process
    finally:
        _dismiss(process)


def _dismiss(process: "subprocess.Popen[bytes]") -> None:
    """Ends a supervisor: closing its standard input is the order to kill the trial and clean up."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # the child's parent-death signal takes it along
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def _listen(process: "subprocess.Popen[bytes]", until: float, on_progress: Progress | None) -> Mapping[str, Any] | None:
    """The supervisor's last word; ``None`` when it gave none in time."""
    assert process.stdout is not None
    stream = process.stdout.fileno()
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not selector.select(left):
                continue
            chunk = os.read(stream, 65536)
            if not chunk:
                return None
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                told = json.loads(line)
                if "ending" in told:
                    return dict(told["ending"])
                if on_progress is not None:
                    on_progress(told["progress"])
    return None
