"""Which samples a trial reads, and in which order: the same for all trials of a search."""

from collections.abc import Iterator

SLICE_SAMPLES = 16_384
"""Samples that a slice holds at least; a smaller data set is one slice."""


class Endless:
    """Indices of one slice of a seeded permutation, again and again.

    It has no end, so that a small data set stands for a large one: workers are not drained and filled every few steps.
    """

    def __init__(self, samples: int, slice_index: int, shuffle: bool, seed: int) -> None:
        slices = max(samples // SLICE_SAMPLES, 1)
        number = slice_index % slices
        self.start, self.end = samples * number // slices, samples * (number + 1) // slices
        self.samples, self.shuffle, self.seed = samples, shuffle, seed

    def __iter__(self) -> Iterator[int]:
        import torch

        if self.shuffle:
            order = torch.randperm(self.samples, generator=torch.Generator().manual_seed(self.seed))
        else:
            order = torch.arange(self.samples)
        part = order[self.start : self.end].clone()
        while True:
            for start in range(0, len(part), SLICE_SAMPLES):
                yield from part[start : start + SLICE_SAMPLES].tolist()
