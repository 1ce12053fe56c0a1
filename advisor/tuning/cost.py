"""What a sample costs, learnt from the first trials."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from advisor.model.trial import AutocastType, Config, Measurement, Trial
from advisor.tuning.vram import Peaks, learn_peaks

FORKED_WORKER_BYTES = 32 * 1024 * 1024
"""A forked worker keeps 10-15 MiB of its own; twice that leaves room for what the data set touches."""
STARTED_WORKER_BYTES = 256 * 1024 * 1024
"""One that is not forked has imported torch and the data set's modules for itself."""
MOST_HAND_OVER_SECONDS = 2e-3
"""Of a worker for a batch: 0.3 to 0.8 ms were seen on two CPUs."""
COPIED_BYTES_PER_SECOND = 5e9
TENSORS_PER_BATCH = 4
"""Assumed when a trial does not tell: inputs, targets, and two more."""


@dataclass(frozen=True)
class Cost:
    """Figures of one sample and one batch; ``None``: no trial has told."""

    cpu_seconds: float | None = None
    """CPU time of the loading process per sample."""
    blocked_seconds: float | None = None
    """Time per sample that it neither computed nor could have: disk, network, sleep."""
    batch_bytes_per_sample: float | None = None
    step_seconds_per_sample: float | None = None
    """Time of the training step alone, for each sample of a batch; ``None`` when the loader is measured alone."""
    fixed_step_seconds: float = 0.0
    """Time of a training step whatever its batch."""
    loop_seconds_per_sample: float = 0.0
    """CPU time of the training process for each sample of a batch that it takes from a worker..."""
    loop_seconds: float = 0.0
    """...and whatever the batch."""
    hand_over_seconds: float = 0.0
    """CPU time of a worker for each batch beside its samples."""
    alone_seconds: float | None = None
    """Time of a sample without workers, computing and waiting; ``None``: no trial without workers has told."""
    samples_per_batch: int | None = None
    """In batches that the data set makes by itself; ``None``: the loader makes them, or no trial has told."""
    worker_bytes: int = FORKED_WORKER_BYTES
    tensors_per_batch: int = TENSORS_PER_BATCH
    peaks: Peaks = field(default_factory=Peaks)
    """Of the accelerator's memory, by micro-batch."""

    def batch_of(self, config: Config) -> int:
        """Samples in a micro-batch of ``config``."""
        return config.batch_size or self.samples_per_batch or 1

    def step_seconds(self, batch: int) -> float:
        """Time of a training step on a batch of so many samples that is there already; 0 if there is no training."""
        return self.fixed_step_seconds + batch * (self.step_seconds_per_sample or 0.0)

    def waits(self) -> bool:
        """Whether workers mostly wait, so that more of them than CPUs are of use."""
        if self.cpu_seconds is None or self.blocked_seconds is None:
            return False
        return self.blocked_seconds > self.cpu_seconds


def learn(trials: Sequence[Trial], amp: AutocastType | None = None) -> Cost:
    """The `Cost` that these trials show; those with few workers tell most, as workers do not yet disturb each other.

    ``amp``: of which step, one in this autocast or (``None``) the job's own: its time and its memory. What a sample
    costs is the same with both.
    """
    good = sorted((t for t in trials if t.measurement.outcome == "ok"), key=lambda t: _trust(t))
    made = _samples_per_batch(good)
    good = [t if t.config.batch_size or made is None else _of_batches(t, made) for t in good]
    fixed, per_sample = _step_line([t for t in good if t.config.amp == amp])
    with_workers, alone = [t for t in good if t.config.num_workers], [t for t in good if not t.config.num_workers]
    cpu, handing_over = _with_and_without(with_workers, alone)
    loop, loop_per_sample = _loop_line(with_workers)
    return Cost(
        cpu_seconds=cpu,
        blocked_seconds=_first(good, "blocked_seconds_per_sample"),
        batch_bytes_per_sample=_bytes_per_sample(good),
        samples_per_batch=made,
        step_seconds_per_sample=per_sample,
        fixed_step_seconds=fixed,
        loop_seconds_per_sample=loop_per_sample,
        loop_seconds=loop,
        hand_over_seconds=handing_over,
        alone_seconds=_both(_first(alone, "cpu_seconds_per_sample"), _first(alone, "blocked_seconds_per_sample")),
        tensors_per_batch=int(_first(good, "tensors_per_batch") or TENSORS_PER_BATCH),
        peaks=learn_peaks([t for t in trials if t.config.amp == amp]),
    )


def _samples_per_batch(good: Sequence[Trial]) -> int | None:
    """Of a data set that makes batches by itself, as the trial that is trusted most counted them."""
    for trial in good:
        samples, steps = (_first([trial], note) for note in ("samples", "steps"))
        if trial.config.batch_size is None and samples and steps:
            return max(round(samples / steps), 1)
    return None


def _of_batches(trial: Trial, size: int) -> Trial:
    """``trial`` as if its loader had made the batches."""
    return replace(trial, config=replace(trial.config, batch_size=size))


def rate(measurement: Measurement) -> float | None:
    """The score of a trial: the median of its windows, samples per second; ``None`` when it did not run well."""
    if measurement.outcome != "ok" or not measurement.samples_per_second:
        return None
    value = median(measurement.samples_per_second)
    return value if math.isfinite(value) and value > 0 else None


def _trust(trial: Trial) -> tuple[int, int]:
    workers = trial.config.num_workers
    return (workers if workers > 0 else 1_000, trial.number)


def _first(trials: Sequence[Trial], note: str) -> float | None:
    for trial in trials:
        value = trial.measurement.notes.get(note)
        if isinstance(value, int | float) and value >= 0:
            return float(value)
    return None


def _with_and_without(with_workers: Sequence[Trial], alone: Sequence[Trial]) -> tuple[float | None, float]:
    """CPU time of a sample, and what a worker takes for a batch beside its samples.

    A worker that takes more than the loop took by itself hands batches over, for what they are many; what that cannot
    account for is due to the samples, which take longer where several are made at once.
    """
    ours, bare = _first(with_workers, "cpu_seconds_per_sample"), _first(alone, "cpu_seconds_per_sample")
    if ours is None or bare is None:
        return (bare if ours is None else ours), 0.0
    batch = next(t.config.batch_size or 1 for t in with_workers if "cpu_seconds_per_sample" in t.measurement.notes)
    handing_over = min(max(ours - bare, 0.0) * batch, MOST_HAND_OVER_SECONDS)
    return ours - handing_over / batch, handing_over


def _loop_line(with_workers: Sequence[Trial]) -> tuple[float, float]:
    """CPU time of the loop to take a batch, and for each of its samples.

    Of one micro-batch alone it is not known which is which: copying its bytes counts as the samples' part.
    """
    seconds: dict[int, float] = {}
    for trial in with_workers:
        told, batch = _first([trial], "loop_cpu_seconds_per_sample"), trial.config.batch_size or 1
        if told is not None:
            seconds.setdefault(batch, told * batch)
    if len(seconds) > 1:
        return _line(seconds)
    for batch, taken in seconds.items():
        copied = min((_bytes_per_sample(with_workers) or 0.0) / COPIED_BYTES_PER_SECOND, taken / batch)
        return taken - batch * copied, copied
    return 0.0, 0.0


def _both(cpu: float | None, blocked: float | None) -> float | None:
    return None if cpu is None or blocked is None else cpu + blocked


def _bytes_per_sample(trials: Sequence[Trial]) -> float | None:
    for trial in trials:
        if trial.measurement.batch_bytes and trial.config.batch_size:
            return trial.measurement.batch_bytes / trial.config.batch_size
    return None


def _step_line(trials: Sequence[Trial]) -> tuple[float, float | None]:
    """Seconds of a step whatever its batch, and for each sample: of steps on kept batches if there were any.

    Else the least step time without waiting, per sample, that any trial showed.
    """
    kept: dict[int, list[float]] = {}
    found = []
    for trial in trials:
        measured, batch = trial.measurement, trial.config.batch_size
        speed = rate(measured)
        if trial.part == "cached" and batch and speed:
            kept.setdefault(batch, []).append(batch / speed)
        elif measured.step_seconds and measured.wait_share is not None and batch:
            found.append(median(measured.step_seconds) * (1 - measured.wait_share) / batch)
    if kept:
        return _line({batch: median(seconds) for batch, seconds in kept.items()})
    return 0.0, min(found) if found else None


def _line(seconds: dict[int, float]) -> tuple[float, float]:
    """Least squares over batch sizes, relative errors counting alike; neither part is below 0."""
    weights = {batch: 1 / value**2 for batch, value in seconds.items()}
    total = sum(weights.values())
    x = sum(w * batch for batch, w in weights.items()) / total
    y = sum(w * seconds[batch] for batch, w in weights.items()) / total
    across = sum(w * (batch - x) ** 2 for batch, w in weights.items())
    slope = sum(w * (batch - x) * (seconds[batch] - y) for batch, w in weights.items()) / across if across else y / x
    slope = min(max(slope, 0.0), y / x)
    return max(y - slope * x, 0.0), slope
