"""The user's own workload: a factory in a file or a module. Runs in the process that trains."""

import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from advisor.errors import WorkloadError
from advisor.model.workload import Workload

FORM = "give FILE.py:factory or package.module:factory"


def split(name: str) -> tuple[str, str]:
    """Module (or file) and factory of ``FILE.py:factory``. Raises WorkloadError for another form."""
    place, colon, factory = name.rpartition(":")
    if not colon or not place or not factory.isidentifier():
        raise WorkloadError(f"workload {name!r} names no factory; {FORM}")
    return place, factory


def make(name: str) -> tuple[Any, str]:
    """What the factory returns, and a fingerprint of its source. Raises WorkloadError."""
    place, factory = split(name)
    module = _from_file(place) if place.endswith(".py") else _from_module(place)
    function = getattr(module, factory, None)
    if function is None:
        known = ", ".join(sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))[:8])
        raise WorkloadError(f"{place} has no {factory!r}; it has {known or 'nothing that can be called'}")
    if not callable(function):
        raise WorkloadError(f"{factory!r} in {place} is a {type(function).__name__} and cannot be called; {FORM}")
    return _called(function, name), _source_hash(module)


def _called(function: Callable[[], Any], name: str) -> Any:
    made = _guarded(function, f"the factory of {name}")
    if made is None or isinstance(made, str | int | float | bool):
        raise WorkloadError(
            f"the factory of {name} must return a torch.utils.data.Dataset or an advisor.Workload "
            f"but returned {type(made).__name__}"
        )
    if isinstance(made, Workload):
        _check(made, name)
    return made


_LEAST = {"batch_size": 1, "num_workers": 0, "prefetch_factor": 1, "global_batch": 1, "accumulation": 1}


def _check(workload: Workload, name: str) -> None:
    """Raises WorkloadError for a number that no loader could take."""
    for field, least in _LEAST.items():
        value = getattr(workload, field)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise WorkloadError(f"{name}: {field} must be a whole number of at least {least} but is {value!r}")
    for field in ("step", "collate_fn", "optimizer_step", "worker_init_fn"):
        value = getattr(workload, field)
        if value is not None and not callable(value):
            raise WorkloadError(f"{name}: {field} must be a function but is {type(value).__name__}")


def _from_file(place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        raise WorkloadError(f"workload file {place} is not there (looked for {path})")
    # Its neighbours are importable, as when it is run as a script; workers must find it under this name too.
    sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.stdlib_module_names else "advisor_workload"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader = spec.loader
    _guarded(lambda: loader.exec_module(module), place)
    return module


def _from_module(place: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    module: ModuleType = _guarded(lambda: importlib.import_module(place), place)
    return module


def _guarded(work: Callable[[], Any], what: str) -> Any:
    """What ``work`` returns; whatever it raises becomes one sentence with file and line."""
    try:
        return work()
    except WorkloadError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - it is the user's code, which may even call sys.exit
        raise WorkloadError(f"{_where(error)}: {what} raised {type(error).__name__}: {_line(error)}") from None


def _where(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    here = str(Path(__file__).resolve())
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != here]
    own = [f for f in frames if not f.filename.startswith("<")] or frames
    return f"{own[-1].filename}:{own[-1].lineno}" if own else f"{sys.executable}"


def _line(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg
    return " ".join(str(error).split())[:300]


def _source_hash(module: ModuleType) -> str:
    """A hash of the module's source, which changes when the workload is edited."""
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        return "no source"
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
