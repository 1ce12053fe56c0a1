"""Questions about a file system whose server may be dead, asked by a child that can be left behind."""

import base64
import json
import sys
from pathlib import Path
from typing import Any, Literal

from advisor.host.base import COMMAND_SECONDS
from advisor.host.commands import run_command
from advisor.host.states import state_of
from advisor.model.facts import GapState

Question = Literal["data", "names", "link", "real", "mode", "statvfs"]
_CHILD = Path(__file__).with_name("_far_child.py")


def ask_far(
    question: Question, path: str, limit: int = 0, seconds: float = COMMAND_SECONDS
) -> tuple[Any, GapState | None]:
    """The answer about ``path`` (bytes, a list of bytes, or numbers), or why there is none.

    A child that hangs in the kernel cannot be killed before the server answers; nobody waits for it.
    """
    output, gap = run_command([sys.executable, "-I", "-S", str(_CHILD), question, path, str(limit)], seconds)
    if output is None:
        return None, gap
    try:
        document = json.loads(output.stdout)
        if "errno" in document:
            return None, state_of(document["errno"])
        return _unpacked(document["answer"]), None
    except (ValueError, KeyError, TypeError):
        return None, "error"


def _unpacked(answer: Any) -> Any:
    if isinstance(answer, str):
        return base64.b64decode(answer)
    if isinstance(answer, list):
        return [_unpacked(item) for item in answer]
    return answer
