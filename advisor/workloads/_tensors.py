"""What is in a batch, whatever its nesting."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

MOST_DEPTH = 8


def tensors_of(batch: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors and arrays in ``batch``, in order."""
    if hasattr(batch, "nbytes") and hasattr(batch, "shape"):
        yield batch
    elif depth < MOST_DEPTH:
        for part in _parts(batch):
            yield from tensors_of(part, depth + 1)


def _parts(batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return batch.values()
    if isinstance(batch, (list, tuple)):
        return batch
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        return [getattr(batch, field.name) for field in dataclasses.fields(batch)]
    if hasattr(batch, "data") and isinstance(getattr(batch, "data", None), Mapping):
        return batch.data.values()  # as the BatchEncoding of transformers
    return ()


def on_device(batch: Any, device: str) -> Any:
    """``batch`` with its tensors on ``device``, as far as its containers can be rebuilt; else as it is."""
    if hasattr(batch, "nbytes") and hasattr(batch, "to"):
        return batch.to(device)
    if type(batch) is dict:
        return {key: on_device(value, device) for key, value in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(on_device(value, device) for value in batch)
    if isinstance(batch, tuple) and hasattr(batch, "_make"):
        return type(batch)._make(on_device(value, device) for value in batch)
    return batch


def bytes_of(batch: Any) -> int:
    """Bytes of all tensors in ``batch``."""
    return sum(int(tensor.nbytes) for tensor in tensors_of(batch))


def samples_in(batch: Any) -> int:
    """Samples in a batch that the data set made itself: the first extent of its first tensor that has one."""
    for tensor in tensors_of(batch):
        if len(tensor.shape) > 0:
            return int(tensor.shape[0])
    return len(batch) if isinstance(batch, (list, tuple)) else 1
