"""Shows how CPUs, memory, GPUs, network cards and drives hang together."""

import json
from collections.abc import Mapping

import click

from advisor.commands._given import given_options


@click.command()
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@click.option("--facts", metavar="FILE", help="The facts.json of an earlier run instead of this machine.")
@given_options
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(
    root: str | None, facts: str | None, given: Mapping[str, str], form: str, quiet: bool, no_color: bool
) -> int:
    """Shows NUMA nodes with their CPUs and memory, the PCIe tree below each, and what is near which GPU.

    Exit status: 0; 3 for a defect in a probe.
    """
    from advisor.commands._snapshot import snapshot_from
    from advisor.inputs import printable
    from advisor.reports import _topology

    snapshot, defects = snapshot_from(root, facts, given)
    if not quiet and form == "json":
        click.echo(json.dumps(_topology.document(snapshot), indent=1, sort_keys=True))
    elif not quiet:
        click.echo(_topology.text(snapshot), nl=False)
    for defect in defects:
        click.echo(f"advisor: defect in probe {defect.probe}: {printable(defect.error)}", err=True)
    return 3 if defects else 0
