"""From what rules, trials and the operator ask for to what is written: rank, conflicts, and what is withheld."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from advisor.errors import ConflictError
from advisor.model.setting import RANKS, Conflict, Plan, Rank, Reason, Risk, Setting, Withheld
from advisor.model.snapshot import Snapshot, scrubber_of
from advisor.planning.refusal import known_target, refusal
from advisor.planning.render import comment
from advisor.targets._base import Target

_RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high")
_WINNER: Mapping[Rank, str] = {
    "operator": "the operator",
    "measured": "a measurement",
    "rule": "a rule",
    "assumed": "it",
}


@dataclass
class _Sheet:
    """The plan while it is made."""

    settings: list[Setting] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def plan(settings: Iterable[Setting], snapshot: Snapshot, targets: Mapping[str, Target]) -> Plan:
    """The Plan for this host: one value for each key, with the value seen; the rest withheld or in conflict.

    Raises InputError when the operator asks for what is never written or cannot be written.
    """
    sheet, scrubber = _Sheet(), scrubber_of(snapshot)
    asked: dict[tuple[str, str], list[Setting]] = defaultdict(list)
    for setting in sorted((_named(setting, targets) for setting in settings), key=_order):
        target = known_target(setting, targets)
        why = refusal(setting, snapshot, target, scrubber)
        if why is None:
            asked[setting.target, setting.key].append(setting)
        else:
            sheet.withheld.append(Withheld(_with_seen(setting, snapshot, target), why))
    for group in asked.values():
        _settle(group, snapshot, targets[group[0].target], sheet)
    # A rule asks for one setting of a kind of device once for each device.
    return Plan(_by_target(sheet.settings), tuple(dict.fromkeys(sheet.withheld)), tuple(sheet.conflicts))


def _named(setting: Setting, targets: Mapping[str, Target]) -> Setting:
    return replace(setting, key=known_target(setting, targets).named(setting.key))


def _order(setting: Setting) -> tuple[str, str, int, str, str]:
    reason = setting.reason
    return setting.target, setting.key, RANKS.index(reason.rank), reason.by, f"{setting.value} {reason.text}"


def raise_conflicts(plan: Plan) -> None:
    """Raises ConflictError, both reasons in it, when settings of equal rank disagree."""
    if plan.conflicts:
        raise ConflictError("\n".join(_told(conflict) for conflict in plan.conflicts))


def _told(conflict: Conflict) -> str:
    wishes = " and ".join(comment(f"{s.value} ({s.reason.by}: {s.reason.text})") for s in conflict.settings)
    key = f"{conflict.target}:{conflict.key}"
    return f"{key} is to be both {wishes}; settle it with --set {key}=VALUE"


def _settle(group: list[Setting], snapshot: Snapshot, target: Target, sheet: _Sheet) -> None:
    """Puts the outcome for one key on the sheet."""
    best = [s for s in group if s.reason.rank == group[0].reason.rank]
    one = _agreed(best, target)
    if one is None:
        sheet.conflicts.append(Conflict(best[0].target, best[0].key, tuple(best)))
        return
    wanted = target.text(one.key, one.value)
    for setting in group[len(best) :]:
        if target.text(setting.key, setting.value) != wanted:
            why = f"{one.reason.by} asks for {wanted}, and {_WINNER[one.reason.rank]} wins"
            sheet.withheld.append(Withheld(_with_seen(setting, snapshot, target), why))
    _against_the_host(one, snapshot, target, sheet)


def _agreed(settings: list[Setting], target: Target) -> Setting | None:
    """One setting that satisfies all of these, which are of one rank; ``None`` when there is none."""
    exact = [s for s in settings if not s.only_raise]
    base = (exact or settings)[0]
    value = base.value
    for floor in (s for s in settings if s.only_raise):
        try:
            value = target.raised(base.key, target.text(base.key, value), floor.value)
        except ValueError:
            return None
    # Floors lift each other, but not a value that somebody asked for exactly.
    if any(target.text(s.key, s.value) != target.text(base.key, value) for s in exact):
        return None
    return replace(base, value=base.value if exact else value, reason=_joined(settings), risk=_riskiest(settings))


def _joined(settings: list[Setting]) -> Reason:
    reasons = [s.reason for s in settings]
    return Reason(
        rank=reasons[0].rank,
        by=", ".join(dict.fromkeys(r.by for r in reasons)),
        text="; ".join(dict.fromkeys(r.text for r in reasons if r.text)),
        sources=tuple(dict.fromkeys(source for r in reasons for source in r.sources)),
    )


def _riskiest(settings: list[Setting]) -> Risk:
    return max((s.risk for s in settings), key=_RISKS.index)


def _against_the_host(setting: Setting, snapshot: Snapshot, target: Target, sheet: _Sheet) -> None:
    """Writes the setting, or withholds it when the host has it already or has more."""
    setting = _with_seen(setting, snapshot, target)
    why, enough = None, False
    if setting.only_raise and target.SCOPE == "host":
        setting, why, enough = _raised(setting, target)
    if why is None and _is_so(setting, snapshot, target, enough):
        why = f"already so: {setting.seen_path or setting.target} has {setting.seen}"
    if why is None:
        sheet.settings.append(setting)
    else:
        sheet.withheld.append(Withheld(setting, why))


def _raised(setting: Setting, target: Target) -> tuple[Setting, str | None, bool]:
    """The setting with nothing in it below the present value, or why that cannot be told; whether that is enough.

    What several devices have, or a soft and a hard limit, is no value to write: where it is enough, the value stays.
    """
    if setting.seen is None:
        return setting, f"the present value is not known ({setting.seen_note}), and it must not be lowered", False
    try:
        value = target.raised(setting.key, setting.seen, setting.value)
    except ValueError as error:
        return setting, f"it must not be lowered, but {error}", False
    if value == setting.seen and target.wrong(setting.key, value) is not None:
        return setting, None, True
    return replace(setting, value=value), None, False


def _is_so(setting: Setting, snapshot: Snapshot, target: Target, enough: bool) -> bool:
    """Whether nothing is to be done: the value is in effect, and not only thanks to our own file."""
    if setting.seen is None or not (enough or target.same(setting.key, setting.seen, setting.value)):
        return False
    if setting.reason.rank == "operator":  # no file sets it yet, and what was asked for must outlive a reboot
        return False
    # What our installed file brought about must stay in it.
    return not any(file.ours for file in target.set_by(snapshot, setting.key))


def _with_seen(setting: Setting, snapshot: Snapshot, target: Target) -> Setting:
    whose = replace(setting, scope=target.SCOPE, suggested=target.SUGGESTED)
    if target.wrong(setting.key, setting.value) is not None:
        return whose
    seen = target.seen(snapshot, setting.key)
    return replace(whose, seen=seen.text, seen_path=seen.path, seen_note=seen.note)


def _by_target(settings: list[Setting]) -> Mapping[str, tuple[Setting, ...]]:
    names = sorted({s.target for s in settings})
    return {name: tuple(sorted((s for s in settings if s.target == name), key=lambda s: s.key)) for name in names}
