"""Reads this host (or a captured one), prints a summary and writes OUT/facts.json."""

from collections.abc import Mapping

import click

from advisor.commands._given import given_options
from advisor.commands._options import no_second_reading, sample_option


@click.command()
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@given_options
@click.option("--out", default="advisor-out", show_default=True, metavar="OUT", help="Folder that facts.json goes to.")
@sample_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
@click.pass_context
def command(
    ctx: click.Context,
    root: str | None,
    given: Mapping[str, str],
    out: str,
    sample: float | None,
    form: str,
    quiet: bool,
    no_color: bool,
) -> None:
    """Reads the host, prints a summary and writes OUT/facts.json.

    Needs neither root nor a GPU: what could not be read is listed, with what would make it readable. Exit status 0
    whenever the facts were written, whatever is missing; 3 only for a defect in a probe.
    """
    from advisor.commands._snapshot import snapshot_from
    from advisor.inputs import printable
    from advisor.model.snapshot import committed_json, full_json
    from advisor.planning.write import write_record
    from advisor.reports._host import summary

    snapshot, defects = snapshot_from(root, None, given, sample=sample)
    write_record(out, "facts.json", committed_json(snapshot))
    if form == "json" and not quiet:
        click.echo(full_json(snapshot), nl=False)
    elif not quiet:
        click.echo(summary(snapshot))
        click.echo(f"Wrote {printable(out)}/facts.json")
    note = no_second_reading(sample, snapshot)
    if note is not None and not quiet:
        click.echo(f"advisor: {note}", err=True)
    for defect in defects:
        click.echo(f"advisor: defect in probe {defect.probe}: {printable(defect.error)}", err=True)
    ctx.exit(3 if defects else 0)
