"""What the search tries and what a trial brings back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["ok", "out-of-memory", "no-space-in-shm", "too-many-files", "timed-out", "user-error", "killed"]
Part = Literal["loop", "cached", "copied", "loader", "cold"]
"""What of a job a trial runs: all of it; the step alone on batches that lie where it needs them; the step on batches
that are copied to the accelerator first; the loader alone; the loader alone on samples that were not read lately."""
StartMethod = Literal["fork", "spawn", "forkserver"]
"""How multiprocessing starts a process."""
AutocastType = Literal["bfloat16"]
"""What a step may be run in: float16 needs its loss scaled, which only the job's own step can do."""


@dataclass(frozen=True)
class Config:
    """One point of the search: how the loader is built and how the global batch is cut."""

    num_workers: int = 0
    prefetch_factor: int | None = None
    """``None`` when there are no workers."""
    batch_size: int | None = None
    """Micro-batch per rank; ``None``: the data set batches by itself."""
    accumulation: int = 1
    """Micro-batches per optimizer step."""
    pin_memory: bool = False
    persistent_workers: bool = False
    multiprocessing_context: StartMethod | None = None
    """How workers are started; ``None``: as the platform does it."""
    amp: AutocastType | None = None
    """What the step is run in by ``torch.autocast``; ``None``: the step is as the job has it."""

    def key(self) -> str:
        """A short stable name: ``w4 p2 b32 a2``, and what else was asked for: ``w4 p2 b32 a2 forkserver``."""
        prefetch = "-" if self.prefetch_factor is None else str(self.prefetch_factor)
        batch = "-" if self.batch_size is None else str(self.batch_size)
        further = [f" {name}" for name in (self.multiprocessing_context, self.amp) if name is not None]
        return f"w{self.num_workers} p{prefetch} b{batch} a{self.accumulation}{''.join(further)}"


@dataclass(frozen=True)
class Measurement:
    """What one trial process measured. Times are seconds of a monotonic clock."""

    outcome: Outcome
    message: str = ""
    """For other outcomes than ``ok``: one line, with the text that identified the cause."""
    samples_per_second: tuple[float, ...] = ()
    """One rate per window, data time included."""
    wait_share: float | None = None
    """Share of the measured time that the loop waited for data."""
    startup_seconds: float | None = None
    """From building the loader to its first batch."""
    step_seconds: tuple[float, ...] = ()
    """Median step time per window."""
    peak_rss_bytes: int | None = None
    """Sum over the trial's processes, sampled (shared pages counted once where the kernel tells)."""
    peak_shm_bytes: int | None = None
    peak_vram_bytes: int | None = None
    batch_bytes: int | None = None
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, float | int | str] = field(default_factory=dict)
    """Further figures for tuning.json (samples, discarded steps, cpu seconds per sample ...)."""


@dataclass(frozen=True)
class Trial:
    """A configuration and what came of it."""

    number: int
    config: Config
    measurement: Measurement
    origin: str = ""
    """Who proposed it: baseline, rule, search, repeat, final."""
    part: Part = "loop"


@dataclass(frozen=True)
class Parameter:
    """One dimension of a Space: the values it may take, ascending."""

    name: str
    choices: tuple[int, ...]
    why: str
    """What bounds it, for the report."""


@dataclass(frozen=True)
class Space:
    """All dimensions; a dimension with one choice is fixed."""

    parameters: tuple[Parameter, ...]

    def choices(self, name: str) -> tuple[int, ...]:
        """The values that parameter ``name`` may take."""
        return next(p.choices for p in self.parameters if p.name == name)
