"""Data sets that cannot be used in forked workers; trials load them from this file."""

import os
import time

import torch  # noqa: TID253 - loaded in trials only
from torch.utils.data import Dataset  # noqa: TID253

from advisor import Workload

LOADED_IN = os.getpid()
"""The process that has imported this file: a forked worker has not, one that is started anew has."""


class Samples(Dataset):
    """What waits 20 ms each, where workers are not forked."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        if os.getpid() != LOADED_IN:
            self.forked()
        time.sleep(0.02)
        return torch.full((16,), float(index))

    def forked(self):
        text = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the"
        raise RuntimeError(f"{text} 'spawn' start method")


class Hangs(Samples):
    def forked(self):
        time.sleep(1000)


def uses_cuda():
    return Workload(Samples(), batch_size=4, num_workers=2)


def uses_cuda_and_cannot_be_sent():
    return Workload(Samples(), batch_size=4, num_workers=2, collate_fn=lambda samples: torch.stack(samples))


def hangs():
    return Workload(Hangs(), batch_size=4)
