"""Showing a search: one moving line on a terminal, one line for each trial elsewhere."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TextIO

from advisor.commands._options import duration_text
from advisor.inputs import printable
from advisor.tuning.cost import rate
from advisor.tuning.progress import Ended, Event, Listen, Said, Started


class Tale:
    """What has happened so far, in words. Pure: it is told events and asked for text."""

    def __init__(self, left: Callable[[], float]) -> None:
        self._left = left
        self._done = 0
        self._best: tuple[float, str] | None = None
        self._now = "reading the workload"

    def told(self, event: Event) -> str | None:
        """Takes an event in; the line to print for it, if any, without control characters."""
        told = self._told(event)
        return None if told is None else printable(told)

    def _told(self, event: Event) -> str | None:
        if isinstance(event, Started):
            self._now = f"{event.config.key()} ({event.origin})"
            return None
        if isinstance(event, Said):
            return event.text
        self._done += 1
        trial, value = event.trial, rate(event.trial.measurement)
        if value is not None and (self._best is None or value > self._best[0]):
            self._best = value, trial.config.key()
        speed = f"{value:,.0f} samples/s" if value is not None else _failure(event)
        kept = ", kept from an earlier run" if event.reused else ""
        return f"trial {self._done}: {trial.config.key()} ({trial.origin}{kept}): {speed}"

    def line(self) -> str:
        """What is measured now, how many trials are done, the best so far, and the time left."""
        best = f"best {self._best[1]} {self._best[0]:,.0f}/s" if self._best else "nothing measured yet"
        return f"{self._now} | {self._done} done | {best} | {duration_text(self._left())} left"


def _failure(event: Ended) -> str:
    measured = event.trial.measurement
    return f"{measured.outcome}: {measured.message}" if measured.message else measured.outcome


@contextlib.contextmanager
def shown(stream: TextIO, left: Callable[[], float], quiet: bool, color: bool = True) -> Iterator[Listen]:
    """A listener that shows events on ``stream``: moving on a terminal, plain lines elsewhere, nothing if ``quiet``."""
    tale = Tale(left)
    if quiet:
        yield lambda event: None
    elif stream.isatty():
        yield from _moving(stream, tale, color)
    else:

        def listen(event: Event) -> None:
            if (line := tale.told(event)) is not None:
                stream.write(line + "\n")
                stream.flush()

        yield listen


def _moving(stream: TextIO, tale: Tale, color: bool) -> Iterator[Listen]:
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots")

    class Line:
        """Drawn anew several times a second, so that the time left runs."""

        def __rich__(self) -> Spinner:
            spinner.update(text=Text(tale.line(), no_wrap=True, overflow="ellipsis"))
            return spinner

    console = Console(file=stream, no_color=not color, highlight=False)
    with Live(Line(), console=console, transient=True, refresh_per_second=4) as live:

        def listen(event: Event) -> None:
            if (line := tale.told(event)) is not None:
                live.console.print(Text(line))

        yield listen
