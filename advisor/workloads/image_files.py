"""The built-in workload: JPEG files decoded, augmented and collated, and a small real model that trains on them.

It stands for the commonest input pipeline. What it measures is this host with that pipeline; a user's own workload
may behave otherwise, so what rests on it is labelled with its name.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload

IMAGES = 512
"""About 30 MB: large enough that no single file matters, small enough to be made in seconds."""
_WIDTH, _HEIGHT = 500, 375
"""The usual size of an ImageNet photograph."""
_QUALITY = 90
_CROP = 224
_CLASSES = 10
_SEED = 7
_ENDINGS = (".jpg", ".jpeg", ".png")
_MOST_FILES = 1_000_000
_MARK = "complete-1"
"""In a finished folder; a new number when the images change."""


def generate(cache: Path, count: int = IMAGES) -> Path:
    """The folder of generated images below ``cache``; they are made once, and appear as a whole or not at all."""
    folder = cache / f"image-files-{count}"
    if (folder / _MARK).is_file():
        return folder
    part = Path(tempfile.mkdtemp(prefix=".image-files-", dir=cache))
    try:
        for number in range(count):
            _draw(number).save(part / f"{number:05}.jpg", quality=_QUALITY)
        (part / _MARK).touch()
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def _draw(number: int) -> Any:
    """A picture with smooth shapes and fine grain, which compresses like a photograph (about 60 KB)."""
    import numpy
    from PIL import Image

    source = numpy.random.default_rng((_SEED, number))
    coarse = Image.fromarray(source.integers(0, 256, (6, 8, 3), dtype=numpy.uint8), "RGB")
    smooth = numpy.asarray(coarse.resize((_WIDTH, _HEIGHT), Image.Resampling.BICUBIC), dtype=numpy.int16)
    grain = source.normal(0, 9, (_HEIGHT, _WIDTH, 1)).astype(numpy.int16)
    return Image.fromarray(numpy.clip(smooth + grain, 0, 255).astype(numpy.uint8), "RGB")


def make(data: str | None) -> tuple[Workload, str]:
    """The workload on the images below ``data``, and a fingerprint of them. Raises WorkloadError."""
    if data is None:
        raise WorkloadError("the image-files workload needs a folder of images; give --data PATH")
    files = find(Path(data))
    step, optimizer_step = trainer()
    return Workload(ImageFiles(files), step=step, optimizer_step=optimizer_step), fingerprint(files)


def find(folder: Path) -> list[str]:
    """The image files below ``folder``, sorted. Raises WorkloadError when there are none."""
    if not folder.is_dir():
        raise WorkloadError(f"--data {folder} is not a folder; give a folder of .jpg or .png files")
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(place, name) for name in names if name.lower().endswith(_ENDINGS)]
        if len(found) > _MOST_FILES:
            break
    if not found:
        raise WorkloadError(f"--data {folder} holds no {', '.join(_ENDINGS)} file; give a folder of images")
    return sorted(found)[:_MOST_FILES]


def fingerprint(files: list[str]) -> str:
    """A hash of how many images there are and of the names and sizes of some of them."""
    some = files[:: max(len(files) // 256, 1)]
    sizes = [(os.path.basename(name), os.path.getsize(name)) for name in some]
    return hashlib.sha256(repr((len(files), sizes)).encode()).hexdigest()[:16]


class ImageFiles:
    """A map-style data set: file, decoded, randomly cropped to 224 pixels, flipped, as a normalised tensor."""

    def __init__(self, files: list[str]) -> None:
        import numpy

        # An array of bytes, not a list: workers then share its pages instead of copying them as they count references.
        self.files = numpy.array([os.fsencode(name) for name in files])

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        import numpy
        import torch
        from PIL import Image

        with Image.open(os.fsdecode(bytes(self.files[index]))) as image:
            picture = image.convert("RGB")
        left, top, side = _crop(*picture.size)
        picture = picture.resize((_CROP, _CROP), Image.Resampling.BILINEAR, (left, top, left + side, top + side))
        pixels = torch.from_numpy(numpy.array(picture)).permute(2, 0, 1)
        if torch.rand(()) < 0.5:
            pixels = pixels.flip(2)
        return pixels.float().div_(127.5).sub_(1.0), index % _CLASSES


def _crop(width: int, height: int) -> tuple[int, int, int]:
    """Left, top and side of a random square of 8 to 100 % of what fits, as random resized crops do."""
    import torch

    share = float(torch.empty(()).uniform_(0.08, 1.0))
    side = max(int(min(width, height) * share**0.5), 1)
    left = int(torch.randint(width - side + 1, ()))
    top = int(torch.randint(height - side + 1, ()))
    return left, top, side


def trainer() -> tuple[Callable[[Any], None], Callable[[], None]]:
    """A step that trains a small convolutional network on one micro-batch, and the optimizer's step."""
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(_SEED)
    model = nn.Sequential(
        *(nn.Conv2d(3, 16, 7, 4, 3), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, _CLASSES)),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss = nn.CrossEntropyLoss()

    def step(batch: Any) -> None:
        pixels, labels = (part.to(device, non_blocking=True) for part in batch)
        loss(model(pixels), labels).backward()

    def optimizer_step() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step, optimizer_step
