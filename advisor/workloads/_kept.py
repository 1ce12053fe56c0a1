"""The batches that a trial without a loader goes round in."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from advisor.workloads._tensors import arrays_of, bytes_of, copied, on_device, same_tensors, versions_of

MOST_KEPT, MOST_KEPT_BYTES = 8, 128 * 1024 * 1024
"""Some, so that no single one decides; not all memory."""
COPIED = "changed in place by the step, which therefore got copies: the time of copying is in the figure"


class KeptBatches:
    """The first few of ``batches``, again and again, on ``device`` if one is told.

    The step on them is as fast as with a loader that never lets it wait. One that changes its batch in place
    (``batch.sub_(mean)``) would find it changed again and again, and soon compute on infinities, or on denormals, which
    are slow; as soon as that is seen, it gets a copy of a batch each time. Containers are made anew in any case.
    """

    def __init__(self, batches: Iterator[Any], device: str | None) -> None:
        self.changed = False
        """Whether the step was seen to change a batch, so that copies are handed out."""
        self._batches, self._device = batches, device

    def __iter__(self) -> Iterator[Any]:
        kept = [self._next()]
        untouched = copied(kept[0])
        yield from self._handed_out(kept[0])
        # What changes an array leaves no trace but the change itself.
        self.changed |= [array.tobytes() for array in arrays_of(kept[0])] != [a.tobytes() for a in arrays_of(untouched)]
        if self.changed:
            kept[0] = untouched
        del untouched
        while len(kept) < MOST_KEPT and len(kept) * bytes_of(kept[0]) < MOST_KEPT_BYTES:
            try:
                kept.append(self._next())
            except StopIteration:
                break
            yield from self._handed_out(kept[-1])
        for batch in cycle(kept):
            yield from self._handed_out(batch)

    def _next(self) -> Any:
        batch = next(self._batches)
        return on_device(batch, self._device) if self._device is not None else batch

    def _handed_out(self, batch: Any) -> Iterator[Any]:
        """``batch`` for one step, and a look at what the step has done to it."""
        if self.changed:
            yield copied(batch)
            return
        before = versions_of(batch)
        yield same_tensors(batch)
        self.changed = versions_of(batch) != before
