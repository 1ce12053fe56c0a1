"""Running several commands at once: each mostly waits for its process to start and for the kernel's locks."""

import threading
from collections.abc import Sequence

from advisor.host.base import Host, Output

AT_ONCE = 8


def run_together(host: Host, commands: Sequence[Sequence[str]]) -> tuple[Output | None, ...]:
    """The outputs of ``commands``, in their order; as `Host.run` gives them."""
    outputs: list[Output | None] = [None] * len(commands)
    errors: list[Exception] = []

    def run(number: int) -> None:
        try:
            outputs[number] = host.run(commands[number])
        except Exception as error:  # noqa: BLE001 - handed to the caller's thread below
            errors.append(error)

    for first in range(0, len(commands), AT_ONCE):
        threads = [threading.Thread(target=run, args=(n,)) for n in range(first, min(first + AT_ONCE, len(commands)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return tuple(outputs)
