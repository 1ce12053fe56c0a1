"""What a step may take of the accelerator's memory, and what it would take of one that is not here."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import click

from advisor.commands._measured import Asked, Described
from advisor.commands._options import Size
from advisor.commands._workload import Wanted
from advisor.errors import WorkloadError
from advisor.model.trial import Config
from advisor.tuning.batching import BY_ITSELF, batching
from advisor.tuning.trial import TrialRequest, estimate_peaks
from advisor.tuning.vram import ASSUMED_CONTEXT_BYTES, Vram, estimated_vram, limit_bytes, unknown_vram

AS_IT_IS = "; that is the job's own step: in the autocast of --amp it takes another amount"
_Command = TypeVar("_Command", bound=Callable[..., object])


def vram_option(command: _Command) -> _Command:
    """Adds ``--vram``."""
    told = (
        "Memory of the accelerator that the job will have, where this node has none: 80GiB. Micro-batches whose step "
        "is estimated not to fit are left out."
    )
    return click.option("--vram", type=Size(), metavar="SIZE", help=told)(command)


def room_for_a_step(described: Described, told: int | None, ranks: int) -> int | None:
    """For the accelerator that is here, or a smaller one that was ``told``; ``None``: none is here, or not known."""
    if not described.accelerators:
        return None
    total = min((size for size in (described.vram_bytes, told) if size is not None), default=None)
    if total is None:
        return None
    taken = described.vram_taken_bytes
    each = -(-ranks // described.accelerators)
    return limit_bytes(total, ASSUMED_CONTEXT_BYTES if taken is None else taken, each)


def estimate(
    job: Wanted,
    described: Described,
    asked: Asked,
    told: int | None,
    ask: Callable[[TrialRequest], dict[int, int]] = estimate_peaks,
) -> Vram | None:
    """For an accelerator of ``told`` bytes that is not here; ``None``: nobody needs an estimate."""
    if told is None or described.accelerators or asked.limits.diagnose_only:
        return None
    limit = limit_bytes(told, ASSUMED_CONTEXT_BYTES)
    if described.declared.batched:
        return unknown_vram(limit, BY_ITSELF)
    if not described.declared.has_step:
        return unknown_vram(limit, "the workload has no step")
    cut = batching(described.declared, asked.ranks, asked.global_batch)
    config = Config(batch_size=cut.today, accumulation=cut.accumulation(cut.today))
    try:
        known = ask(replace(job.request(config), sizes=cut.choices))
    except WorkloadError as error:
        return unknown_vram(limit, str(error))
    estimated = estimated_vram(known, limit, cut.choices, cut.today)
    return estimated if asked.amp is None else replace(estimated, says=estimated.says + AS_IT_IS)
