"""Ctrl-C and SIGTERM while trials run: the first one stops in order, further ones cannot disturb that."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from advisor.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """Turns a first SIGINT or SIGTERM into Interrupted once everything inside has put itself in order.

    From then on both are ignored: a second Ctrl-C during the clean-up must not leave a trial's processes behind.
    """
    before = {number: signal.signal(number, _stop) for number in _SIGNALS}
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted("interrupted; run the same command to resume") from None
    finally:
        for number, handler in before.items():
            # None: set by something other than Python, which cannot be put back from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _stop(number: int, frame: FrameType | None) -> None:
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
