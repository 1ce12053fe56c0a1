"""NVML's answers, asked by a child process: a wedged GPU may hang the library for ever."""

from collections.abc import Mapping

from advisor.model.facts import GapState


def ask_nvml(seconds: float = 10.0) -> tuple[Mapping[str, object] | None, GapState | None]:
    """NVML's answers as plain JSON, or why there are none."""
    return None, "absent"
