"""What a name given to ``--workload`` stands for. Standard library only: it runs in the interpreter that trains."""

import importlib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from advisor.errors import WorkloadError
from advisor.model.workload import Workload

_NEEDS_A_FACTORY = "user"
_FACTORY_FORMS = "FILE.py:factory or package.module:factory"


@dataclass(frozen=True)
class Loaded:
    """A workload ready to be measured."""

    workload: Workload
    title: str
    """As the user knows it."""
    fingerprint: str
    """Changes when the data set changes."""
    code: str
    """Changes when the code of the workload changes."""


def built_in() -> tuple[str, ...]:
    """The names of the workloads that are part of advisor, found by folder."""
    here = Path(__file__).resolve().parent
    stems = {path.stem for path in here.glob("*.py") if not path.name.startswith("_")} - {_NEEDS_A_FACTORY}
    return tuple(sorted(stem.replace("_", "-") for stem in stems))


def load(name: str, data: str | None) -> Loaded:
    """The workload called ``name``; raises WorkloadError."""
    if ":" in name:
        return _unit(_NEEDS_A_FACTORY).load(name, data)  # type: ignore[no-any-return]
    if name in built_in():
        return _unit(name.replace("-", "_")).load(name, data)  # type: ignore[no-any-return]
    raise WorkloadError(_unknown(name))


def from_anywhere(name: str) -> str:
    """``name`` as it can be loaded whatever the current folder is then."""
    place, _, factory = name.rpartition(":")
    return f"{Path(place).absolute()}:{factory}" if place.endswith(".py") else name


def check_name(name: str) -> None:
    """Raises WorkloadError if ``name`` cannot be a workload, without importing anything of it."""
    if ":" not in name and name not in built_in():
        raise WorkloadError(_unknown(name))


def _unknown(name: str) -> str:
    if name.endswith(".py"):
        return f"--workload {name} names no factory: write {name}:FACTORY, with the function that returns the data set"
    near = get_close_matches(name, built_in(), 1)
    meant = f"; did you mean {near[0]}?" if near else f": give {', '.join(built_in())}, {_FACTORY_FORMS}"
    return f"there is no workload {name!r}{meant}"


def _unit(stem: str) -> ModuleType:
    return importlib.import_module(f"advisor.workloads.{stem}")
