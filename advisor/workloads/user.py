"""The workload ``FILE.py:factory`` or ``package.module:factory``: the user's own data set, loaded in a child."""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload
from advisor.workloads._code import code_hash
from advisor.workloads._load import Loaded


def load(name: str, data: str | None) -> Loaded:
    """The workload that the factory ``name`` returns; where its data lie (``data``) is the factory's own business."""
    place, _, factory_name = name.rpartition(":")
    if not place or not factory_name.isidentifier():
        raise WorkloadError(f"--workload {name} must be FILE.py:factory or package.module:factory")
    is_file = place.endswith(".py") or os.sep in place
    module = _from_file(place, name) if is_file else _from_module(place, name)
    factory = _factory(module, factory_name, place, name)
    made = _guarded(factory, f"{name} raised")
    workload = _as_workload(made, name)
    return Loaded(workload, name, _fingerprint(workload), code_hash(module.__name__))


def _from_file(place: str, name: str) -> ModuleType:
    path = Path(place).absolute()
    if not path.is_file():
        problem = "is not a file" if path.exists() else "does not exist"
        raise WorkloadError(f"{place}, from --workload {name}, {problem}")
    # As when the file is run as a script: modules beside it can be imported. Loader workers that do not fork find
    # the file's own classes by this path and the module's name, so that must be the one an import would use.
    sys.path.insert(0, str(path.parent))
    module_name = path.stem if _is_free(path.stem) else f"workload_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise WorkloadError(f"{place}, from --workload {name}, is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    loader = spec.loader
    _guarded(lambda: loader.exec_module(module), f"{place} cannot be loaded")
    return module


def _is_free(module_name: str) -> bool:
    taken = module_name in sys.modules or module_name in sys.stdlib_module_names
    return module_name.isidentifier() and not taken


def _from_module(place: str, name: str) -> ModuleType:
    sys.path.insert(1, os.getcwd())
    try:
        missing = importlib.util.find_spec(place) is None
    except (ImportError, ValueError):
        missing = True
    if missing:
        raise WorkloadError(
            f"there is no module {place}, from --workload {name}, in {sys.executable} or in {os.getcwd()}"
        )
    module: ModuleType = _guarded(lambda: importlib.import_module(place), f"{place} cannot be loaded")
    return module


def _factory(module: ModuleType, factory_name: str, place: str, name: str) -> Callable[..., Any]:
    found = getattr(module, factory_name, None)
    if found is None:
        raise WorkloadError(f"{place} has no {factory_name}, from --workload {name}")
    if not callable(found):
        raise WorkloadError(f"{name} is {_a(found)}, not a function that returns a data set or an advisor.Workload")
    return found  # type: ignore[no-any-return]


def _as_workload(made: Any, name: str) -> Workload:
    from torch.utils.data import IterableDataset

    workload = made if isinstance(made, Workload) else Workload(made)
    dataset = workload.dataset
    holder = "has a dataset that is" if isinstance(made, Workload) else "returned"
    if not isinstance(dataset, IterableDataset) and not hasattr(type(dataset), "__getitem__"):
        raise WorkloadError(
            f"{name} {holder} {_a(dataset)}: a torch.utils.data.Dataset or an advisor.Workload is expected"
        )
    if isinstance(dataset, (str, bytes, dict)):
        raise WorkloadError(f"{name} {holder} {_a(dataset)}: a torch.utils.data.Dataset is expected")
    if sample_count(dataset) == 0:
        raise WorkloadError(f"the data set that {name} returned is empty: its length is 0")
    if not isinstance(dataset, IterableDataset) and sample_count(dataset) is None:
        raise WorkloadError(f"the data set that {name} returned has no length: give it __len__")
    _check_numbers(workload, name)
    return workload


def _check_numbers(workload: Workload, name: str) -> None:
    for field, least in (
        ("batch_size", 1),
        ("num_workers", 0),
        ("prefetch_factor", 1),
        ("global_batch", 1),
        ("accumulation", 1),
    ):
        value = getattr(workload, field)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise WorkloadError(f"{field} of {name} must be a whole number of at least {least} but is {value!r}")
    if not isinstance(workload.batched, bool):
        raise WorkloadError(f"batched of {name} must be True or False but is {workload.batched!r}")
    for field in ("batch_size", "global_batch") if workload.batched else ():
        if getattr(workload, field) is not None:
            raise WorkloadError(
                f"{field} of {name} says what batched=True leaves to the data set: leave one of them out"
            )
    for field in ("collate_fn", "step", "worker_init_fn", "optimizer_step"):
        value = getattr(workload, field)
        if value is not None and not callable(value):
            raise WorkloadError(f"{field} of {name} must be a function but is {_a(value)}")


def sample_count(dataset: Any) -> int | None:
    """How many samples the data set has; ``None`` when it does not tell."""
    try:
        return len(dataset)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _fingerprint(workload: Workload) -> str:
    kind = type(workload.dataset)
    return f"{kind.__module__}.{kind.__qualname__} of {sample_count(workload.dataset)} samples"


def _guarded(run: Callable[[], Any], what: str) -> Any:
    """What ``run`` returns; the user's exception as one sentence that says where."""
    try:
        return run()
    except MemoryError:
        raise
    except SyntaxError as error:
        raise WorkloadError(f"{what}: {error.filename}:{error.lineno}: {error.msg}") from error
    except (Exception, SystemExit) as error:  # it is the user's code: anything may come
        if type(error).__name__ == "OutOfMemoryError":
            raise
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise WorkloadError(f"{what}: {told}{_where(error)}") from error


def _where(error: BaseException) -> str:
    """`` (FILE:LINE)`` of the innermost frame that is neither ours nor the import machinery's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__ and f.filename[0] != "<"]
    own = [f for f in frames if "/site-packages/" not in f.filename and "/lib/python3" not in f.filename]
    chosen = own or frames
    return f" ({chosen[-1].filename}:{chosen[-1].lineno})" if chosen else ""


def _a(thing: Any) -> str:
    name = type(thing).__name__
    if thing is None:
        return "None"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
