"""What templates see: plain values, each setting with the comment that goes above its line."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.model.setting import Plan, Setting, Value
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.render import comment
from advisor.targets._base import Target
from advisor.targets._fstab import changes
from advisor.targets._suggested import container, tuned_profile
from advisor.targets.dataloader import accepted
from advisor.targets.env import COMPUTED

NO_HOST = Snapshot(Source(kind="tree"), {}, {})
NOT_MEASURED = "not measured: from rules and options alone"


@dataclass(frozen=True)
class Entry:
    """One setting as a template writes it."""

    key: str
    value: str
    """As the target's file holds it, not yet quoted."""
    line: str
    """The whole line, quoted."""
    comments: tuple[str, ...]
    """Who asks for it and why, what was seen where, the authority: lines without ``#``."""


def template_context(
    plan: Plan, targets: Mapping[str, Target], basis: str = "", snapshot: Snapshot = NO_HOST
) -> dict[str, Any]:
    """The variables of the templates: ``settings`` by target, ``each`` (see `render`), and ``dataloader``."""
    settings = {name: tuple(_entry(s, target, snapshot) for s in plan.of(name)) for name, target in targets.items()}
    return {
        "settings": settings,
        "each": {"unit": _by_unit(settings["unit"])},
        "nccl": _for_nccl(settings["env"]),
        "functions": [COMPUTED[one.key, one.value] for one in settings["env"] if (one.key, one.value) in COMPUTED],
        "dataloader": _loader(plan, basis or NOT_MEASURED),
        "fstab": changes(plan.of("mount"), snapshot),
        "container": container(plan, snapshot),
        "tuned": {"include": tuned_profile(snapshot)},
    }


def _entry(setting: Setting, target: Target, snapshot: Snapshot) -> Entry:
    value = target.text(setting.key, setting.value)
    return Entry(setting.key, value, target.line(setting, snapshot), comments(setting))


def _for_nccl(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Variables that NCCL can take from a file: those of its own whose value is written down."""
    return tuple(one for one in entries if one.key.startswith("NCCL_") and (one.key, one.value) not in COMPUTED)


def _by_unit(entries: Sequence[Entry]) -> Mapping[str, tuple[Entry, ...]]:
    """The settings of each service."""
    units = dict.fromkeys(entry.key.partition("/")[0] for entry in entries)
    return {unit: tuple(entry for entry in entries if entry.key.startswith(f"{unit}/")) for unit in units}


def comments(setting: Setting) -> tuple[str, ...]:
    """The lines above a setting: reason, value seen and its file, sources."""
    reason = setting.reason
    by = reason.by if reason.rank in ("operator", "assumed") else f"{reason.rank} {reason.by}"
    lines = [f"{by}: {reason.text}", _seen(setting), _effect(setting)]
    lines += [f"source: {source}" for source in reason.sources]
    return tuple(comment(line) for line in lines if line)


def _seen(setting: Setting) -> str:
    where = f" in {setting.seen_path}" if setting.seen_path else ""
    if setting.seen is not None:
        note = f" ({setting.seen_note})" if setting.seen_note else ""
        return f"seen: {setting.seen}{where}{note}"
    return f"seen: nothing{where} ({setting.seen_note})" if setting.seen_note else ""


def _effect(setting: Setting) -> str:
    if setting.scope == "job":
        return ""
    return f"risk: {setting.risk}; takes effect: {setting.takes_effect}"


def _loader(plan: Plan, basis: str) -> dict[str, Any]:
    """What was chosen for the loader; ``kwargs`` are those that DataLoader accepts together."""
    chosen: dict[str, Value] = {s.key: s.value for s in plan.of("dataloader")}
    assumed = [s.key for s in plan.of("dataloader") if s.reason.rank == "assumed"]
    arguments = accepted(chosen)
    updates = {"accumulation": chosen["accumulation"]} if "accumulation" in chosen else {}
    return {
        "basis": basis,
        "chosen": chosen,
        "document": {"basis": basis, **updates, **arguments, **({"assumed": assumed} if assumed else {})},
        "kwargs": arguments,
        "reasons": [line for s in plan.of("dataloader") for line in _reasons(s, {*arguments, *updates})],
    }


def _reasons(setting: Setting, written: Collection[str]) -> Sequence[str]:
    if setting.key not in written:
        return (f"{setting.key}:", "not written: DataLoader takes it only with workers", *comments(setting))
    return (f"{setting.key}:", *comments(setting))
