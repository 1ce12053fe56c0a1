"""The workload ``image-files``: JPEG and PNG files decoded, cropped, flipped, collated, and a small network trained.

What it stands for: training on folders of photographs, as with torchvision's ImageFolder, without needing it.
"""

import hashlib
import io
import json
import os
import random
import tempfile
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload
from advisor.workloads._load import Loaded

SUFFIXES = (".jpg", ".jpeg", ".png")
MOST_FILES = 2_000_000
"""Files beyond that are not listed: a trial reads far fewer."""
COUNT = 512
WIDTH, HEIGHT, QUALITY = 500, 375, 90
"""Of generated photographs: the usual size of an ImageNet file, at the quality cameras write."""
RECIPE = 1
"""Raised when generated files change, so that older ones are made anew."""
CROP, GPU_CROP = 128, 224
CHANNELS, GPU_CHANNELS = 8, 64
"""On a CPU the network is kept small: it stands for one on an accelerator, which leaves the cores to the loader."""
CLASSES = 100
_LEAST_AREA, _LEAST_ASPECT = 0.08, 3 / 4
"""Of a random crop: the usual ranges of Inception-style cropping."""
_FINEST = (0.02, 0.4)
"""Weight of the finest noise in a generated photograph: files of some 30 to 110 KB."""
_MANIFEST = "manifest.json"


class ImageFiles:
    """A map-style data set: each sample is a crop (uint8, 3 x size x size) and a class.

    Paths are kept in one block of bytes: workers that fork would copy a list of them page by page, as counting
    references writes to every string.
    """

    def __init__(self, folder: str, crop: int) -> None:
        self.folder = folder
        self.crop = crop
        self._ends = array("q", [0])
        block = io.BytesIO()
        for path in _listed(folder):
            block.write(os.fsencode(path))
            self._ends.append(block.tell())
        self._names = block.getvalue()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def path(self, index: int) -> str:
        """The file of sample ``index``."""
        name = os.fsdecode(self._names[self._ends[index] : self._ends[index + 1]])
        return os.path.join(self.folder, name)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        import torch
        from PIL import Image

        path = self.path(index)
        # The same crop each time a sample is read: trials must do the same work.
        chance = random.Random(index)
        try:
            with Image.open(path) as file:
                picture = _cropped(file.convert("RGB"), self.crop, chance)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise ValueError(f"{path} is not an image that Pillow can read: {error}") from error
        if chance.random() < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
        return pixels.view(self.crop, self.crop, 3).permute(2, 0, 1).contiguous(), index % CLASSES


def load(name: str, data: str | None) -> Loaded:
    """The workload over the images below the folder ``data``."""
    if data is None:
        raise WorkloadError(f"{name} needs a folder of images: give --data PATH")
    _need_pillow()
    gpu = _has_gpu()
    dataset = ImageFiles(_folder(data), GPU_CROP if gpu else CROP)
    if len(dataset) == 0:
        raise WorkloadError(f"there is no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file below {data} (--data)")
    training = _Training("cuda" if gpu else "cpu", GPU_CHANNELS if gpu else CHANNELS)
    workload = Workload(
        dataset,
        step=training.step,
        optimizer_step=training.optimizer_step,
        pin_memory=gpu,
    )
    code = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    return Loaded(workload, f"the built-in {name} workload", _fingerprint(dataset), code)


def _cropped(picture: Any, size: int, chance: random.Random) -> Any:
    """A random part of the picture, ``size`` x ``size``."""
    from PIL import Image

    width, height = picture.size
    area = width * height * chance.uniform(_LEAST_AREA, 1.0)
    aspect = chance.uniform(_LEAST_ASPECT, 1 / _LEAST_ASPECT)
    wide = min(max(round((area * aspect) ** 0.5), 1), width)
    high = min(max(round((area / aspect) ** 0.5), 1), height)
    left, top = chance.randint(0, width - wide), chance.randint(0, height - high)
    box = (left, top, left + wide, top + high)
    return picture.resize((size, size), Image.Resampling.BILINEAR, box=box)


class _Training:
    """A network of four strided convolutions, built when it is first used, with SGD.

    On a CPU it uses one thread: several wait for each other whenever a loader's worker has the core of one of them,
    seen to cost nine tenths of the speed on two cores with something else at work.
    """

    def __init__(self, device: str, channels: int) -> None:
        self.device = device
        self.channels = channels
        self._model: Any = None
        self._optimizer: Any = None

    def step(self, batch: Any) -> None:
        """Forward and backward of one micro-batch."""
        import torch

        if self._model is None:
            self._build()
        pictures, labels = (part.to(self.device, non_blocking=True) for part in batch)
        pictures = pictures.float().div_(127.5).sub_(1.0)
        loss = torch.nn.functional.cross_entropy(self._model(pictures), labels)
        loss.backward()  # type: ignore[no-untyped-call]

    def optimizer_step(self) -> None:
        """The update after the last micro-batch."""
        if self._optimizer is not None:
            self._optimizer.step()
            self._optimizer.zero_grad(set_to_none=True)

    def _build(self) -> None:
        import torch
        from torch import nn

        torch.manual_seed(0)
        if self.device == "cpu":
            torch.set_num_threads(1)
        layers: list[nn.Module] = [nn.Conv2d(3, self.channels, 7, stride=4, padding=3), nn.ReLU(inplace=True)]
        taken = self.channels
        for given in (taken * 2, taken * 4, taken * 8):
            layers += [nn.Conv2d(taken, given, 3, stride=2, padding=1), nn.ReLU(inplace=True)]
            taken = given
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(taken, CLASSES)]
        self._model = nn.Sequential(*layers).to(self.device)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01, momentum=0.9)


def _need_pillow() -> None:
    import sys

    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise WorkloadError(f"image-files needs Pillow, which {sys.executable} does not have ({error})") from error


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _folder(data: str) -> str:
    path = Path(data)
    if not path.exists():
        raise WorkloadError(f"{data} (--data) does not exist")
    if not path.is_dir():
        raise WorkloadError(f"{data} (--data) is not a folder")
    return str(path.absolute())


def _listed(folder: str) -> Iterator[str]:
    """Images below ``folder``, relative to it, in a stable order; links to folders are followed, but not in circles."""
    found = 0
    seen: set[tuple[int, int]] = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        told = os.stat(here)
        if (told.st_dev, told.st_ino) in seen:
            folders.clear()
            continue
        seen.add((told.st_dev, told.st_ino))
        folders.sort()
        for name in sorted(files):
            if name.lower().endswith(SUFFIXES):
                yield os.path.relpath(os.path.join(here, name), folder)
                found += 1
                if found >= MOST_FILES:
                    return


def _fingerprint(dataset: ImageFiles) -> str:
    """Names of all files, sizes of a spread of them."""
    digest = hashlib.sha256(dataset._names)
    for index in range(0, len(dataset), max(len(dataset) // 1000, 1)):
        try:
            digest.update(str(os.stat(dataset.path(index)).st_size).encode())
        except OSError:
            digest.update(b"?")
    return f"{len(dataset)} images {digest.hexdigest()[:16]}"


def generate(cache: Path, count: int = COUNT, seed: int = 0, told: Callable[[str], None] | None = None) -> Path:
    """The folder of generated images below ``cache``: an earlier one if it is whole, else a new one."""
    folder = cache / f"image-files-{RECIPE}-{count}-{seed}"
    if _is_whole(folder, count):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".image-files-", dir=cache) as work:
        made = Path(work) / "images"
        made.mkdir()
        _fill(made, count, seed, told)
        if folder.exists() and not _is_whole(folder, count):
            folder.rename(Path(work) / "broken")
        try:
            made.rename(folder)
        except OSError:
            if not _is_whole(folder, count):  # else another run was faster, with the same files
                raise
    return folder


def _fill(folder: Path, count: int, seed: int, told: Callable[[str], None] | None) -> None:
    """Writes ``count`` JPEG files like photographs into the empty ``folder``, and last of all their manifest."""
    chance = random.Random(seed)
    sizes = []
    for number in range(count):
        path = folder / f"{number:05}.jpg"
        _photograph(chance).save(path, quality=QUALITY)
        sizes.append(path.stat().st_size)
        if told is not None and number % 32 == 0:
            told(f"generating images: {number} of {count}")
    (folder / _MANIFEST).write_text(json.dumps({"recipe": RECIPE, "bytes": sizes}) + "\n", "utf-8")


def _photograph(chance: random.Random) -> Any:
    """Noise of several scales on each other; how much of the finest differs, so files differ as photographs do."""
    from PIL import Image

    picture: Any = None
    for cells, weight in ((4, 1.0), (16, 0.5), (64, 0.35), (250, chance.uniform(*_FINEST))):
        size = (cells, cells * 3 // 4)
        noise = Image.frombytes("RGB", size, chance.randbytes(size[0] * size[1] * 3))
        layer = noise.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        picture = layer if picture is None else Image.blend(picture, layer, weight)
    return picture


def _is_whole(folder: Path, count: int) -> bool:
    """Whether all files are there with the sizes that the manifest tells."""
    try:
        told = json.loads((folder / _MANIFEST).read_text("utf-8"))
        sizes = told["bytes"]
        same = (os.stat(folder / f"{n:05}.jpg").st_size == size for n, size in enumerate(sizes))
        return told["recipe"] == RECIPE and len(sizes) == count and all(same)
    except (OSError, ValueError, KeyError, TypeError):
        return False
