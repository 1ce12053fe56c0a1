"""The built-in workload: its images are made once and whole, any folder of images will do, and it really trains."""

import os
from pathlib import Path

import pytest
import torch  # noqa: TID253 - it is what is tested

from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.workloads._load import built_in, load
from advisor.workloads._loader import Batches, build_loader
from advisor.workloads._order import SLICE_SAMPLES, Order
from advisor.workloads._tensors import bytes_of, samples_in, tensors_of
from advisor.workloads.image_files import ImageFiles, generate


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("cache"), count=8)


def test_it_is_found_by_its_name() -> None:
    assert "image-files" in built_in()


def test_images_are_like_photographs(images: Path) -> None:
    sizes = [file.stat().st_size for file in images.glob("*.jpg")]
    assert len(sizes) == 8
    assert 20_000 < min(sizes) < max(sizes) < 150_000


def test_images_are_made_once(images: Path) -> None:
    before = {file.name: file.stat().st_mtime_ns for file in images.iterdir()}
    assert generate(images.parent, count=8) == images
    assert {file.name: file.stat().st_mtime_ns for file in images.iterdir()} == before


def test_the_same_images_are_made_from_the_same_seed(tmp_path: Path, images: Path) -> None:
    again = generate(tmp_path, count=8)
    assert (again / "00003.jpg").read_bytes() == (images / "00003.jpg").read_bytes()
    other = generate(tmp_path, count=8, seed=1)
    assert other != again
    assert (other / "00003.jpg").read_bytes() != (images / "00003.jpg").read_bytes()


@pytest.mark.parametrize("damage", ["a file is gone", "a file is short", "no manifest", "a foreign manifest"])
def test_a_damaged_folder_is_made_anew(damage: str, tmp_path: Path) -> None:
    folder = generate(tmp_path, count=3)
    if damage == "a file is gone":
        (folder / "00001.jpg").unlink()
    elif damage == "a file is short":
        os.truncate(folder / "00001.jpg", 100)
    elif damage == "no manifest":
        (folder / "manifest.json").unlink()
    else:
        (folder / "manifest.json").write_text('["x"]')
    assert generate(tmp_path, count=3) == folder
    assert (folder / "00001.jpg").stat().st_size > 20_000
    assert os.listdir(tmp_path) == [folder.name]


def test_what_is_told_while_images_are_made(tmp_path: Path) -> None:
    told: list[str] = []
    generate(tmp_path, count=2, told=told.append)
    assert told == ["generating images: 0 of 2"]


def test_a_sample_is_the_same_crop_each_time(images: Path) -> None:
    dataset = ImageFiles(str(images), 64)
    pixels, label = dataset[5]
    assert pixels.shape == (3, 64, 64)
    assert pixels.dtype == torch.uint8
    assert label == 5
    assert torch.equal(dataset[5][0], pixels)
    assert not torch.equal(dataset[6][0], pixels)


def test_it_trains(images: Path) -> None:
    workload = load("image-files", str(images)).workload
    batches = iter(Batches(build_loader(workload, Config(batch_size=4), 0, 60.0)))
    assert workload.step is not None
    assert workload.optimizer_step is not None
    training = workload.step.__self__  # type: ignore[attr-defined]
    workload.step(next(batches))
    before = [parameter.clone() for parameter in training._model.parameters()]
    workload.optimizer_step()
    changed = [not torch.equal(a, b) for a, b in zip(before, training._model.parameters(), strict=True)]
    assert any(changed)


def test_images_below_a_folder_are_found_in_a_stable_order(tmp_path: Path, images: Path) -> None:
    picture = (images / "00000.jpg").read_bytes()
    for name in ("b/2.JPG", "b/1.jpeg", "a/c/3.jpg", "0.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(picture)
    (tmp_path / "b/notes.txt").write_text("no image")
    (tmp_path / "a/c/up").symlink_to(tmp_path, target_is_directory=True)
    dataset = ImageFiles(str(tmp_path), 64)
    names = [os.path.relpath(dataset.path(n), tmp_path) for n in range(len(dataset))]
    assert names == ["0.png", "a/c/3.jpg", "b/1.jpeg", "b/2.JPG"]


def test_names_that_are_no_text_are_read(tmp_path: Path, images: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\n.jpg"
    with open(name, "wb") as file:
        file.write((images / "00000.jpg").read_bytes())
    assert ImageFiles(str(tmp_path), 32)[0][0].shape == (3, 32, 32)


def test_the_fingerprint_follows_the_files(tmp_path: Path, images: Path) -> None:
    (tmp_path / "1.jpg").write_bytes((images / "00001.jpg").read_bytes())
    first = load("image-files", str(tmp_path)).fingerprint
    assert load("image-files", str(tmp_path)).fingerprint == first
    (tmp_path / "2.jpg").write_bytes(b"")
    assert load("image-files", str(tmp_path)).fingerprint != first


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.write_text("x"), "is not a folder"),
        (lambda path: path.mkdir(), "there is no .jpg, .jpeg or .png file below"),
    ],
    ids=["missing", "a file", "empty"],
)
def test_a_folder_without_images_is_an_error(make: object, said: str, tmp_path: Path) -> None:
    make(tmp_path / "data")  # type: ignore[operator]
    with pytest.raises(WorkloadError, match=said):
        load("image-files", str(tmp_path / "data"))


def test_images_need_a_folder() -> None:
    with pytest.raises(WorkloadError, match="give --data PATH"):
        load("image-files", None)


def test_a_file_that_is_no_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 no more")
    with pytest.raises(ValueError, match=r"broken\.jpg is not an image that Pillow can read"):
        ImageFiles(str(tmp_path), 32)[0]


def test_indices_are_one_permutation_again_and_again() -> None:
    order = iter(Order(10, 0, shuffle=True, seed=0))
    first, second = ([next(order) for _ in range(10)] for _ in range(2))
    assert sorted(first) == list(range(10))
    assert first == second != list(range(10))
    assert [next(iter(Order(10, 3, shuffle=False, seed=0)))] == [0]


def test_slices_of_a_large_data_set_have_nothing_in_common() -> None:
    samples = 2 * SLICE_SAMPLES + 7
    slices = [Order(samples, number, shuffle=True, seed=0) for number in range(3)]
    assert (slices[0].end, slices[1].start, slices[1].end) == (slices[1].start, slices[1].start, samples)
    assert (slices[2].start, slices[2].end) == (slices[0].start, slices[0].end)
    indices = iter(slices[1])
    taken = [next(indices) for _ in range(slices[1].end - slices[1].start + 1)]
    assert taken[0] == taken[-1]
    others = iter(slices[0])
    assert not set(taken) & {next(others) for _ in range(slices[0].end)}


def test_tensors_of_a_batch_are_found_whatever_its_nesting() -> None:
    batch = {"x": torch.zeros(2, 3), "more": [torch.zeros(2), ("name", torch.zeros(2, dtype=torch.uint8))], "n": 3}
    assert len(list(tensors_of(batch))) == 3
    assert bytes_of(batch) == 24 + 8 + 2
    assert samples_in(batch) == 2
    assert samples_in(["a", "b", "c"]) == 3
    assert samples_in(torch.tensor(1.0)) == 1
