"""Running several commands at once: each mostly waits for its process to start and for the kernel's locks."""

import threading
from collections.abc import Callable, Sequence

from advisor.host.base import Host, Output

AT_ONCE = 8


def run_together(host: Host, commands: Sequence[Sequence[str]]) -> tuple[Output | None, ...]:
    """The outputs of ``commands``, in their order; as `Host.run` gives them."""
    if host.kind != "live":
        return tuple(host.run(argv) for argv in commands)
    outputs: list[Output | None] = [None] * len(commands)
    errors: list[Exception] = []

    def run(number: int) -> None:
        try:
            outputs[number] = host.run(commands[number])
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread below
            errors.append(error)

    for first in range(0, len(commands), AT_ONCE):
        started = [_started(run, number) for number in range(first, min(first + AT_ONCE, len(commands)))]
        for thread in started:
            if thread is not None:
                thread.join()
    if errors:
        raise errors[0]
    return tuple(outputs)


def _started(run: Callable[[int], None], number: int) -> threading.Thread | None:
    """The thread that does it; ``None`` when it is done already, here, as no more tasks are allowed (pids.max)."""
    thread = threading.Thread(target=run, args=(number,))
    try:
        thread.start()
    except RuntimeError:
        run(number)
        return None
    return thread
