"""What a user's factory may return to say how its job trains. Standard library only: it is loaded in trial children."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Workload:
    """A data set and, optionally, how it is batched and trained.

    ``step(batch)`` trains one micro-batch (forward, backward; the optimizer step too when the batch is not
    accumulated); without it the loader alone is measured, against ``--step-time`` if that is given.
    """

    dataset: Any
    """A ``torch.utils.data.Dataset`` or ``IterableDataset``."""
    batch_size: int | None = None
    """Micro-batch per rank that the job uses today; ``None``: not told."""
    collate_fn: Callable[..., Any] | None = None
    step: Callable[[Any], Any] | None = None
    num_workers: int | None = None
    """What the job uses today; the baseline. ``None``: PyTorch's default."""
    prefetch_factor: int | None = None
    global_batch: int | None = None
    """Samples per optimizer step over all ranks."""
    accumulation: int | None = None
    pin_memory: bool | None = None
    persistent_workers: bool | None = None
    shuffle: bool = True
    drop_last: bool = True
    worker_init_fn: Callable[[int], None] | None = None
    optimizer_step: Callable[[], Any] | None = None
    """Called after the last micro-batch of a global batch."""
    batched: bool = False
    """Whether the data set gives whole batches by itself, as ``WebDataset(...).batched(16)`` does, and the loader is
    ``DataLoader(dataset, batch_size=None)``. Workers and prefetching alone are searched then; the samples of a batch
    are counted by the first extent of its first tensor. Excludes ``batch_size`` and ``global_batch``."""
