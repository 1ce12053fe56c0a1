"""Installs what was generated for this host, and remembers what was there before."""

import click


@click.command()
@click.argument("out")
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--target-root", metavar="DIR", help="Root of another system's files instead of this one's.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(out: str, dry_run: bool, yes: bool, target_root: str | None, form: str, quiet: bool, no_color: bool) -> int:
    """Installs the files below OUT/host, and sets at once what can be set at once; advisor rollback undoes both.

    What was there before is kept in /var/lib/advisor first. All is done or nothing: what fails is turned back.
    Suggestions (OUT/suggested) and what belongs to jobs (OUT/job) are never installed, and nothing is restarted. Exit
    status: 0 done, or nothing to do; 2 something is wrong with OUT or the options; 3 not done, all is as before.
    """
    from advisor.commands._changes import Manner
    from advisor.commands._installing import install
    from advisor.commands._site import place_at
    from advisor.inputs import printable
    from advisor.planning.generated import read_generated
    from advisor.planning.write import unlisted
    from advisor.targets._installed import load_installed

    files = read_generated(out, load_installed())
    manner = Manner("apply", dry_run, yes, form == "json", quiet)
    manner.refuse_unasked()
    for name in unlisted(out, "host"):
        click.echo(f"advisor: {printable(name)} is not in advisor.lock and is not installed", err=True)
    return install(place_at(target_root, "apply", changes=not dry_run), files, manner)
