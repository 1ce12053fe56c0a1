"""The hash of a workload's code follows every module of the user's own, and nothing else."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from advisor.workloads import _code
from advisor.workloads._code import code_hash


def module(path: Path, text: str, name: str | None = None) -> dict[str, ModuleType | None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    made = ModuleType(name or path.stem)
    made.__file__ = str(path)
    return {made.__name__: made}


def test_a_module_beside_the_factory_counts_by_its_content_alone(tmp_path: Path) -> None:
    first, other = (
        code_hash("train", module(tmp_path / n / "train.py", "a") | module(tmp_path / n / "helpers.py", "b"))
        for n in ("one", "two")
    )
    assert first == other
    changed = module(tmp_path / "one/train.py", "a") | module(tmp_path / "one/helpers.py", "c")
    assert code_hash("train", changed) != first


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("lib/site-packages/made/up.py", id="installed"),
        pytest.param("usr/lib/python3/dist-packages/up.py", id="distribution"),
    ],
)
def test_installed_packages_do_not_count(tmp_path: Path, place: str) -> None:
    ours = module(tmp_path / "train.py", "a")
    with_others = ours | module(tmp_path / place, "b") | {"builtin": ModuleType("builtin"), "missing": None}
    assert code_hash("train", with_others) == code_hash("train", ours)


def test_a_module_that_an_installer_linked_to_its_store_does_not_count(tmp_path: Path) -> None:
    ours, store = module(tmp_path / "train.py", "a"), module(tmp_path / "store/pack.py", "b")
    link = tmp_path / "site-packages/pack.py"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "store/pack.py")
    store["pack"].__file__ = str(link)  # type: ignore[union-attr]
    assert code_hash("train", ours | store) == code_hash("train", ours)


def test_the_package_of_the_factory_counts_even_if_it_is_installed(tmp_path: Path) -> None:
    made = module(tmp_path / "site-packages/job/data.py", "a", "job.data")
    first = code_hash("job.data", made)
    assert code_hash("job.data", module(tmp_path / "site-packages/job/data.py", "b", "job.data")) != first
    assert code_hash("other", made) != first


def test_python_itself_and_advisor_do_not_count() -> None:
    assert code_hash("train", {"json": sys.modules["json"], "advisor": sys.modules["advisor"]}) == code_hash(
        "train", {}
    )


def test_a_module_whose_file_is_gone_does_not_count(tmp_path: Path) -> None:
    gone = module(tmp_path / "gone.py", "a")
    (tmp_path / "gone.py").unlink()
    assert code_hash("train", gone) == code_hash("train", {})


def test_files_are_bounded_in_number_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_code, "MOST_FILES", 2)
    monkeypatch.setattr(_code, "MOST_BYTES", 4)
    many = {k: v for n in range(3) for k, v in module(tmp_path / f"m{n}.py", f"{n}").items()}
    first = code_hash("train", many)
    (tmp_path / "m2.py").write_text("x")  # the third by its name
    assert code_hash("train", many) == first
    (tmp_path / "m0.py").write_text("0123 and more")
    longer = code_hash("train", many)
    (tmp_path / "m0.py").write_text("0123 and mor")
    assert len({first, longer, code_hash("train", many)}) == 3
