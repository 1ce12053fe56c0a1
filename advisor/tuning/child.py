"""The program of a trial: builds the loader, trains, measures, writes one JSON file, and ends.

    PYTHON child.py REQUEST.json RESULT.json

It runs in the interpreter that trains (``--python``), where advisor need not be installed, so this file and all that
it imports need the standard library and torch only. Of advisor nothing but the package itself is made visible, lest
the parent's other packages shadow those of the training environment.
"""

import importlib.util
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = Path(__file__).resolve().parent.parent
_PR_SET_PDEATHSIG = 1
_OOM_SCORE = "1000"
"""The kernel's out-of-memory killer takes a process with this score first: never somebody else's job."""


def _show_package() -> None:
    """Makes ``advisor`` importable from beside this file, and nothing else of the parent's environment."""
    if "advisor" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "advisor", _PACKAGE / "__init__.py", submodule_search_locations=[str(_PACKAGE)]
    )
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["advisor"] = module
    spec.loader.exec_module(module)


# At import, not in main(): a worker started by spawn or forkserver imports this file again before anything else.
_show_package()


def main() -> int:
    """Runs one request and returns the exit status; whatever happened is told in the result file."""
    request = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    _die_with(int(request["parent"]))
    # The script's folder would make advisor's own modules shadow the user's.
    sys.path[0] = os.getcwd()
    result: dict[str, Any]
    try:
        result = {"status": "ok", **_answer(request)}
    except KeyboardInterrupt:
        return 130
    except BaseException as error:  # noqa: BLE001 - user code raises anything, SystemExit too
        result = {"status": "error", **_told(error)}
    part = Path(sys.argv[2] + ".part")
    part.write_text(json.dumps(result), "utf-8")
    part.replace(sys.argv[2])
    return 0 if result["status"] == "ok" else 1


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from advisor.tuning._describe import describe
    from advisor.tuning._loop import measure
    from advisor.workloads._load import load

    loaded = load(request["workload"], request["data"])
    return describe(loaded) if request["task"] == "describe" else measure(loaded, request)


def _told(error: BaseException) -> dict[str, Any]:
    """An error as text: its type, its message, where the user's code raised it, and the whole traceback."""
    from advisor.errors import WorkloadError

    if isinstance(error, WorkloadError):
        return {"kind": "WorkloadError", "message": str(error), "place": "", "traceback": ""}
    return {
        "kind": type(error).__name__,
        "message": str(error)[:4000],
        "place": _place(error),
        "traceback": "".join(traceback.format_exception(error))[-8000:],
    }


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame that is neither advisor's nor a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(str(_PACKAGE)) and "site-packages" not in f.filename]
    own = [f for f in own if "/lib/python" not in f.filename and not f.filename.startswith("<")]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def _die_with(parent: int) -> None:
    """Ties this process to its parent: it is killed when the parent dies, and first when memory runs out."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call above
        os._exit(130)
    try:
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE, "ascii")
    except OSError as error:
        print(f"advisor: oom_score_adj stays as it is: {error}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
