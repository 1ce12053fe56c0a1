"""The memory of the accelerator: what a step takes of it by its micro-batch, and what it may take. Pure.

``peak(B) = max(flat, start + per_sample * B)``: small micro-batches are below the peak of the optimizer's update, which
does not depend on them; above that knee activations grow with each sample.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from advisor.figures import count_text, size_text
from advisor.model.trial import Measurement, Trial
from advisor.workloads._device import ALLOCATED, RETRIES

VRAM_SHARE = 0.9
"""Of all memory: the rest is for evaluation, checkpoints and fragments."""
ASSUMED_CONTEXT_BYTES = 1 << 30
"""Of an accelerator that is not here: its context and libraries take hundreds of MB outside PyTorch's allocator."""
LEAST_FACTOR = 1.05
"""Reserved over allocated: the allocator never hands out all that it holds."""
TOLERANCE = 0.02
"""Of a peak: by how much it may lie off the line."""
RISE = 0.05
"""Of the largest peak: a line that rises by less over all that is known may as well be the flat part."""
WITHOUT_STEP = ("loader", "cold")
_FULL = re.compile(
    r"(?:CUDA|HIP) out of memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS|num_alloc_retries|the accelerator's memory"
)
"""Not ``CUDA error: out of memory``: pinned memory of the host that cannot be had is told so too."""
ESTIMATE = (
    "an estimate of the step as it runs here: within 10 % in PyTorch's own tests, and kernels of a GPU may keep other "
    "tensors"
)
BUCKETS = "; the buckets of DistributedDataParallel, as large as all gradients unless they share memory, come on top"
"""A trial is one process: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"""


@dataclass(frozen=True)
class Line:
    """How the peak of a step grows with its micro-batch."""

    flat: float
    """The peak of small micro-batches; 0: none was seen."""
    start: float
    per_sample: float
    sure: bool
    """Whether it is known to be the part that rises; if not, larger micro-batches may take more than it says."""

    def at(self, batch: int) -> float:
        """Bytes with this micro-batch."""
        return max(self.flat, self.start + self.per_sample * batch)


def fit(peaks: Mapping[int, float]) -> Line | None:
    """The line through the largest micro-batches that lie on one; ``None`` for fewer than two."""
    sizes = sorted(peaks)
    if len(sizes) < 2:
        return None
    for lowest in range(len(sizes) - 1):
        above = sizes[lowest:]
        start, slope = _straight({size: peaks[size] for size in above})
        if all(abs(start + slope * size - peaks[size]) <= TOLERANCE * peaks[size] for size in above):
            break
    flat = max((peaks[s] for s in sizes[:lowest] if peaks[s] > start + slope * s), default=0.0)
    rises = slope * (above[-1] - above[0]) > RISE * peaks[above[-1]]
    beyond_the_knee = len(above) >= 3 or (flat > 0 and peaks[above[0]] > flat * (1 + TOLERANCE))
    return Line(flat, start, slope, rises and beyond_the_knee)


def _straight(peaks: Mapping[int, float]) -> tuple[float, float]:
    """Least squares of relative errors; a line that does not fall."""
    weights = {size: 1 / max(peak, 1.0) ** 2 for size, peak in peaks.items()}
    total = sum(weights.values())
    x = sum(w * size for size, w in weights.items()) / total
    y = sum(w * peaks[size] for size, w in weights.items()) / total
    across = sum(w * (size - x) ** 2 for size, w in weights.items())
    slope = max(sum(w * (size - x) * (peaks[size] - y) for size, w in weights.items()) / across, 0.0)
    return y - slope * x, slope


@dataclass(frozen=True)
class Peak:
    """What one micro-batch took at most."""

    batch_size: int
    allocated_bytes: int
    """By tensors."""
    reserved_bytes: int | None = None
    """By the allocator; ``None``: an estimate, which knows nothing of it."""
    accumulates: bool = True
    """Whether gradients are kept from one micro-batch to the next, so that they lie beside its activations."""


@dataclass(frozen=True)
class Peaks:
    """What is known of some micro-batches, and what follows for others."""

    known: tuple[Peak, ...] = ()

    @property
    def line(self) -> Line | None:
        """Of what tensors take. The one micro-batch that is all of the optimizer's step may lie below it."""
        alike = [peak for peak in self.known if peak.accumulates]
        counted = alike if len(alike) > 1 else self.known
        return fit({peak.batch_size: float(peak.allocated_bytes) for peak in counted})

    @property
    def factor(self) -> float:
        """What the allocator holds for each byte of tensors, as the largest micro-batch shows: small ones round up."""
        largest = max(self.known, key=lambda peak: peak.batch_size, default=None)
        if largest is None or largest.reserved_bytes is None:
            return LEAST_FACTOR
        return max(largest.reserved_bytes / max(largest.allocated_bytes, 1), LEAST_FACTOR)

    def predicted(self, batch: int) -> float | None:
        """Bytes that the allocator will hold; ``None``: not known.

        Beyond a line that is not sure it is the least that can be, as a peak never grows slower for larger batches.
        """
        same = next((peak for peak in self.known if peak.batch_size == batch), None)
        if same is not None:
            return float(same.reserved_bytes or self.factor * same.allocated_bytes)
        line = self.line
        return None if line is None else self.factor * line.at(batch)

    def fits(self, batch: int, limit_bytes: float) -> bool | None:
        """Whether a micro-batch keeps within the limit; ``None``: not known."""
        predicted = self.predicted(batch)
        if predicted is None or predicted > limit_bytes:
            return None if predicted is None else False
        line = self.line
        is_known = batch <= max(peak.batch_size for peak in self.known)
        return True if is_known or (line is not None and line.sure) else None


def learn_peaks(trials: Sequence[Trial]) -> Peaks:
    """What the trials that took a step on an accelerator show; the most that was seen of each micro-batch."""
    found: dict[int, Peak] = {}
    for trial in trials:
        measured, batch = trial.measurement, trial.config.batch_size
        reserved = measured.peak_vram_bytes
        if reserved and batch and trial.part not in WITHOUT_STEP and not retries(measured):
            told = measured.notes.get(ALLOCATED)
            allocated = told if isinstance(told, int) and told > 0 else reserved
            peak = Peak(batch, allocated, reserved, trial.config.accumulation > 1)
            found[batch] = max(found.get(batch, peak), peak, key=lambda one: one.allocated_bytes)
    return Peaks(tuple(found[batch] for batch in sorted(found)))


def retries(measured: Measurement) -> int:
    """How often the memory was full, so that the allocator gave cached blocks back and tried again."""
    told = measured.notes.get(RETRIES)
    return told if isinstance(told, int) else 0


def is_full(measured: Measurement) -> bool:
    """Whether the accelerator had too little memory: a matter of the micro-batch alone, whatever the loader."""
    ran_out = measured.outcome == "out-of-memory" and _FULL.search(measured.message) is not None
    return ran_out or retries(measured) > 0


def with_room(measured: Measurement, limit_bytes: float | None) -> Measurement:
    """``measured``, but out of memory if it left the accelerator less than a job needs beside its steps."""
    if measured.outcome != "ok":
        return measured
    if again := retries(measured):
        said = (
            f"the accelerator's memory was full {count_text(again, 'time')}, and blocks given back (num_alloc_retries)"
        )
        return replace(measured, outcome="out-of-memory", message=said)
    taken = measured.peak_vram_bytes
    if limit_bytes is not None and taken is not None and taken > limit_bytes:
        said = f"{size_text(taken)} of the accelerator's memory, more than the {size_text(int(limit_bytes))} for steps"
        return replace(measured, outcome="out-of-memory", message=said)
    return measured


def limit_bytes(total_bytes: int, taken_bytes: int, ranks: int = 1) -> int:
    """What a step may take of an accelerator that ``ranks`` share; ``taken_bytes``: by others and the context."""
    return max(int(VRAM_SHARE * total_bytes) - taken_bytes, 0) // max(ranks, 1)


@dataclass(frozen=True)
class Vram:
    """What tuning.json keeps of it."""

    basis: Literal["measured", "estimated", "unknown"]
    limit_bytes: int
    """What a step may take."""
    says: str
    """One sentence."""
    peaks: tuple[Peak, ...] = ()
    per_sample_bytes: float | None = None
    """Of micro-batches above the flat part."""
    left_out: tuple[int, ...] = ()
    """Micro-batches that were not tried for it."""


def measured_vram(trials: Sequence[Trial], limit: int | None, choices: Sequence[int]) -> Vram | None:
    """What the trials on an accelerator say; ``None`` without one."""
    peaks = learn_peaks(trials)
    if limit is None:
        return None
    full = max((retries(t.measurement) for t in trials if t.measurement.outcome == "ok"), default=0)
    note = (
        f"; it was full {count_text(full, 'time')} with today's micro-batch, which slows its steps: try a smaller one"
        if full
        else ""
    )
    if not peaks.known:
        return Vram("unknown", limit, f"the accelerator's memory{note.removeprefix('; it')}") if full else None
    least = peaks.known[0].batch_size
    ran = {t.config.batch_size for t in trials if t.part == "loop" and t.measurement.outcome == "ok"}
    left_out = tuple(c for c in choices if c > least and c not in ran and peaks.fits(c, limit) is False)
    return _told("measured", peaks, limit, left_out, note)


def estimated_vram(known: Mapping[int, int], limit: int, choices: Sequence[int], today: int) -> Vram:
    """What an estimate by micro-batch says of an accelerator that is not here. Today's is never left out.

    The largest of ``choices`` is all of an optimizer's step.
    """
    peaks = Peaks(tuple(Peak(size, known[size], None, size != max(choices)) for size in sorted(known)))
    left_out = tuple(c for c in choices if c != today and peaks.fits(c, limit) is False)
    notes = [f" ({ESTIMATE})"]
    if peaks.fits(today, limit) is False:
        notes.append(f"; today's micro-batch of {today} does not seem to fit, and was tried as it is today's")
    unknown = [c for c in choices if peaks.fits(c, limit) is None]
    if unknown:
        notes.append(f"; of {_listed(unknown)} it is not known")
    return _told("estimated", peaks, limit, left_out, "".join(notes))


def unknown_vram(limit: int, why: str) -> Vram:
    """Where nothing could be estimated."""
    return Vram("unknown", limit, f"not estimated, so no micro-batch was left out for it: {why}")


def of_each(vram: Vram | None, ranks: int) -> Vram | None:
    """What one process showed, as it stands for several."""
    if vram is None or vram.basis == "unknown" or ranks < 2:
        return vram
    return replace(vram, says=vram.says + BUCKETS)


def _told(
    basis: Literal["measured", "estimated"], peaks: Peaks, limit: int, left_out: Sequence[int], note: str
) -> Vram:
    parts = [f"{size_text(peak.reserved_bytes or peak.allocated_bytes)} with {peak.batch_size}" for peak in peaks.known]
    noun = "sample" if peaks.known[-1].batch_size == 1 else "samples"
    says = f"a step takes {', '.join(parts)} {noun} in a micro-batch"
    line = peaks.line
    if line is not None and line.sure:
        says += f", {size_text(round(line.per_sample))} for each sample more"
    says += f"{note}; {size_text(limit)} may be planned with"
    if left_out:
        says += f", so {_listed(left_out)} {'was' if len(left_out) == 1 else 'were'} left out"
    slope = line.per_sample if line is not None else None
    return Vram(basis, limit, f"{basis}: {says}", peaks.known, slope, tuple(left_out))


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
