"""Streams whose workers share their samples, or do not; trials load them from this file."""

import itertools
import random

import torch  # noqa: TID253 - loaded in trials only
from torch.utils.data import ChainDataset, IterableDataset, get_worker_info  # noqa: TID253

from advisor import Workload


class Naive(IterableDataset):
    """Each worker gives all of it."""

    def __init__(self):
        self.samples = range(4000)

    def __iter__(self):
        for number in self.samples:
            yield torch.full((8,), float(number)), {"text": f"sample {number}"}


def chain():
    return ChainDataset([Naive(), Naive()])


def _take_a_part(worker):
    told = get_worker_info()
    told.dataset.samples = range(told.id, 4000, told.num_workers)


def by_init():
    return Workload(Naive(), worker_init_fn=_take_a_part)


class ByMethod(Naive):
    def _part(self):
        told = get_worker_info()
        return (told.id, told.num_workers) if told else (0, 1)

    def __iter__(self):
        for number in range(self._part()[0], 4000, self._part()[1]):
            yield torch.full((8,), float(number))


class Shuffled(Naive):
    def __iter__(self):
        yield from random.sample(self.samples, 4000)


class Alike(Naive):
    def __iter__(self):
        yield from itertools.repeat(torch.zeros(8))


class OneShard(Naive):
    """The second worker has nothing to do."""

    def __iter__(self):
        told = get_worker_info()
        yield from self.samples if told is None or told.id == 0 else ()


class Opaque(Naive):
    def __iter__(self):
        while True:
            yield lambda: None


class Broken(Naive):
    def __iter__(self):
        raise KeyError("no shard")
