"""A change of a host: shown, agreed to, made, and told of."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import click

from advisor.errors import ApplyError, InputError
from advisor.inputs import printable
from advisor.planning.changes import Change, differences
from advisor.planning.generated import GeneratedFile
from advisor.planning.journal import Live
from advisor.planning.transaction import Site, carry_out, is_cut_off, recover
from advisor.targets._installed import Installed

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Manner:
    """How the user wants it."""

    verb: str
    dry_run: bool
    yes: bool
    json: bool
    quiet: bool

    def refuse_unasked(self) -> None:
        """Raises InputError when nobody can be asked and nobody said yes."""
        if not (self.yes or self.dry_run or sys.stdin.isatty()):
            raise InputError(f"advisor {self.verb} asks before it changes anything, and nobody can answer: give --yes")


def change_host(
    site: Site, manner: Manner, make: Callable[[], Change], settings: Callable[[Change], Sequence[str]]
) -> int:
    """Makes the change that ``make`` works out, unless it is a dry run or not agreed to, and tells of it."""
    with nullcontext() if manner.dry_run else site.tree.alone():
        notes = _in_order(site, manner)
        try:
            change = make()
        except OSError as error:
            raise ApplyError(f"cannot read {printable(error.filename)}: {error.strerror}") from None
        told = settings(change)
        if not manner.quiet and not (manner.json and manner.yes):
            click.echo(_as_text(change, told), nl=False, err=manner.json)
        notes += change.by_hand
        done = False
        if not change.is_empty and not manner.dry_run and _is_agreed(manner):
            notes += carry_out(site, change)
            done = True
    if manner.json and not manner.quiet:
        click.echo(_as_json(change, told, done, notes))
    for note in notes:
        click.echo(f"advisor: {printable(note)}", err=True)
    if done and not manner.quiet and not manner.json:
        click.echo(_summary(change))
    refused = not (change.is_empty or manner.dry_run or done)
    return ApplyError.exit_status if change.by_hand or refused else 0


def _in_order(site: Site, manner: Manner) -> list[str]:
    """Puts in order what an earlier run left half done, and says so. Raises ApplyError where that cannot be."""
    try:
        cut_off = is_cut_off(site)
    except OSError as error:
        raise ApplyError(f"cannot read {printable(error.filename)}: {error.strerror}; start it with sudo") from None
    if not manner.dry_run:
        return recover(site)
    if cut_off:
        raise ApplyError("an earlier run was cut off half way: advisor rollback puts that in order, then look again")
    return []


def _is_agreed(manner: Manner) -> bool:
    return manner.yes or click.confirm("Change this?", err=True)


def _as_text(change: Change, settings: Sequence[str]) -> str:
    """The difference of each file, the values that are set at once, and when each setting counts."""
    if change.is_empty:
        return "nothing to change\n"
    lines = [*differences(change), *(_told(one) for one in change.pending.live), *settings]
    return "".join(printable(line) + "\n" for line in lines)


def _told(one: Live) -> str:
    return f"{one.setting}: {one.before} becomes {one.after} in {one.path} at once"


def _summary(change: Change) -> str:
    return f"changed: {len(change.pending.entries)} files, {len(change.pending.live)} values at once"


def _as_json(change: Change, settings: Sequence[str], done: bool, notes: Sequence[str]) -> str:
    files = [
        {"path": one.path, "action": "remove" if one.after is None else "replace" if one.before else "add"}
        for one in change.pending.entries
    ]
    live = [
        {"setting": one.setting, "path": one.path, "before": one.before, "after": one.after}
        for one in change.pending.live
    ]
    document = {
        "schema_version": SCHEMA_VERSION,
        "done": done,
        "files": files,
        "diff": list(differences(change)),
        "live": live,
        "settings": list(settings),
        "notes": list(notes),
    }
    return json.dumps(document, indent=1, sort_keys=True)


def effects(files: Sequence[GeneratedFile], change: Change, targets: Mapping[str, Installed]) -> list[str]:
    """When each setting of a file that changes counts, and its risk, one text each."""
    changed = {entry.path for entry in change.pending.entries if entry.after is not None}
    now = {one.setting for one in change.pending.live}
    told = []
    for file in files:
        if file.path in changed and not file.lines:
            told.append(f"{file.path}: counts {targets[file.target].WHEN}")
        for line in file.lines if file.path in changed else ():
            name = f"{file.target}:{line.key}"
            risk = f" (risk: {line.risk})" if line.risk else ""
            when = "at once" if name in now else targets[file.target].WHEN
            told.append(f"{name}={line.text}{risk}: counts {when}")
    return told
