"""The training step of a trial as a configuration wants it run."""

from collections.abc import Callable
from typing import Any

from advisor.workloads._device import has_gpu

Step = Callable[[Any], Any]


def in_autocast(step: Step, amp: str | None) -> Step:
    """``step`` inside ``torch.autocast`` to the type called ``amp``, where it runs; ``None``: as it is."""
    if amp is None:
        return step
    import torch

    device, dtype = "cuda" if has_gpu() else "cpu", getattr(torch, amp)

    def cast(batch: Any) -> Any:
        with torch.autocast(device, dtype=dtype):
            return step(batch)

    return cast
