"""What is in a batch, whatever its nesting."""

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
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
    return _rebuilt(batch, lambda tensor: tensor.to(device) if hasattr(tensor, "to") else tensor, _as_it_is)


def same_tensors(batch: Any) -> Any:
    """``batch`` with its own tensors in new containers, as far as these can be rebuilt."""
    return _rebuilt(batch, _as_it_is, _as_it_is)


def copied(batch: Any) -> Any:
    """A copy of ``batch`` that shares no memory with it; pinned where the batch is."""
    return _rebuilt(batch, _copy_of, _deep_copy)


def _rebuilt(batch: Any, of_tensor: Callable[[Any], Any], of_other: Callable[[Any], Any]) -> Any:
    if hasattr(batch, "nbytes") and hasattr(batch, "shape"):
        return of_tensor(batch)
    if type(batch) is dict:
        return {key: _rebuilt(value, of_tensor, of_other) for key, value in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(_rebuilt(value, of_tensor, of_other) for value in batch)
    if isinstance(batch, tuple) and hasattr(batch, "_make"):
        return type(batch)._make(_rebuilt(value, of_tensor, of_other) for value in batch)
    return of_other(batch)


def _as_it_is(part: Any) -> Any:
    return part


def _copy_of(tensor: Any) -> Any:
    if not hasattr(tensor, "clone"):
        return tensor.copy()  # an array
    if not tensor.is_pinned():
        return tensor.detach().clone()
    import torch

    return torch.empty_like(tensor, pin_memory=True).copy_(tensor)


def _deep_copy(part: Any) -> Any:
    try:
        return copy.deepcopy(part)
    except (TypeError, RuntimeError, copy.Error):
        return part  # it holds what cannot be copied


def arrays_of(batch: Any) -> list[Any]:
    """What is in ``batch`` beside tensors: the arrays of numpy."""
    return [part for part in tensors_of(batch) if not hasattr(part, "clone")]


def versions_of(batch: Any) -> list[int]:
    """How often each tensor of ``batch`` was changed in place, but for those that keep no count."""
    tensors = [part for part in tensors_of(batch) if hasattr(part, "clone")]
    return [tensor._version for tensor in tensors if not tensor.is_inference()]


def bytes_of(batch: Any) -> int:
    """Bytes of all tensors in ``batch``."""
    return sum(int(tensor.nbytes) for tensor in tensors_of(batch))


def samples_in(batch: Any) -> int:
    """Samples in a batch that the data set made itself: the first extent of its first tensor that has one."""
    for tensor in tensors_of(batch):
        if len(tensor.shape) > 0:
            return int(tensor.shape[0])
    return len(batch) if isinstance(batch, (list, tuple)) else 1
