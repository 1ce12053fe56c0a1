"""Tells what differs between two hosts, or between a host now and as it was."""

import json
import os
from collections.abc import Sequence

import click

from advisor.model.difference import Difference
from advisor.model.snapshot import Snapshot

SCHEMA_VERSION = 1
_LONGEST = 100


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--fail-on-drift", is_flag=True, help="Exit with 1 when something differs.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(a: str, b: str, fail_on_drift: bool, form: str, quiet: bool, no_color: bool) -> int:
    """Compares the facts of A and B: each a facts.json, a folder that advisor wrote, a captured machine, or / for this.

    What changes by itself (counters, free memory) and what names a host is left out. A fact that only one side could
    read is not comparable, which is no drift. Exit status 0; with --fail-on-drift 1 when something differs.
    """
    from advisor.inputs import printable
    from advisor.model.difference import differences

    one, other = _facts(a), _facts(b)
    found = differences(one, other)
    if not quiet:
        click.echo(_as_json(a, b, found) if form == "json" else printable_lines(found))
    drift = any(difference.kind != "not comparable" for difference in found)
    if found and not drift and not quiet:
        click.echo(f"advisor: nothing that both {printable(a)} and {printable(b)} tell differs", err=True)
    return int(fail_on_drift and drift)


def _facts(name: str) -> Snapshot:
    """The facts that ``name`` holds. Raises SourceError."""
    from advisor.commands._snapshot import snapshot_from
    from advisor.discover import probe_models
    from advisor.model.snapshot import committed_json, parse_snapshot

    inside = os.path.join(name, "facts.json")
    if os.path.isfile(inside):
        return snapshot_from(None, inside, {})[0]
    if name.endswith(".json") and os.path.isfile(name):
        return snapshot_from(None, name, {})[0]
    # A file has lost what names the host, so that the other side must lose it too.
    return parse_snapshot(committed_json(snapshot_from(name, None, {})[0]), probe_models(), name)


def printable_lines(found: Sequence[Difference]) -> str:
    """One line for each difference, then what could not be compared."""
    from advisor.inputs import printable

    lines = [printable(_told(one)) for one in found if one.kind != "not comparable"]
    unknown = [printable(_told(one)) for one in found if one.kind == "not comparable"]
    if not lines:
        lines.append("no difference")
    if unknown:
        lines += ["", "not comparable:", *(f"  {line}" for line in unknown)]
    return "\n".join(lines)


def _told(one: Difference) -> str:
    if one.kind == "only in A":
        return f"{one.fact}: only in A: {_short(one.a)}"
    if one.kind == "only in B":
        return f"{one.fact}: only in B: {_short(one.b)}"
    return f"{one.fact}: {_short(one.a)} -> {_short(one.b)}"


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _as_json(a: str, b: str, found: Sequence[Difference]) -> str:
    rows = [{"fact": one.fact, "kind": one.kind, "a": one.a, "b": one.b} for one in found]
    return json.dumps({"schema_version": SCHEMA_VERSION, "a": a, "b": b, "differences": rows}, indent=1, sort_keys=True)
