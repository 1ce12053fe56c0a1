"""Workloads whose best DataLoader settings lie far apart; `benchmarks/tune_workloads.py` measures them.

Each is a factory for ``advisor tune --workload benchmarks/loader_workloads.py:NAME``. Those that wait do so asleep,
those that compute do so on their CPU, and steps are small matrix products, so that they load no GPU.
"""

import hashlib
import io
import itertools
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import torch  # noqa: TID253 - run by trials
from torch.utils.data import Dataset  # noqa: TID253

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from advisor import Workload

SAMPLES = 4096
LENGTH = 1 << 16
"""Samples of an epoch, which are the same again and again: its begin and its end are to decide nothing."""
STEP_SECONDS = 20e-3
TOKENS = 64 * 1024 * 1024
CONTEXT = 1024


class Waiting(Dataset):
    """A read that takes ``seconds``, as from a disk or over a network."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.full((256,), float(index))


class Computing(Dataset):
    """Work on the CPU: hashing, about ``rounds`` x 0.25 ms."""

    def __init__(self, rounds):
        self.rounds = rounds

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):

        block = bytes(64 * 1024)
        for _ in range(self.rounds * 4):
            block = hashlib.sha256(block).digest() * 2048
        return torch.full((256,), float(index))


class InMemory(Dataset):
    """A row of a tensor that is there."""

    def __init__(self):
        self.rows = torch.arange(SAMPLES * 64, dtype=torch.float32).view(SAMPLES, 64)

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        return self.rows[index % SAMPLES]


class HeavyTailed(Dataset):
    """Most samples wait 1 ms, one of a hundred 150 ms."""

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        time.sleep(0.15 if random.Random(index).random() < 0.01 else 1e-3)
        return torch.full((256,), float(index))


class Large(Dataset):
    """Two MiB a sample, made by copying: batches fill a small /dev/shm."""

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        return torch.full((512 * 1024,), float(index))


class Pictures(Dataset):
    """JPEG files in memory, decoded and resized."""

    def __init__(self):
        from PIL import Image

        self.files = []
        for number in range(32):
            noise = Image.frombytes("RGB", (64, 48), random.Random(number).randbytes(64 * 48 * 3))
            file = io.BytesIO()
            noise.resize((500, 375), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        from PIL import Image

        with Image.open(io.BytesIO(self.files[index % len(self.files)])) as file:
            picture = file.convert("RGB").resize((128, 128))
        return torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).view(128, 128, 3).permute(2, 0, 1)


class Tokens(Dataset):
    """Windows of a file of 16-bit tokens, mapped into memory."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return TOKENS // CONTEXT - 1

    def __getitem__(self, index):
        with open(self.path, "rb") as file:
            block = os.pread(file.fileno(), 2 * (CONTEXT + 1), 2 * CONTEXT * index)
        return torch.frombuffer(bytearray(block), dtype=torch.int16).long()


class Network:
    """A small network that is trained on what comes, as floats of any shape."""

    def __init__(self, width, depth=3):
        self.width, self.depth, self.model = width, depth, None

    def step(self, batch):
        rows = batch.float().flatten(1)
        if self.model is None:
            torch.manual_seed(0)
            torch.set_num_threads(1)
            sizes = [rows.shape[1], *[self.width] * self.depth]
            layers = [torch.nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
            self.model = torch.nn.Sequential(*layers)
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.model(rows).square().mean().backward()

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def _slept(batch):
    time.sleep(STEP_SECONDS)


def waits_2ms():
    return Workload(Waiting(2e-3), batch_size=16, step=_slept)


def waits_10ms():
    return Workload(Waiting(10e-3), batch_size=16, step=_slept)


def computes():
    return Workload(Computing(8), batch_size=16, step=_slept)


def in_memory():
    network = Network(256)
    return Workload(
        InMemory(), batch_size=64, global_batch=256, num_workers=2, step=network.step, optimizer_step=network.update
    )


def heavy_tailed():
    return Workload(HeavyTailed(), batch_size=16, step=_slept)


def large_batches():
    return Workload(Large(), batch_size=16, num_workers=2, step=_slept)


def jpeg():
    network = Network(64)
    return Workload(Pictures(), batch_size=32, step=network.step, optimizer_step=network.update)


def training_loop():
    network = Network(1024, depth=4)
    return Workload(
        Waiting(5e-4), batch_size=16, global_batch=256, step=network.step, optimizer_step=network.update
    )  # fmt: skip


def tokens():
    path = Path(tempfile.gettempdir()) / f"advisor-tokens-{os.getuid()}.bin"
    if not path.exists() or path.stat().st_size != 2 * TOKENS:
        part = path.with_suffix(f".{os.getpid()}")
        with part.open("wb") as file:
            for _ in range(64):
                file.write(os.urandom(2 * TOKENS // 64))
        part.rename(path)
    network = Network(256)
    return Workload(
        Tokens(str(path)), batch_size=8, global_batch=64, step=network.step, optimizer_step=network.update
    )  # fmt: skip


NAMES = (
    "waits_2ms",
    "waits_10ms",
    "computes",
    "in_memory",
    "heavy_tailed",
    "large_batches",
    "jpeg",
    "training_loop",
    "tokens",
)
"""All of them."""
