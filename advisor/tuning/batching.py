"""How the global batch is cut into ranks, micro-batches and accumulation; it never changes during a search."""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace

from advisor.errors import InputError
from advisor.model.trial import Config

ASSUMED_BATCH = 64
"""Micro-batch of each rank where neither the operator nor the workload tells a batch; said wherever it is written."""
ASSUMED = "assumed, as neither the workload nor --global-batch tells a batch"
BY_ITSELF = "the data set gives whole batches by itself"
TELL_IT = "tell it by --global-batch N, or by batch_size of advisor.Workload"
PYTORCH_PREFETCH = 2
"""DataLoader's default once there are workers."""
SMALLEST_PART = 4
"""Micro-batches below a quarter of today's are not tried: they only add steps to the same work."""


@dataclass(frozen=True)
class Declared:
    """What the job does today, as far as the workload says; ``None``: not told."""

    num_workers: int | None = None
    prefetch_factor: int | None = None
    batch_size: int | None = None
    accumulation: int | None = None
    global_batch: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    has_step: bool = False
    batched: bool = False
    """Whether the data set gives whole batches by itself."""

    def told(self) -> tuple[str, ...]:
        """Names of what it tells of the loader and the batch."""
        told = (one.name for one in fields(self) if one.default is None and getattr(self, one.name) is not None)
        return (*told, "batched") if self.batched else tuple(told)


@dataclass(frozen=True)
class Batching:
    """``batch_size x accumulation x ranks = global_batch`` for every choice.

    Of a data set that gives whole batches by itself, one such batch is the unit: ``choices`` holds 1 alone.
    """

    global_batch: int | None
    """``None``: the data set gives whole batches by itself."""
    ranks: int
    choices: tuple[int, ...]
    """Micro-batches per rank, ascending; one: the micro-batch is not searched."""
    today: int
    """The micro-batch of the baseline."""
    origin: str
    """Who told the global batch."""
    notes: tuple[str, ...] = ()
    """What the reader must know of it."""
    assumed: bool = False
    """Whether nobody told a batch."""
    batches_per_step: int = 1
    """Of a data set that gives whole batches by itself: the accumulation."""

    def accumulation(self, batch_size: int) -> int:
        """Micro-batches of each rank per optimizer step."""
        if self.global_batch is None:
            return self.batches_per_step
        return self.global_batch // self.ranks // batch_size

    def batch_size(self, batch: int) -> int | None:
        """What DataLoader is given for a micro-batch of the choices."""
        return None if self.global_batch is None else batch


def batching(declared: Declared, ranks: int, asked: int | None) -> Batching:
    """How the global batch of ``--global-batch`` (``asked``), else of the workload, may be cut.

    Where nobody tells a batch there is none to hold fixed: the micro-batch is assumed, and not searched.
    """
    if declared.batched:
        if asked is not None:
            raise InputError(
                f"--global-batch {asked}: the workload's data set gives whole batches by itself (batched=True), so "
                "there is none to cut; leave --global-batch out"
            )
        return Batching(None, ranks, (1,), 1, BY_ITSELF, batches_per_step=declared.accumulation or 1)
    total, origin = _global_batch(declared, ranks, asked)
    if total is None:
        total = ASSUMED_BATCH * (declared.accumulation or 1) * ranks
        return Batching(total, ranks, (ASSUMED_BATCH,), ASSUMED_BATCH, ASSUMED, (_assumed_note(),), assumed=True)
    _refuse_what_does_not_divide(declared, ranks, total, origin)
    per_rank = total // ranks
    today = declared.batch_size or per_rank // (declared.accumulation or 1)
    if not declared.has_step:
        return Batching(total, ranks, (today,), today, origin)
    choices = tuple(b for b in divisors(per_rank) if b * SMALLEST_PART >= today)
    return Batching(total, ranks, choices, today, origin)


def without(cut: Batching, sizes: Collection[int]) -> Batching:
    """``cut`` with fewer micro-batches to try; today's stays."""
    return replace(cut, choices=tuple(c for c in cut.choices if c == cut.today or c not in sizes))


def baseline(declared: Declared, cut: Batching) -> Config:
    """What the job does today; PyTorch's defaults for what it does not tell."""
    workers = declared.num_workers or 0
    return Config(
        num_workers=workers,
        prefetch_factor=(declared.prefetch_factor or PYTORCH_PREFETCH) if workers else None,
        batch_size=cut.batch_size(cut.today),
        accumulation=cut.accumulation(cut.today),
        pin_memory=bool(declared.pin_memory),
        persistent_workers=workers > 0 and bool(declared.persistent_workers),
    )


def candidate(workers: int, prefetch: int | None, batch: int, cut: Batching, pin_memory: bool) -> Config:
    """A point of the search with all that follows from it."""
    return Config(
        num_workers=workers,
        prefetch_factor=(prefetch or PYTORCH_PREFETCH) if workers else None,
        batch_size=cut.batch_size(batch),
        accumulation=cut.accumulation(batch),
        pin_memory=pin_memory,
        persistent_workers=workers > 0,
    )


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [n for n in range(1, int(number**0.5) + 1) if number % n == 0]
    return tuple(sorted({*small, *(number // n for n in small)}))


def _global_batch(declared: Declared, ranks: int, asked: int | None) -> tuple[int | None, str]:
    if asked is not None:
        return asked, "--global-batch"
    if declared.global_batch is not None:
        return declared.global_batch, "the workload's"
    if declared.batch_size is not None:
        return declared.batch_size * (declared.accumulation or 1) * ranks, "the workload's batch size times ranks"
    return None, ASSUMED


def _assumed_note() -> str:
    return f"a batch size of {ASSUMED_BATCH} is {ASSUMED}: the figures are those of such batches; {TELL_IT}"


def _refuse_what_does_not_divide(declared: Declared, ranks: int, total: int, origin: str) -> None:
    """Raises InputError for a global batch that the job cannot have: any other would be another job."""
    part, named, other = 1, "", " or another --ranks"
    if declared.batch_size is not None:
        part, named = declared.batch_size, f" times the job's micro-batch ({declared.batch_size})"
        other = ", or correct batch_size of advisor.Workload"
    elif declared.accumulation is not None:
        part, named = declared.accumulation, f" times the job's accumulation ({declared.accumulation})"
        other = ", or correct accumulation of advisor.Workload"
    unit = ranks * part
    if total < 1 or total % unit:
        below, above = total // unit * unit, (total // unit + 1) * unit
        nearest = f"{below} or {above}" if below else f"{above}"
        raise InputError(
            f"the global batch ({total}, {origin}) must be a multiple of the ranks ({ranks}){named}: "
            f"give --global-batch {nearest}{other}"
        )
