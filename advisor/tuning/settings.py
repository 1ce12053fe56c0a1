"""From a choice to DataLoader settings, each with the measurement it rests on."""

from collections.abc import Mapping
from types import MappingProxyType

from advisor.model.setting import NONE, Reason, Setting, Value
from advisor.model.trial import Config
from advisor.tuning.batching import BY_ITSELF, TELL_IT
from advisor.tuning.choice import Choice, ratio_text
from advisor.tuning.record import Record

BY = "trial"
NOT_PINNED = "PyTorch pins no memory where it finds no accelerator, so it was not searched"
YOURS_TO_VALIDATE = "autocast changes numerics: that training converges as before is yours to validate"


def recorded_settings(record: Record) -> tuple[Setting, ...]:
    """Settings of target ``dataloader`` for what was chosen, each with its reason; none when nothing was measured."""
    started = record.started()
    reasons = {} if started is None else {"multiprocessing_context": _measured(started, record.basis)}
    if record.batch_assumed():
        said = Reason("assumed", "assumed", f"nobody told it: neither the workload nor --global-batch; {TELL_IT}")
        reasons |= {"batch_size": said, "accumulation": said}
    if record.told is not None and "batched" in record.told:
        reasons |= {"batch_size": _measured(f"as the workload tells: {BY_ITSELF}", record.basis)}
    config, held = record.choice.config, record.bound
    if config is not None and held is not None and config.num_workers <= held.workers < held.wanted:
        why = _why(record.choice, record.baseline.num_workers, config.num_workers)
        reasons |= {"num_workers": _measured(f"{why}; {held.says.partition(':')[0]} (see report.md)", record.basis)}
    told = record.told_of_pinning()
    if told is not None:
        reasons |= {"pin_memory": _measured(f"as the workload tells; {NOT_PINNED}", record.basis)}
    settings = dataloader_settings(record.choice, record.baseline, record.basis, reasons)
    return tuple(s for s in settings if s.key != "pin_memory" or told is not False)


def dataloader_settings(
    choice: Choice, baseline: Config, basis: str, reasons: Mapping[str, Reason] = MappingProxyType({})
) -> tuple[Setting, ...]:
    """Settings of target ``dataloader`` for a choice; none when nothing could be measured.

    ``reasons``: of arguments that rest on something else than the choice.
    """
    if choice.config is None:
        return ()
    before = _arguments(baseline)
    return tuple(
        Setting(
            "dataloader",
            key,
            value,
            reasons.get(key) or _measured(_why(choice, before.get(key), value), basis),
            risk="none" if before.get(key) == value else "low",
            scope="job",
        )
        for key, value in _arguments(choice.config).items()
    )


def _measured(why: str, basis: str) -> Reason:
    return Reason("measured", BY, f"{why} ({basis})")


def told(choice: Choice) -> str:
    """What was chosen and what it gains, in one sentence."""
    if choice.config is None:
        return choice.why
    gain = f"{ratio_text(choice.gain)} over the baseline; " if choice.changes and choice.gain is not None else ""
    validate = f"; {YOURS_TO_VALIDATE}" if choice.config.amp is not None else ""
    return f"{described(choice.config)}: {gain}{choice.why}{validate}"


def described(config: Config) -> str:
    """``num_workers 8, prefetch_factor 2, batch_size 32`` and what else matters."""
    parts = [f"num_workers {config.num_workers}"]
    if config.prefetch_factor is not None:
        parts.append(f"prefetch_factor {config.prefetch_factor}")
    parts.append(f"batch_size {config.batch_size}")
    if config.accumulation > 1:
        parts.append(f"accumulation {config.accumulation}")
    if config.multiprocessing_context is not None:
        parts.append(f"multiprocessing_context {config.multiprocessing_context}")
    return ", ".join(parts) + _in_autocast(config)


def _in_autocast(config: Config) -> str:
    return f", with the step in torch.autocast({config.amp})" if config.amp is not None else ""


def _arguments(config: Config) -> Mapping[str, Value]:
    arguments: dict[str, Value | None] = {
        "num_workers": config.num_workers,
        "prefetch_factor": config.prefetch_factor,
        "batch_size": NONE if config.batch_size is None else config.batch_size,
        "accumulation": config.accumulation,
        "pin_memory": config.pin_memory,
        "persistent_workers": config.persistent_workers if config.num_workers else None,
        "multiprocessing_context": config.multiprocessing_context,
    }
    return {key: value for key, value in arguments.items() if value is not None}


def _why(choice: Choice, before: Value | None, value: Value) -> str:
    if not choice.changes:
        return choice.why
    if before == value:
        return "as in the baseline"
    cast = _in_autocast(choice.config) if choice.config is not None else ""
    gain = f"{ratio_text(choice.gain)} over the baseline{cast}; " if choice.gain is not None else ""
    return ("" if before is None else f"was {before}; ") + gain + choice.why
