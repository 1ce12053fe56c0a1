"""Explains a rule, or a key that rules set, with the values of this host (or of a captured one)."""

from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

from advisor.commands._given import given_options
from advisor.commands._job import Sizes, job_options, job_told
from advisor.commands._pages import Explained, Key
from advisor.derived.configured import Configuration, Configured, setting_of
from advisor.model.snapshot import Snapshot
from advisor.rulebook.rule import Rule


@click.command()
@click.argument("name", metavar="RULE|KEY")
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@click.option("--facts", metavar="FILE", help="The facts.json of an earlier run instead of this machine.")
@given_options
@job_options
@click.option("--rules", multiple=True, metavar="DIR", help="Further rules: DIR/<area>/<bad-pattern>.yaml.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing; exit with 2 when there is no such rule or key.")
@click.option("--no-color", is_flag=True, help="No colours, on a terminal too.")
def command(
    name: str,
    root: str | None,
    facts: str | None,
    given: Mapping[str, str],
    ranks: int | None,
    workers: int | None,
    bound: bool | None,
    data: str | None,
    checkpoints: str | None,
    sizes: Sizes,
    rules: Sequence[str],
    form: str,
    quiet: bool,
    no_color: bool,
) -> int:
    """Explains RULE (pcie/link-narrower-than-card) or KEY (vm.swappiness, nvme.io_timeout, NCCL_IB_HCA ...).

    Shows when the rule fails, why, what to do, its sources, and what it says of this host; of a key, the value in
    force, every file and line that sets it, and which of them wins.
    """
    import json

    from advisor.commands._pages import as_document, as_text
    from advisor.commands._rules import loaded
    from advisor.commands._screen import look_at
    from advisor.commands._snapshot import derive, snapshot_from

    every = loaded(rules)
    named = _named(name, every)
    snapshot, _ = snapshot_from(root, facts, given)
    snapshot = derive(snapshot, job_told(snapshot, ranks, data, checkpoints, workers, bound, sizes))
    about, target = named or ([], _on_this_host(name, snapshot) or _refused(name, every))
    explained = _explained(about, target, snapshot)
    if not quiet:
        document = json.dumps(as_document(explained), indent=1, sort_keys=True) + "\n" if form == "json" else None
        click.echo(document or as_text(explained, look_at(no_color)), nl=False)
    return 0


def _named(name: str, every: Sequence[Rule]) -> tuple[list[Rule], tuple[str, str] | None] | None:
    """The rules of that name, or those that set the key of that name, with its target and key."""
    found = [rule for rule in every if name in (rule.id, rule.id.partition("/")[2])]
    if found:
        return found, None
    wanted = sorted((target, key) for target, key in _keys(every) if name in (key, f"{target}:{key}"))
    return ([rule for rule in every if any(_sets(rule, *one) for one in wanted)], wanted[0]) if wanted else None


def _keys(every: Sequence[Rule]) -> set[tuple[str, str]]:
    return {(s.entry.target, s.entry.key) for rule in every for s in rule.settings}


def _on_this_host(name: str, snapshot: Snapshot) -> tuple[str, str] | None:
    """Target and key, when the host has a value for it or a file that sets it."""
    from advisor.targets._base import load_targets

    for kind in ("sysctl", "modprobe"):
        key = name.removeprefix(f"{kind}:")
        target = load_targets()[kind]
        if _configured(kind, key, snapshot) or (not target.wrong(key, "1") and target.seen(snapshot, key).text):
            return kind, key
    return None


def _configured(target: str, key: str, snapshot: Snapshot) -> Configured | None:
    found = snapshot.get(Configuration) or Configuration()
    return setting_of({"sysctl": found.sysctl, "modprobe": found.modules}.get(target), key)


def _refused(name: str, every: Sequence[Rule]) -> NoReturn:
    """Raises InputError with the nearest name."""
    from advisor.errors import InputError
    from advisor.inputs import printable
    from advisor.rulebook.language_compiler import nearest

    known = {rule.id for rule in every} | {rule.id.partition("/")[2] for rule in every}
    hint = nearest(name, sorted(known | {key for _, key in _keys(every)})) or "; see advisor rules list"
    raise InputError(f"there is no rule, and no key that a rule or this host sets, called {printable(name)!r}{hint}")


def _sets(rule: Rule, target: str, key: str) -> bool:
    return any((s.entry.target, s.entry.key) == (target, key) for s in rule.settings)


def _explained(about: Sequence[Rule], target: tuple[str, str] | None, snapshot: Snapshot) -> Explained:
    from advisor.rulebook.evaluate import evaluate
    from advisor.targets._base import load_targets

    report = evaluate(about, snapshot)
    if target is None:
        return Explained(about, report)
    kind = load_targets()[target[0]]
    files = tuple(kind.set_by(snapshot, target[1]))
    key = Key(*target, kind.seen(snapshot, target[1]), _configured(*target, snapshot), files)
    return Explained(about, report, key)
