"""The optimizer's updates in a measured loop: when they come, and what is to be counted of them. Pure.

A window should hold whole optimizer steps. Where one of them would take many windows, the update comes after fewer
micro-batches than the job's and is timed by itself, and a window counts as much of it as the job has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean


@dataclass
class Updates:
    """Of one loop."""

    accumulation: int
    """Micro-batches of an optimizer step of the job."""
    update: Callable[[], None] | None
    """``None``: the step makes its own, or there is none."""
    finish: Callable[[], None]
    """Waits until the accelerator has done all that is queued."""
    clock: Callable[[], float]
    timed: list[float] = field(default_factory=list)
    """Seconds of each that was timed by itself."""

    def __post_init__(self) -> None:
        self.every = self.accumulation
        """Micro-batches from one update to the next."""
        self._since = 0
        self._made = False

    @property
    def apart(self) -> bool:
        """Whether they come earlier than in the job, and are timed by themselves."""
        return self.every < self.accumulation

    def settle(self, least: int, is_long: Callable[[int], bool]) -> None:
        """Once, before anything is measured: how often they come from now on.

        ``least``: micro-batches of a window; ``is_long``: whether so many of them take too long for one.
        """
        if self.update is None:
            return
        if self._since and not self._made:  # the first one makes the optimizer's state
            self._make()
            self.finish()
        if self.accumulation > least and is_long(self.accumulation):
            self.every = least

    def trained(self) -> None:
        """A micro-batch is done."""
        self._since += 1
        if self.update is None or self._since < self.every:
            return
        if not self.apart:
            self._make()
            return
        self.finish()
        began = self.clock()
        self._make()
        self.finish()
        self.timed.append(self.clock() - began)

    def _make(self) -> None:
        assert self.update is not None
        self.update()
        self._made, self._since = True, 0

    def excess_seconds(self, timed: list[float], steps: int) -> float:
        """Of a window with ``steps`` micro-batches and these updates: what the job would not have had in it."""
        return mean(timed) * (len(timed) - steps / self.accumulation) if timed else 0.0
