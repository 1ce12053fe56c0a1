"""Jobs with a model, for what their steps take of memory; trials load them from this file."""

import torch  # noqa: TID253 - loaded in trials only
from torch import nn  # noqa: TID253
from torch.utils.data import Dataset  # noqa: TID253

from advisor import Workload

WIDTH, CLASSES = 256, 10


def _device():
    return "cuda" if torch.cuda.is_available() else "cpu"


class Vectors(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.full((WIDTH,), index / 4096), index % CLASSES


class Pictures(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.full((3, 64, 64), index / 4096), index % CLASSES


class Sentences(Dataset):
    """Of different lengths; the longest that are looked at have 64 words."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return torch.arange(1, 65 if index % 512 == 0 else 17), index % CLASSES


def padded(samples):
    words = nn.utils.rnn.pad_sequence([words for words, _ in samples], batch_first=True)
    return words, torch.tensor([label for _, label in samples])


class Job:
    """Trains ``model`` with Adam; made at once, or in the first step."""

    def __init__(self, make, at_once=True, reads=lambda loss: None, foreach=None):
        self.make, self.reads, self.foreach, self.model = make, reads, foreach, None
        if at_once:
            self.build()

    def build(self):
        self.model = self.make().to(_device())
        self.optimizer = torch.optim.Adam(self.model.parameters(), foreach=self.foreach)

    def step(self, batch):
        if self.model is None:
            self.build()
        inputs, labels = (part.to(_device(), non_blocking=True) for part in batch)
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        loss.backward()
        self.reads(loss.detach())

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def mlp():
    """Sixteen layers alike, so that one parameter at work is little beside all."""
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(16)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES))


def cnn():
    first = (nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64))
    return nn.Sequential(*first, nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(65, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(128, CLASSES)

    def forward(self, words):
        return self.head(self.encoder(self.words(words)).mean(1))


def _workload(job, dataset, batch_size=16, **others):
    return Workload(dataset, batch_size=batch_size, step=job.step, optimizer_step=job.update, **others)


def made_at_once():
    return _workload(Job(mlp), Vectors())


def one_by_one():
    """Parameters are updated one after the other."""
    return _workload(Job(mlp, foreach=False), Vectors())


def made_in_the_step():
    return _workload(Job(mlp, at_once=False), Vectors())


def reads_its_loss():
    return _workload(Job(mlp, reads=float), Vectors())


def pictures():
    return _workload(Job(cnn), Pictures())


def sentences():
    return _workload(Job(Transformer), Sentences(), collate_fn=padded)


def decides_by_its_loss():
    return _workload(Job(mlp, reads=lambda loss: bool(torch.isnan(loss))), Vectors())


def in_half_precision():
    job = Job(mlp)

    def step(batch):
        with torch.autocast("cuda", torch.float16):
            job.step(batch)

    return Workload(Vectors(), batch_size=16, step=step, optimizer_step=job.update)


def on_a_gpu_by_name():
    weight = torch.nn.Parameter(torch.zeros(WIDTH, CLASSES))

    def step(batch):
        inputs, labels = (part.to("cuda") for part in batch)
        nn.functional.cross_entropy(inputs @ weight.to("cuda"), labels).backward()

    return Workload(Vectors(), batch_size=16, step=step)


def without_a_step():
    return Workload(Vectors(), batch_size=16)


def wide():
    """Few operations and much memory: 1 MiB for each layer's output of a sample."""
    make = lambda: nn.Sequential(nn.Linear(WIDTH, 4), nn.Linear(4, 1 << 18), nn.ReLU(), nn.AdaptiveAvgPool1d(CLASSES))  # noqa: E731
    return _workload(Job(make), Vectors(), batch_size=2, global_batch=2048)


def all_in_memory():
    """A data set that would not fit beside the model."""
    held = torch.utils.data.TensorDataset(torch.zeros(1 << 16, WIDTH), torch.zeros(1 << 16, dtype=torch.long))
    return _workload(Job(mlp), held)


class Alike(Sentences):
    """All of one length, so that every micro-batch has the same shape."""

    def __getitem__(self, index):
        return torch.arange(1, 65), index % CLASSES


def sentences_alike():
    return _workload(Job(Transformer), Alike(), collate_fn=padded)
