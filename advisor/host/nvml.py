"""NVML's answers, asked by a child process: a wedged GPU may hang the library for ever.

The answers are plain JSON::

    {"driver_version": "580.95.05", "cuda_version": "13.0", "nvml_version": "13.580.95.05",
     "confidential_compute": null, "gaps": {"confidential_compute": "unsupported"},
     "gpus": [{"index": 0, "lost": false, "name": "NVIDIA H200", "bus_id": "0000:3b:00.0", "numa_node": null, ...,
               "nvlinks": [{"number": 0, "active": true, "version": 7, ..., "gaps": {}}],
               "gaps": {"numa_node": "unsupported"}}],
     "p2p": [{"a": 0, "b": 1, "read": 0, "write": 0, "nvlink": 0, "atomics": 0, "common_ancestor": 10, "gaps": {}}]}

A field is ``null`` when NVML did not answer; the state stands in ``gaps`` beside it. All fields of a GPU are listed
in `advisor.host._nvml_fields`; answers of an older advisor have fewer. With ``"failure": "timed out"`` a GPU did not
answer in time and the others did. Where NVML gave nothing at all, the answers are
``{"failure": "version mismatch", "state": "error", "number": 18}``: one of ``FAILURES``, the gap and NVML's error.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from advisor.host.commands import run_command
from advisor.host.states import named_state
from advisor.model.facts import GapState

NVML_SECONDS = 30.0
"""Without persistence mode the driver sets every GPU up first, one or two seconds each."""
FAILURES = ("no library", "no driver", "version mismatch", "no permission", "no binding", "timed out", "error")
_OWN_SHARE = 0.8
"""How much of the time the child gives the GPUs before it tells without those that hang."""
_DEVICES = ("/dev/nvidiactl", "/proc/driver/nvidia")
_LIBRARY = "libnvidia-ml.so.1"
LIBRARY_FOLDERS = (
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
)
_CHILD = Path(__file__).with_name("_nvml_child.py")


def ask_nvml(
    seconds: float = NVML_SECONDS, environment: Mapping[str, str] | None = None
) -> tuple[Mapping[str, object] | None, GapState | None]:
    """NVML's answers, which may be why it gave none; only the gap where nothing can be asked.

    ``environment`` adds to this process's own.
    """
    if not _is_likely({**os.environ, **(environment or {})}):
        return None, "absent"
    # -P: a pynvml.py in the working folder is not ours.
    argv = [sys.executable, "-P", str(_CHILD), str(seconds * _OWN_SHARE)]
    output, gap = run_command(argv, seconds, environment)
    if output is None:
        return ({"failure": "timed out", "state": gap}, None) if gap == "timed out" else (None, gap)
    return parse_answers(output.stdout)


def parse_answers(text: str) -> tuple[Mapping[str, object] | None, GapState | None]:
    """The answers that the child printed: ``{"answers": {...}}`` or ``{"failure": "no driver", "state": "absent"}``."""
    try:
        document = json.loads(text)
    except ValueError:
        return None, "error"
    if not isinstance(document, dict):
        return None, "error"
    answers = document.get("answers")
    if isinstance(answers, dict):
        return answers, None
    if document.get("failure") in FAILURES and named_state(str(document.get("state"))):
        return document, None
    return None, "error"


def _is_likely(environment: Mapping[str, str]) -> bool:
    """Whether a child is worth its time: there is a driver, or a library that may have one (WSL has no device)."""
    if any(os.path.exists(path) for path in _DEVICES):
        return True
    searched = [*environment.get("LD_LIBRARY_PATH", "").split(":"), *LIBRARY_FOLDERS]
    return any(folder and os.path.exists(f"{folder}/{_LIBRARY}") for folder in searched)
