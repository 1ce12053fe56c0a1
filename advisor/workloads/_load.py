"""A workload by its name, in the process that trains. Standard library and torch only."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload

BUILT_IN = ("image-files",)


@dataclass(frozen=True)
class Loaded:
    """A workload that is ready to be measured."""

    workload: Workload
    has_step: bool
    bare: bool
    """The factory gave a data set only: nothing is known of how it is trained."""
    step: Callable[[Any], Any] | None
    optimizer_step: Callable[[], Any] | None
    fingerprint: str
    """Of the data and the code, as far as it can be told without reading all of it."""
    length: int | None
    """Samples; ``None`` for an IterableDataset that does not tell."""
    iterable: bool


def load(name: str, data: str | None) -> Loaded:
    """The workload ``image-files``, ``FILE.py:factory`` or ``package.module:factory``. Raises WorkloadError."""
    if name in BUILT_IN:
        built_in = importlib.import_module(f"advisor.workloads.{name.replace('-', '_')}")
        workload, fingerprint = built_in.make(data)
        return _loaded(workload, False, fingerprint, name)
    from advisor.workloads.user import make

    made, fingerprint = make(name)
    return _loaded(
        made if isinstance(made, Workload) else Workload(made), not isinstance(made, Workload), fingerprint, name
    )


def _loaded(workload: Workload, bare: bool, fingerprint: str, name: str) -> Loaded:
    from torch.utils.data import IterableDataset

    iterable = isinstance(workload.dataset, IterableDataset)
    if not iterable and not hasattr(workload.dataset, "__getitem__"):
        raise WorkloadError(
            f"{name} must give a torch.utils.data.Dataset or an advisor.Workload around one "
            f"but gave {type(workload.dataset).__name__}, which has no __getitem__"
        )
    length = _length(workload.dataset, iterable, name)
    return Loaded(
        workload=workload,
        has_step=workload.step is not None,
        bare=bare,
        step=workload.step,
        optimizer_step=workload.optimizer_step,
        fingerprint=f"{fingerprint} {type(workload.dataset).__qualname__} {length}",
        length=length,
        iterable=iterable,
    )


def _length(dataset: Any, iterable: bool, name: str) -> int | None:
    try:
        length = len(dataset)
    except (TypeError, NotImplementedError):
        if iterable:
            return None
        raise WorkloadError(f"the data set of {name} has no length; a Dataset needs __len__") from None
    if length < 1:
        raise WorkloadError(f"the data set of {name} is empty (its length is {length})")
    return int(length)
