"""Why a system call gave no value: errno to gap state."""

import errno
from collections.abc import Mapping

from advisor.model.facts import GapState

_STATES: Mapping[int, GapState] = {
    errno.ENOENT: "absent",
    errno.ENOTDIR: "absent",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    # The file is there and the driver has no answer: a link that is down, a feature the device lacks.
    errno.EINVAL: "unsupported",
    errno.EOPNOTSUPP: "unsupported",
    errno.ENODATA: "unsupported",
    errno.EIO: "unsupported",
    errno.ENODEV: "unsupported",
    errno.ENXIO: "unsupported",
    errno.ENOSYS: "unsupported",
    errno.ETIMEDOUT: "timed out",
}
GAP_STATES: tuple[GapState, ...] = (
    *("absent", "denied", "unsupported", "error", "timed out", "distrusted", "not captured"),
)


def state_of(number: int | None) -> GapState:
    """The gap state of an errno."""
    return _STATES.get(number or 0, "error")


def named_state(word: str) -> GapState | None:
    """The state that an errno's name (``EACCES``) or a state's own name stands for; ``None`` for other words."""
    for state in GAP_STATES:
        if word == state:
            return state
    number = getattr(errno, word, None) if word[:1] == "E" else None
    return state_of(number) if isinstance(number, int) else None


def errno_name(state: GapState) -> str:
    """An errno's name that `named_state` reads as ``state``; the state itself where no errno says it."""
    names: dict[GapState, str] = {
        "absent": "ENOENT",
        "denied": "EACCES",
        "unsupported": "EOPNOTSUPP",
        "timed out": "ETIMEDOUT",
    }
    return names.get(state, state)
