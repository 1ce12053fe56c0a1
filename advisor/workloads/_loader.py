"""The DataLoader of a trial, and its batches without end."""

from collections.abc import Iterator
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.model.workload import Workload
from advisor.workloads._order import Order
from advisor.workloads._tensors import bytes_of, tensors_of

SEED = 0
_END = object()


def build_loader(
    workload: Workload, config: Config, slice_index: int, timeout_seconds: float, epoch: int | None = None
) -> Any:
    """A loader of ``workload`` as ``config`` says; a worker that gives nothing for ``timeout_seconds`` is an error.

    ``epoch``: samples after which it ends; ``None``: it has no end, unless the data set is a stream.
    """
    import torch
    from torch.utils.data import DataLoader

    has_workers = config.num_workers > 0
    options: dict[str, Any] = {
        "batch_size": config.batch_size,
        "collate_fn": workload.collate_fn,
        "num_workers": config.num_workers,
        "pin_memory": config.pin_memory,
        "worker_init_fn": workload.worker_init_fn,
        "generator": torch.Generator().manual_seed(SEED),
    }
    if config.batch_size is not None:
        options["drop_last"] = epoch is None or workload.drop_last
    if has_workers:
        options["prefetch_factor"] = config.prefetch_factor
        options["persistent_workers"] = config.persistent_workers
        options["timeout"] = timeout_seconds
        options["multiprocessing_context"] = config.multiprocessing_context
    if not is_iterable(workload.dataset):
        options["sampler"] = Order(len(workload.dataset), slice_index, workload.shuffle, SEED, epoch)
    return DataLoader(workload.dataset, **options)


def is_iterable(dataset: Any) -> bool:
    """Whether it is a stream, which has an order and an end of its own."""
    from torch.utils.data import IterableDataset

    return isinstance(dataset, IterableDataset)


class Batches:
    """The batches of a loader, which is begun again when it ends; they end where it gives none after that."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.epochs = 0
        """How often it came to its end."""
        self.batch_bytes: int | None = None
        self.tensors_per_batch: int | None = None

    def __iter__(self) -> Iterator[Any]:
        while True:
            batches = iter(self.loader)
            first = next(batches, _END)
            if first is _END and self.epochs:
                return
            if first is _END:
                size = self.loader.batch_size
                raise WorkloadError(f"the data set came to its end before it gave one batch of {size} samples")
            if self.batch_bytes is None:
                self.batch_bytes = bytes_of(first)
                self.tensors_per_batch = sum(1 for _ in tensors_of(first))
            yield first
            del first  # else its memory would be held for the whole epoch
            yield from batches
            self.epochs += 1
