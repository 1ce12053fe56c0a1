"""The accelerator of a trial: whether there is one, how long it was busy, how much of its memory was taken."""

from collections.abc import Callable
from typing import Any

ALLOCATED, RETRIES = "vram_allocated_bytes", "vram_alloc_retries"
"""Notes of a measurement: the most that tensors took, and how often the memory was so full that PyTorch gave cached
blocks back and tried again (torch.cuda.memory_stats)."""


def has_gpu() -> bool:
    """Whether torch can use one."""
    import torch

    return torch.cuda.is_available()


def memory_bytes() -> tuple[int | None, int | None]:
    """All of the device's memory, and what of it a process can have once it has its context; ``None``: not known."""
    import torch

    if not has_gpu():
        return None, None
    try:
        free, total = torch.cuda.mem_get_info()
    except (RuntimeError, AttributeError):  # it may be full already, or belong to somebody else alone
        return None, None
    return int(total), int(free) + int(torch.cuda.memory_reserved())  # a model that lies there already is the step's


def peak_bytes() -> int | None:
    """The most that PyTorch's allocator held of the device's memory."""
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    return int(torch.cuda.max_memory_reserved())


def memory_notes() -> dict[str, int]:
    """What else the allocator tells; nothing without an accelerator."""
    import torch

    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return {}
    retries = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    return {ALLOCATED: int(torch.cuda.max_memory_allocated()), RETRIES: int(retries)}


class DeviceClock:
    """How long the accelerator had work: a step is queued and returns early, so the loop's own clock cannot tell."""

    def __init__(self) -> None:
        self._spans: list[tuple[Any, Any]] = []
        self._total = 0.0

    def timed(self, run: Callable[..., Any]) -> Callable[..., None]:
        """``run`` between two marks in the device's queue."""
        import torch

        def marked(*arguments: Any) -> None:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
            begin.record()
            run(*arguments)
            end.record()
            self._spans.append((begin, end))

        return marked

    def finish(self) -> None:
        """Waits until the device has done all that is queued."""
        import torch

        torch.cuda.synchronize()

    def busy_seconds(self) -> float:
        """Since the beginning; waits until the device has done all that is queued."""
        self.finish()
        self._total += sum(begin.elapsed_time(end) for begin, end in self._spans) / 1000
        self._spans.clear()
        return self._total
