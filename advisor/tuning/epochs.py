"""An epoch, where it is so short that its begin and end decide. Pure; it is used in trials too."""

from dataclasses import dataclass

NEAR = 16
"""Times the batches that workers keep ready: with fewer in an epoch its begin, when none is ready, costs some per cent.
Workers that stay, too, load what the next epoch needs only once it is begun."""


def batches_of(samples: int, size: int, drop_last: bool) -> int:
    """Batches of an epoch, as a DataLoader makes them."""
    return samples // size if drop_last else -(-samples // size)


@dataclass(frozen=True)
class Epoch:
    """Of one rank."""

    samples: int
    drop_last: bool

    def batches(self, size: int) -> int:
        """Of a micro-batch of ``size``."""
        return batches_of(self.samples, size, self.drop_last)

    def bound(self, size: int) -> tuple[int, str]:
        """The most workers that have something to do, and why."""
        batches = self.batches(size)
        return batches, f"batches of an epoch ({batches} of {size} out of {self.samples} samples of one rank)"

    def note(self, today: int) -> str | None:
        """What the reader is to know of today's micro-batch; ``None``: it is full."""
        if self.samples >= today:
            return None
        meaning = "with drop_last its loader gives no batch at all" if self.drop_last else "no batch is full"
        return f"an epoch of one rank has {self.samples} samples, fewer than the micro-batch of {today}: {meaning}"
