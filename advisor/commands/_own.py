"""What was measured beside what the operator asks for with ``--set dataloader:...``: arguments that go together.

The batch of each rank stays what it was measured with: another one is another training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.errors import InputError
from advisor.model.setting import Reason, Setting
from advisor.targets.dataloader import NEED_WORKERS
from advisor.tuning.batching import Batching, divisors

LOADER = "dataloader"


@dataclass(frozen=True)
class Together:
    """Settings of the loader that can be written into one file."""

    measured: tuple[Setting, ...]
    own: tuple[Setting, ...]
    """All that the operator asks for."""
    notes: tuple[str, ...] = ()
    """What the operator must know of it."""


def together(measured: Sequence[Setting], own: Sequence[Setting]) -> Together:
    """Both, as they go together. Raises InputError for a micro-batch that the batch of a rank cannot be cut into."""
    asked, found = _loader(own), _loader(measured)
    if not asked:
        return Together(tuple(measured), tuple(own))
    workers = asked.get("num_workers") or found.get("num_workers")
    kept = [s for s in measured if s.key not in NEED_WORKERS or workers is None or workers.value != 0]
    per_rank = _per_rank(found)
    refuse_another_batch(own, per_rank)
    if per_rank is None:
        return Together(tuple(kept), tuple(own))
    batch, accumulation = _size(asked.get("batch_size", found["batch_size"]).value), asked.get("accumulation")
    if accumulation is None:
        fitted = [_accumulated(s, batch, per_rank) for s in kept] if "batch_size" in asked else kept
        return Together(tuple(fitted), tuple(own))
    changed = _changed(batch, accumulation.value, per_rank)
    if changed is None:
        return Together(tuple(kept), tuple(own))
    told = replace(accumulation, reason=replace(accumulation.reason, text=f"{accumulation.reason.text}; {changed}"))
    return Together(tuple(kept), tuple(told if s is accumulation else s for s in own), (f"--set: {changed}",))


def of_a_rank(cut: Batching) -> int | None:
    """Samples of each rank for an optimizer step; ``None``: nobody told a batch, so there is none to hold."""
    return None if cut.assumed or cut.global_batch is None else cut.global_batch // cut.ranks


def refuse_another_batch(own: Sequence[Setting], per_rank: int | None) -> None:
    """Raises InputError for a micro-batch alone that does not divide the batch of a rank."""
    asked = _loader(own)
    size = _size(asked["batch_size"].value) if "batch_size" in asked and "accumulation" not in asked else None
    if per_rank is None or size is None or per_rank % size == 0:
        return
    parts = divisors(per_rank)
    nearest = [max(part for part in parts if part < size), *[part for part in parts if part > size][:1]]
    raise InputError(
        f"--set dataloader:batch_size={size} does not divide the {per_rank} samples that each rank takes for an "
        f"optimizer step: give {' or '.join(map(str, nearest))}, or --set dataloader:accumulation=N too, for another "
        "global batch"
    )


def _loader(settings: Sequence[Setting]) -> Mapping[str, Setting]:
    return {s.key: s for s in settings if s.target == LOADER}


def _per_rank(found: Mapping[str, Setting]) -> int | None:
    """What was measured; ``None``: nothing, or with a batch that nobody told, or that the data set makes by itself."""
    values = [found[key].value for key in ("batch_size", "accumulation") if key in found]
    if len(values) < 2 or any(s.reason.rank == "assumed" for s in found.values()):
        return None
    batch, accumulation = values
    return batch * accumulation if isinstance(batch, int) and isinstance(accumulation, int) else None


def _size(value: object) -> int | None:
    """A number of samples; ``None``: the data set makes its batches, or it is none, which the plan refuses."""
    return value if isinstance(value, int) and value > 0 else None


def _accumulated(setting: Setting, batch: int | None, per_rank: int) -> Setting:
    """The accumulation that goes with the micro-batch that was asked for; other settings as they are."""
    if setting.key != "accumulation" or batch is None:
        return setting
    kept = f"follows from batch_size={batch}: each rank takes {per_rank} samples for an optimizer step, as measured"
    return replace(setting, value=per_rank // batch, reason=Reason("operator", "--set", kept))


def _changed(batch: int | None, accumulation: object, per_rank: int) -> str | None:
    """What becomes of the global batch; ``None``: it stays."""
    times = _size(accumulation)
    if batch is None or times is None or batch * times == per_rank:
        return None
    return (
        f"each rank takes {batch * times} samples for an optimizer step, where {per_rank} were measured: this is "
        "another global batch, and so another training"
    )
