"""What a search tells while it runs; drawing it is the command's business."""

from collections.abc import Callable
from dataclasses import dataclass

from advisor.model.trial import Config, Trial


@dataclass(frozen=True)
class Started:
    """A trial begins."""

    number: int
    config: Config
    origin: str


@dataclass(frozen=True)
class Ended:
    """A trial has ended, and how many are done."""

    trial: Trial
    reused: bool = False
    """It was measured by an earlier run of the same search."""


@dataclass(frozen=True)
class Said:
    """A sentence about the course of the search."""

    text: str


Event = Started | Ended | Said
Listen = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Listens to nothing."""
