"""Which samples a trial reads, and in which order: the same for all trials of a search."""

from collections.abc import Iterator
from typing import Any

SLICE_SAMPLES = 16_384
"""Samples that a slice holds at least; a smaller data set is one slice."""
MOST_PERMUTED = 1 << 24
"""Of more samples no whole permutation is made: it would take their number times eight bytes."""
TURNS = 6
_64_BITS = (1 << 64) - 1


class Order:
    """Indices of one slice of a seeded permutation, again and again without an end, or of one epoch."""

    def __init__(self, samples: int, slice_index: int, shuffle: bool, seed: int, epoch: int | None = None) -> None:
        """``epoch``: samples of one; after so many of the permutation, from its beginning on, there is an end."""
        slices = max(samples // SLICE_SAMPLES, 1)
        number = slice_index % slices
        self.start, self.end = samples * number // slices, samples * (number + 1) // slices
        self.ends = epoch is not None
        if epoch is not None:
            self.start, self.end = 0, min(epoch, samples)
        self.samples, self.shuffle, self.seed = samples, shuffle, seed

    def __iter__(self) -> Iterator[int]:
        part = self._part()
        while True:
            for start in range(0, len(part), SLICE_SAMPLES):
                yield from self._indices(part[start : start + SLICE_SAMPLES])
            if self.ends:
                return

    def _part(self) -> Any:
        """The slice; of a large data set the positions of its indices in the permutation, which is not made."""
        import torch

        if not self.shuffle or self.samples > MOST_PERMUTED:
            return range(self.start, self.end)
        order = torch.randperm(self.samples, generator=torch.Generator().manual_seed(self.seed))
        return order[self.start : self.end].clone()

    def _indices(self, part: Any) -> Any:
        if not isinstance(part, range):
            return part.tolist()
        return (permuted(position, self.samples, self.seed) for position in part) if self.shuffle else part


def permuted(position: int, samples: int, seed: int) -> int:
    """What lies at ``position`` of a permutation of so many samples, which only the seed decides.

    A Feistel network is a permutation of twice as many bits as its halves have; what falls outside of the data set is
    permuted again, which at most three of four do.
    """
    half = max(((samples - 1).bit_length() + 1) // 2, 1)
    mask = (1 << half) - 1
    while True:
        left, right = position >> half, position & mask
        for turn in range(TURNS):
            left, right = right, left ^ (_mixed(right, turn, seed) & mask)
        position = left << half | right
        if position < samples:
            return position


def _mixed(value: int, turn: int, seed: int) -> int:
    """A hash of 64 bits: the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom generators)."""
    mixed = value + (seed * TURNS + turn + 1) * 0x9E3779B97F4A7C15 & _64_BITS
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _64_BITS
    return mixed ^ mixed >> 31
