"""Steps that see whether they run in autocast; trials load them from this file."""

import time

import torch  # noqa: TID253 - loaded in trials only
from torch.utils.data import Dataset  # noqa: TID253

from advisor import Workload

WEIGHT = torch.ones(16, 16)


class Rows(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.full((16,), float(index))


def kind():
    """The type in which a product is worked out here."""
    return (WEIGHT @ WEIGHT).dtype


def must_be_cast(batch):
    if (batch @ WEIGHT).dtype != torch.bfloat16:
        raise TypeError("the step is not in autocast")


def must_not_be_cast():
    if kind() != torch.float32:
        raise TypeError("the optimizer's step is in autocast")


def only_in_autocast():
    return Workload(Rows(), batch_size=4, step=must_be_cast, optimizer_step=must_not_be_cast)


def faster():
    return Workload(Rows(), batch_size=4, step=lambda batch: time.sleep(0.002 if kind() == torch.bfloat16 else 0.02))


def never_in_autocast():
    return Workload(Rows(), batch_size=4, step=lambda batch: must_not_be_cast() or time.sleep(0.01))


def without_a_step():
    return Workload(Rows(), batch_size=4)
