"""Data sets that behave badly, each in its own way; trials load them from this file."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch  # noqa: TID253 - loaded in trials only
from torch.utils.data import Dataset, IterableDataset  # noqa: TID253

from advisor import Workload


class Samples(Dataset):
    """Small tensors, and before each of them whatever a subclass does."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        self.before(index)
        return torch.full((16,), float(index))

    def before(self, index):
        pass


class Raises(Samples):
    def before(self, index):
        raise KeyError(f"label {index}")  # the line that messages must name


class Hangs(Samples):
    def before(self, index):
        time.sleep(1000)


class Eats(Samples):
    def __init__(self):
        self.eaten = []

    def before(self, index):
        self.eaten.append(bytearray(os.urandom(1 << 20)) * 16)
        time.sleep(0.01)


class FillsSharedMemory(Samples):
    def __getitem__(self, index):
        return torch.zeros(1 << 20)


MAIN = os.getpid()
"""The process that loads the workload; workers are forked from it. Once it is gone, their parent is another one."""
WATCHER = os.getppid()
"""Of a trial: the supervisor, as it is the loading process that imports this."""


class KillsItsParent(Samples):
    def before(self, index):
        os.kill(MAIN, signal.SIGKILL)
        time.sleep(1000)


class KillsItsWatcher(Samples):
    """With one worker: it ends the loading process, and then the supervisor, which has become its parent."""

    def before(self, index):
        with open(f"/proc/{WATCHER}/cmdline", "rb") as command:
            if b"trial_supervisor" not in command.read():
                raise RuntimeError(f"process {WATCHER} is not the supervisor")
        # Stopped first: it would end this process as soon as it sees that the loading one has died.
        os.kill(WATCHER, signal.SIGSTOP)
        os.kill(MAIN, signal.SIGKILL)
        while os.getppid() == MAIN:
            time.sleep(0.01)
        os.kill(WATCHER, signal.SIGKILL)
        time.sleep(1000)


class KillsItsWatcherLate(KillsItsWatcher):
    """Once it has put batches into shared memory."""

    def __init__(self):
        self.given = 0

    def before(self, index):
        self.given += 1
        if self.given > 8:
            super().before(index)


def kills_its_watcher_with_names_in_use():
    torch.multiprocessing.set_sharing_strategy("file_system")
    return KillsItsWatcherLate()


class KillsItself(Samples):
    def before(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


class Crashes(Samples):
    def before(self, index):
        ctypes.string_at(0)


class Leaves(Samples):
    def before(self, index):
        print("giving up")
        sys.stdout.flush()
        os._exit(7)


class Exits(Samples):
    def before(self, index):
        if index == 13:
            sys.exit(3)


class StartsDaemons(Samples):
    """Each process leaves a daemon behind: forked twice, in a session of its own, its number in $DAEMONS."""

    def before(self, index):
        mark = Path(os.environ["DAEMONS"]) / str(os.getpid())
        if not mark.exists():
            mark.touch()
            script = 'echo $$ > "$0.daemon"; exec sleep 1000'
            subprocess.run(
                ["setsid", "-f", "sh", "-c", script, str(mark)], env={"PATH": os.environ["PATH"]}, check=True
            )


class ReadsFiles(Samples):
    """Of the files in $FILES, one for each sample."""

    def before(self, index):
        with open(os.path.join(os.environ["FILES"], str(index)), "rb") as file:
            file.read()


class Stream(IterableDataset):
    def __iter__(self):
        yield from torch.arange(20.0)


class Once(IterableDataset):
    """Its second iterator gives nothing."""

    def __init__(self, samples=4000):
        self.left = iter(range(samples))

    def __iter__(self):
        for number in self.left:
            time.sleep(0.0005)
            yield torch.full((16,), float(number))


def once_briefly():
    return Once(100)


def ragged_epochs():
    return Workload(Samples(), batch_size=4, drop_last=False)


def without_samples():
    return Workload(Samples(), collate_fn=lambda samples: torch.empty(0, 16))


def filtered():
    return Workload(Samples(), collate_fn=lambda samples: torch.stack(samples[1:]))


def sequence_first():
    return Workload(Samples(), collate_fn=lambda samples: torch.stack(samples, dim=1))


class Batched(Samples):
    """Gives whole batches by itself."""

    def __getitem__(self, index):
        return {"x": torch.zeros(5, 3), "nested": [torch.zeros(5), ("text", torch.zeros(5))]}


def batched():
    return Workload(Batched(), batched=True, accumulation=2)


class Training:
    def __init__(self):
        self.steps = 0

    def step(self, batch):
        self.steps += 1
        time.sleep(0.001)

    def update(self):
        assert self.steps % 4 == 0, self.steps


def training():
    trained = Training()
    return Workload(Samples(), batch_size=4, num_workers=1, step=trained.step, optimizer_step=trained.update)


def long_optimizer_steps():
    """Each of 512 micro-batches takes 5 ms at least."""
    return Workload(
        Samples(),
        batch_size=4,
        accumulation=512,
        step=lambda batch: time.sleep(0.005),
        optimizer_step=lambda: time.sleep(0.05),
    )


class OnOneCpu(Samples):
    def before(self, index):
        if len(os.sched_getaffinity(0)) != 1:
            raise RuntimeError(f"a worker may run on {os.sched_getaffinity(0)}")


class Slow(Samples):
    def before(self, index):
        time.sleep(0.02)


def slowly_loaded():
    return Workload(Slow(), batch_size=4, step=lambda batch: None)


class Nested(Samples):
    def __getitem__(self, index):
        return {"x": torch.full((16,), float(index)), "more": (torch.full((2,), 1.0), "name")}


def _in_place(batch):
    """Overflows within a few steps if it gets the same tensors again."""
    x, more = (batch, None) if isinstance(batch, torch.Tensor) else (batch.pop("x"), batch["more"][0])
    assert 0 <= float(x.max()) < 64, f"the batch was changed before: {x}"
    x.mul_(1e20).add_(1e20)
    if more is not None:
        assert float(more.max()) == 1.0
        more.sub_(0.5)


def in_place():
    return Workload(Samples(), batch_size=4, step=_in_place)


def in_place_nested():
    return Workload(Nested(), batch_size=4, step=_in_place)


def keeps_batches():
    """Each batch that is kept holds a descriptor, and there are few."""
    kept = []
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (96, hard))
    return Workload(Samples(), step=kept.append)


def file_system_sharing():
    torch.multiprocessing.set_sharing_strategy("file_system")
    return Samples()


def unpicklable_with_spawn():
    torch.multiprocessing.set_start_method("spawn")
    return Workload(Samples(), collate_fn=lambda samples: torch.stack(samples))


class Ragged(Samples):
    """Collating fails in PyTorch."""

    def __getitem__(self, index):
        return torch.zeros(index + 1)


def spawned():
    torch.multiprocessing.set_start_method("spawn")
    return Samples()


def out_of_memory():
    return Workload(Samples(), step=_out_of_memory)


def _out_of_memory(batch):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
