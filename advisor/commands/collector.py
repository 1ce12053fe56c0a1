"""Prints a POSIX sh script that makes a capture on a node with nothing installed."""

import click


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Accepted as by every command; there is nothing but the script to print.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(form: str, quiet: bool, no_color: bool) -> None:
    """Prints a shell script that copies what the probes read into a tar on its standard output.

    It needs no Python and no root: ssh NODE sh -s < collector.sh > node.tar. Its archive holds names and addresses;
    advisor capture SAFE.tar --root node.tar takes them out.
    """
    import json

    from advisor.commands._collected import script

    text = script()
    click.echo(json.dumps({"schema_version": 1, "script": text}) if form == "json" else text, nl=form == "json")
