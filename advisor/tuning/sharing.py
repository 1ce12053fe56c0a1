"""What it means for a search how the workers of a stream share its samples. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from advisor.model.trial import Config

HOW = (
    "let its __iter__, or a worker_init_fn, take each worker's own part by torch.utils.data.get_worker_info() "
    "(id, num_workers)"
)
MOST_WORKERS = 1
"""Of a stream that each worker gives all of."""
REASON = "each worker of this stream gives every sample, so more of them would only repeat each other"


@dataclass(frozen=True)
class Sharing:
    """How the workers of a stream share its samples."""

    verdict: Literal["repeats", "splits", "unknown"]
    says: str | None = None
    """What the reader is to know; ``None``: nothing."""

    @property
    def repeats(self) -> bool:
        """Whether each worker was seen to give every sample."""
        return self.verdict == "repeats"


def sharing_from(told: Mapping[str, Any]) -> Sharing:
    """The `Sharing` that a trial's child tells."""
    name, why = told["name"], told["why"]
    if told["verdict"] == "repeats":
        return Sharing(
            "repeats",
            f"each worker gives every sample of {name} once more ({why}), so that an epoch of several workers "
            f"is as many times as long: no more than {MOST_WORKERS} is used; to use more, {HOW}",
        )
    return Sharing("splits") if told["verdict"] == "splits" else not_told(name, why)


def useful(config: Config) -> Config:
    """``config`` with no more workers than can be of use where each gives every sample."""
    return replace(config, num_workers=min(config.num_workers, MOST_WORKERS))


def taken_as(config: Config) -> str:
    """What is said where that changes what the job does today."""
    return (
        f"the job's {config.num_workers} workers would give each sample {config.num_workers} times, so "
        f"{MOST_WORKERS} stands for them in the baseline"
    )


def not_told(name: str, why: str) -> Sharing:
    """Of a stream called ``name`` of which nothing can be said."""
    return Sharing(
        "unknown",
        f"whether the workers of {name} share its samples or each give all of them cannot be told ({why}): rates hold "
        f"only if they share them; if they do not, {HOW}",
    )
