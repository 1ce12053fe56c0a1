"""The workload of a command line: looked at once, then run as trials."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from advisor.commands._measured import Described
from advisor.errors import InputError
from advisor.inputs import name_text, printable
from advisor.model.trial import Config, Measurement
from advisor.model.trial import Part as Piece
from advisor.tuning.batching import Declared
from advisor.tuning.session import WINDOWS, Run
from advisor.tuning.sharing import Sharing
from advisor.tuning.trial import (
    TrialRequest,
    WorkloadDescription,
    describe_workload,
    limit_seconds,
    look_at_sharing,
    run_trial,
)
from advisor.tuning.validity import Part
from advisor.workloads._order import SLICE_SAMPLES
from advisor.workloads._sharing import LONGEST_SECONDS

IMAGE_FILES = "image-files"
WINDOW_SHARE = 1 / 150
LEAST_WINDOW_SECONDS, MOST_WINDOW_SECONDS = 0.3, 2.0
"""A window of a five-minute budget is as long as windows need to be; a shorter budget gets shorter ones."""
UNREAD_SLICE = 1
"""Of the data set's permutation: no other trial reads it."""
SLOW_TRIAL_SHARE = 1 / 25
"""Where a trial takes more of the budget than this, later ones measure one window: more trials tell more."""


@dataclass(frozen=True)
class Wanted:
    """A workload as the command line names it, with its data set in place."""

    workload: str
    data: str | None
    python: str
    step_time: float | None
    budget: float
    cpus: tuple[int, ...] | None = None
    """CPUs that trials are bound to, if they are."""
    stands_for_more: bool = False
    """Whether the data set was made up, so that its size says nothing."""
    epoch_samples: int | None = None
    """Samples of an epoch of one rank, if that is known."""
    loading_seconds: float = 0.0
    """What loading it took, which trials get beyond their time."""

    def request(self, config: Config, part: Piece = "loop", windows: int = WINDOWS) -> TrialRequest:
        """The trial of one configuration."""
        return TrialRequest(
            config,
            self.workload,
            data=self.data,
            python=self.python,
            windows=windows,
            seconds=limit_seconds(self.budget) + self.loading_seconds,
            window_seconds=min(max(self.budget * WINDOW_SHARE, LEAST_WINDOW_SECONDS), MOST_WINDOW_SECONDS),
            step_time=self.step_time,
            slice_index=UNREAD_SLICE if part == "cold" else 0,
            part=part,
            cpus=self.cpus,
            epoch_samples=self.epoch_samples,
        )


def wanted(
    workload: str, data: str | None, python: str | None, step_time: float | None, budget: float, cache: Path
) -> Wanted:
    """The workload with its data; the images of the built-in one are made once, below ``cache``."""
    made_up = workload == IMAGE_FILES and data is None
    if made_up:
        from advisor.workloads.image_files import generate

        try:
            data = str(generate(cache))
        except OSError as error:
            raise InputError(
                f"cannot make the images of {IMAGE_FILES} in {printable(cache)}: {error.strerror or error}; "
                "make room there, or name another folder by XDG_CACHE_HOME, or images of yours by --data"
            ) from None
    place = os.path.abspath(data) if data is not None else None
    return Wanted(workload, place, _interpreter(python), step_time, budget, stands_for_more=made_up)


def _interpreter(python: str | None) -> str:
    if python is None:
        return sys.executable
    found = shutil.which(python)
    if found is None:
        raise InputError(
            f"--python {printable(python)} is not a program that can be run; give the path of an interpreter"
        )
    return os.path.abspath(found)


def describe(wanted: Wanted) -> Described:
    """What a first look, in the interpreter that trains, tells of the workload. Raises WorkloadError."""
    request, began = wanted.request(Config(batch_size=1)), time.monotonic()
    told = described(describe_workload(replace(request, seconds=max(request.seconds, 120.0))))
    if wanted.stands_for_more:
        told = replace(told, samples=None)
    return replace(told, loading_seconds=time.monotonic() - began)


def sharing(wanted: Wanted, described: Described) -> Sharing | None:
    """How the workers of a stream share its samples; ``None``: it is none, so the loader sees to that."""
    if not described.iterable:
        return None
    request = wanted.request(Config(batch_size=1))
    return look_at_sharing(replace(request, seconds=request.seconds + LONGEST_SECONDS))


def refuse_a_second_step(step_time: float | None, described: Described) -> None:
    """Raises InputError where a time would stand for a step that can be measured."""
    if step_time is not None and described.declared.has_step:
        raise InputError(
            f"--step-time: {printable(described.title)} has a training step of its own, which is measured; "
            "leave --step-time out"
        )


def described(told: WorkloadDescription) -> Described:
    """The description as the search needs it."""
    declared = Declared(
        num_workers=told.num_workers,
        prefetch_factor=told.prefetch_factor,
        batch_size=told.batch_size,
        accumulation=told.accumulation,
        global_batch=told.global_batch,
        pin_memory=told.pin_memory,
        persistent_workers=told.persistent_workers,
        has_step=told.has_step,
        batched=told.batched,
    )
    return Described(
        title=name_text(told.title),
        declared=declared,
        accelerators=len(told.devices),
        parts={
            "dataset": name_text(told.fingerprint),
            "code": told.code,
            "python": told.python_version,
            "torch": told.torch_version,
            "start_method": told.start_method,
            "gpus": ", ".join(told.devices),
            **({"vram_total_bytes": told.device_bytes} if told.device_bytes is not None else {}),
            **_told(declared),
            # With what was measured otherwise before.
            **({"epoch": "stream"} if told.iterable else {"epoch": "drop_last" if told.drop_last else "whole"}),
        },
        samples=None if told.iterable else told.sample_count,
        drop_last=told.drop_last,
        iterable=told.iterable,
        vram_bytes=told.device_bytes,
        vram_taken_bytes=_taken(told),
        has_unread=not told.iterable and (told.sample_count or 0) >= 2 * SLICE_SAMPLES,
    )


def _told(declared: Declared) -> dict[str, Part]:
    """What the workload declares of its loader and batches; it may come from anywhere, not from its code alone."""
    values = asdict(declared)
    return {f"declared_{name}": value for name, value in values.items() if value is not None}


def _taken(told: WorkloadDescription) -> int | None:
    if told.device_bytes is None or told.device_free_bytes is None:
        return None
    return max(told.device_bytes - told.device_free_bytes, 0)


def runner(wanted: Wanted, clock: Callable[[], float] = time.monotonic) -> Run:
    """What measures one configuration; briefer once trials turn out to be slow for the budget."""
    slow = False

    def run(config: Config, part: Piece = "loop", windows: int = WINDOWS) -> Measurement:
        nonlocal slow
        began = clock()
        brief = slow and part == "loop"  # of the parts there are few, and the headroom's interval rests on them
        measurement = run_trial(wanted.request(config, part, 1 if brief else windows))
        slow = slow or clock() - began > wanted.budget * SLOW_TRIAL_SHARE
        return measurement

    return run
