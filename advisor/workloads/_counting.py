"""How many samples a batch holds, whatever ``collate_fn`` has made of them."""

from typing import Any

from advisor.workloads._tensors import samples_in, tensors_of

LOOKED_AT = 16
"""Batches; the rest counts as what they are."""


class Counted:
    """Counts samples: of batches that are made of ``size`` of them, or of ``last`` at the end of an epoch."""

    def __init__(self, size: int, last: int | None = None) -> None:
        self.size, self.last = size, last
        self.others: dict[int, int] = {}
        """How often another number of samples was found in a batch."""
        self._looked = 0

    def __call__(self, batch: Any) -> int:
        if self._looked >= LOOKED_AT and self.last is None and not self.others:
            return self.size
        self._looked += 1
        extents = _extents(batch)
        if self.size in extents:
            return self.size
        if self.last is not None and self.last in extents:
            return self.last
        found = samples_in(batch)
        if not self._is_a_number_of_samples(found):
            return self.size
        self.others[found] = self.others.get(found, 0) + 1
        return found

    def _is_a_number_of_samples(self, found: int) -> bool:
        """Else it counts tokens, nodes or the one row that all samples were packed in."""
        return found == 0 or 1 < found < self.size or (found > self.size and found % self.size == 0)

    def says(self) -> str | None:
        """What the reader is to know; ``None``: batches hold what they are made of."""
        if not self.others:
            return None
        return (
            f"collate_fn makes batches of {', '.join(map(str, sorted(self.others)))} out of {self.size} samples, and "
            "rates count what the batches hold"
        )


def _extents(batch: Any) -> set[int]:
    extents = {int(extent) for tensor in tensors_of(batch) for extent in tensor.shape}
    return extents | {len(batch)} if isinstance(batch, (list, tuple)) and not extents else extents
