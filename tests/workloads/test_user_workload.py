"""Loading a user's workload: what works, and one sentence for each way that it does not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import WorkloadError
from advisor.workloads._load import check_name, load

HEAD = """\
import torch
from torch.utils.data import Dataset, IterableDataset
from advisor import Workload

class Data(Dataset):
    def __len__(self): return 3
    def __getitem__(self, index): return torch.zeros(1)

"""
FACTORY = len(HEAD.splitlines()) + 1
"""The line of the factory in a file that begins with HEAD."""


@pytest.fixture(autouse=True)
def _modules_as_before() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("my_job", "workload_")):
            del sys.modules[name]


def write(folder: Path, body: str, name: str = "my_job.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + body)
    return path


def test_a_data_set_is_loaded_from_a_file(tmp_path: Path) -> None:
    path = write(tmp_path, "def factory(): return Data()")
    loaded = load(f"{path}:factory", None)
    assert loaded.title == f"{path}:factory"
    assert loaded.workload.batch_size is None
    assert loaded.workload.step is None
    assert loaded.fingerprint == "my_job.Data of 3 samples"


def test_a_workload_is_taken_as_it_is_declared(tmp_path: Path) -> None:
    path = write(tmp_path, "def factory(): return Workload(Data(), batch_size=2, step=print, num_workers=0)")
    workload = load(f"{path}:factory", None).workload
    assert (workload.batch_size, workload.num_workers, workload.step) == (2, 0, print)


def test_a_file_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "my_job_parts.py").write_text("COUNT = 5\n")
    path = write(tmp_path, "from my_job_parts import COUNT\ndef factory(): return [0] * COUNT")
    assert load(f"{path}:factory", None).fingerprint == "builtins.list of 5 samples"


def test_a_file_named_as_a_module_of_python_does_not_take_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, "def factory(): return Data()", "random.py")
    assert load(f"{path}:factory", None).workload.dataset.__class__.__module__ == "workload_random"
    assert str(path) != sys.modules["random"].__file__


def test_a_module_is_found_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "def factory(): return Data()", "my_job_package/data.py")
    (tmp_path / "my_job_package" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    assert load("my_job_package.data:factory", None).fingerprint == "my_job_package.data.Data of 3 samples"


def test_a_stream_needs_no_length(tmp_path: Path) -> None:
    path = write(tmp_path, "class Stream(IterableDataset):\n    def __iter__(self): yield 1\nfactory = Stream")
    assert load(f"{path}:factory", None).fingerprint == "my_job.Stream of None samples"


def test_the_code_hash_follows_the_file(tmp_path: Path) -> None:
    first = load(f"{write(tmp_path / 'a', 'def factory(): return Data()', 'my_job_a.py')}:factory", None)
    second = load(f"{write(tmp_path / 'b', 'def factory():  return Data()', 'my_job_b.py')}:factory", None)
    assert first.code != second.code


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def other(): return Data()", "{path} has no factory, from --workload"),
        ("factory = 3", "is an int, not a function that returns"),
        ("def factory(): return None", "returned None: a torch.utils.data.Dataset or an advisor.Workload"),
        ("def factory(): return 'path'", "returned a str"),
        ("def factory(): return Workload(4)", "has a dataset that is an int"),
        ("def factory(): return []", "is empty: its length is 0"),
        (
            "class NoLength:\n    def __getitem__(self, index): return 1\ndef factory(): return NoLength()",
            "has no length: give it __len__",
        ),
        (
            "def factory(): return Workload(Data(), batch_size=0)",
            "batch_size of {path}:factory must be a whole number of at least 1 but is 0",
        ),
        ("def factory(): return Workload(Data(), num_workers=True)", "num_workers of"),
        ("def factory(): return Workload(Data(), num_workers=-1)", "at least 0 but is -1"),
        ("def factory(): return Workload(Data(), step=4)", "step of {path}:factory must be a function but is an int"),
        (
            "def factory(): raise KeyError('labels')",
            f"{{path}}:factory raised: KeyError: 'labels' ({{path}}:{FACTORY})",
        ),
        ("def factory(): raise SystemExit(3)", "raised: SystemExit: 3"),
        ("def factory(needed): return Data()", "raised: TypeError"),
        ("raise ValueError('at import')", f"cannot be loaded: ValueError: at import ({{path}}:{FACTORY})"),
        ("import nothing_of_this_name", "cannot be loaded: ModuleNotFoundError: No module named"),
        ("def factory(: pass", f"cannot be loaded: {{path}}:{FACTORY}: invalid syntax"),
    ],
)
def test_what_is_wrong_with_a_factory_is_told(body: str, said: str, tmp_path: Path) -> None:
    path = write(tmp_path, body)
    with pytest.raises(WorkloadError) as caught:
        load(f"{path}:factory", None)
    assert said.format(path=path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere.py:factory", "nowhere.py, from --workload nowhere.py:factory, does not exist"),
        ("/tmp:factory", "is not a file"),
        ("nowhere.deep:factory", "there is no module nowhere.deep"),
        (":factory", "must be FILE.py:factory or package.module:factory"),
        ("x.py:", "must be FILE.py:factory"),
        ("x.py:not a name", "must be FILE.py:factory"),
        ("..x:factory", "there is no module"),
        ("train.py", "names no factory: write train.py:FACTORY"),
        ("image-fils", "did you mean image-files?"),
        ("user", "there is no workload 'user'"),
        ("_load", "there is no workload '_load'"),
    ],
)
def test_a_name_that_stands_for_nothing_is_told(name: str, said: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        load(name, None)
    assert said in str(caught.value)


def test_a_name_is_checked_without_loading_anything() -> None:
    check_name("image-files")
    check_name("nowhere.py:factory")
    with pytest.raises(WorkloadError):
        check_name("image-fils")


def test_memory_that_runs_out_is_not_taken_for_a_fault_of_the_factory(tmp_path: Path) -> None:
    path = write(tmp_path, "def factory(): raise MemoryError()")
    with pytest.raises(MemoryError):
        load(f"{path}:factory", None)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("batch_size=2", "batch_size of .* says what batched=True leaves to the data set"),
        ("global_batch=2", "global_batch of .* says what batched=True leaves to the data set"),
    ],
)
def test_a_data_set_that_gives_whole_batches_has_no_batch_size_beside(tmp_path: Path, more: str, said: str) -> None:
    path = write(tmp_path, f"def factory(): return Workload(Data(), batched=True, {more})")
    with pytest.raises(WorkloadError, match=said):
        load(f"{path}:factory", None)


def test_whether_batches_are_whole_is_true_or_false(tmp_path: Path) -> None:
    path = write(tmp_path, "def factory(): return Workload(Data(), batched=16)")
    with pytest.raises(WorkloadError, match=r"batched of .* must be True or False but is 16"):
        load(f"{path}:factory", None)
