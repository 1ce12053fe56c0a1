"""The structure holds: who may import whom, which library lives where, and who may touch the machine."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "advisor"
FILES = sorted(PACKAGE.rglob("*.py"))

# Package -> packages of advisor that it may import. Single modules beside the packages (errors, data, figures ...)
# may be imported by all.
LAYERS = {
    "model": {"model"},
    "host": {"host", "model"},
    "probes": {"probes", "host", "model"},
    "derived": {"derived", "nccl", "probes", "model"},
    "nccl": {"nccl"},
    "rulebook": {"rulebook", "model"},
    "workloads": {"workloads", "model"},
    "tuning": {"tuning", "workloads", "derived", "model"},
    "targets": {"targets", "derived", "probes", "model"},
    "planning": {"planning", "targets", "model"},
    "reports": {"reports", "derived", "probes", "model"},
    "commands": {
        *("commands", "reports", "planning", "targets", "tuning", "workloads", "rulebook", "derived", "probes", "host"),
        "model",
    },
}
SHARED_MODULES = {"errors", "data", "discover", "figures", "inputs"}

# Third-party library -> the files that may import it, at most two modules for the heavy ones.
LIBRARIES = {
    "torch": {"tuning/child.py", "workloads/"},
    "optuna": {"tuning/study.py"},
    "sqlalchemy": {"tuning/study.py"},  # what --storage URL brings up through optuna
    "pynvml": {"host/_nvml_child.py"},
    "psutil": {"tuning/", "commands/tune.py"},
    "rich": {"commands/_progress.py", "reports/text.py"},
    "numpy": {"workloads/", "tuning/child.py", "tuning/statistics.py", "tuning/model.py"},
    "scipy": {"tuning/statistics.py", "tuning/study.py"},
    "PIL": {"workloads/image_files.py"},
    "jinja2": {"planning/render.py"},
    "yaml": {"rulebook/"},
    "zstandard": {"host/"},
    "click": {"cli.py", "commands/"},
    "pydantic": {"model/", "host/capture.py", "rulebook/", "probes/", "derived/", "tuning/", "planning/", "commands/"},
}
HEAVY = {"torch", "optuna", "pynvml", "rich", "numpy", "scipy", "PIL"}

# Files that may open files, list folders, start processes or look at the clock.
TOUCHES_FILES = {
    *("host/", "inputs.py", "data.py", "discover.py", "rulebook/load.py", "planning/write.py", "tuning/trial.py"),
    "planning/apply.py",
    *("tuning/child.py", "tuning/study.py", "workloads/", "cli.py", "tuning/processes.py", "tuning/shm.py"),
    *("tuning/journal.py", "tuning/memory.py", "tuning/supervisor.py", "tuning/accounts.py"),
}
STARTS_PROCESSES = {"host/", "tuning/trial.py", "tuning/processes.py"}
FILE_CALLS = {
    "open",
    "listdir",
    "scandir",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "iterdir",
    "glob",
    "rglob",
}


def _place(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def _within(place: str, allowed: set[str]) -> bool:
    return any(place == entry or (entry.endswith("/") and place.startswith(entry)) for entry in allowed)


def _imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Imported module names of a file, each with whether the import stands at module level."""
    tree = ast.parse(file.read_text("utf-8"))
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in top


@pytest.mark.parametrize("file", FILES, ids=_place)
def test_imports_point_down(file: Path) -> None:
    here = file.relative_to(PACKAGE).parts[0]
    if here not in LAYERS:
        return
    for module, _ in _imports(file):
        parts = module.split(".")
        if parts[0] == "advisor" and len(parts) > 1 and parts[1] not in SHARED_MODULES:
            assert parts[1] in LAYERS[here], f"{_place(file)} imports {module}"


@pytest.mark.parametrize("file", FILES, ids=_place)
def test_each_library_is_imported_where_it_lives(file: Path) -> None:
    for module, at_top in _imports(file):
        library = module.split(".")[0]
        if library == "advisor" or library in sys.stdlib_module_names:
            continue
        assert library in LIBRARIES, f"{_place(file)} imports {library}, which is in no list"
        assert _within(_place(file), LIBRARIES[library]), f"{_place(file)} may not import {library}"
        is_program = _place(file) == "host/_nvml_child.py"  # runs in a process of its own, only to ask NVML
        assert is_program or not (at_top and library in HEAVY), f"{_place(file)} imports {library} before it is used"


@pytest.mark.parametrize("file", FILES, ids=_place)
def test_only_the_named_files_touch_files_and_processes(file: Path) -> None:
    place = _place(file)
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_method = isinstance(node.func, ast.Attribute)
            if name in FILE_CALLS and (is_method or name == "open"):
                assert _within(place, TOUCHES_FILES), f"{place}:{node.lineno} calls {name}()"
            for keyword in node.keywords:
                assert not (keyword.arg == "shell" and getattr(keyword.value, "value", None) is True)
            assert name not in ("eval", "exec", "system", "popen") or isinstance(node.func, ast.Attribute), place
    if any(module.split(".")[0] in ("subprocess", "multiprocessing") for module, _ in _imports(file)):
        assert _within(place, STARTS_PROCESSES), f"{place} starts processes"


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["probe", "--quiet", "--out", "{out}"], ["check", "--fail-on", "never", "--format", "json"]],
    ids=["help", "probe", "check"],
)
def test_light_commands_import_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from advisor.cli import run; status = run(sys.argv[1:]);"
        "print('STATUS', status, sorted({'torch','optuna','numpy','scipy','PIL','sqlalchemy'} & set(sys.modules)),"
        " file=sys.stderr)"
    )
    filled = [argument.format(out=tmp_path) for argument in arguments]
    done = subprocess.run([sys.executable, "-c", code, *filled], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == "STATUS 0 []", done.stderr


def test_json_output_does_not_import_rich() -> None:
    code = "import sys; from advisor.cli import run; run(sys.argv[1:]); assert 'rich' not in sys.modules"
    command = [sys.executable, "-c", code, "check", "--format", "json", "--fail-on", "never"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
