"""Puts back what was there before advisor apply, to the byte."""

import click


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--target-root", metavar="DIR", help="Root of another system's files instead of this one's.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(dry_run: bool, yes: bool, target_root: str | None, form: str, quiet: bool, no_color: bool) -> int:
    """Puts back every file, its mode and owner, and every value that advisor apply changed, since its first run.

    What was changed by hand since then is left as it is, and said; remove such a file and run this again to have its
    former content back. A run that was cut off is put in order too. Exit status: 0 done, or nothing to do; 3 something
    was left as it is, or nothing could be done.
    """
    from advisor.commands._changes import Manner
    from advisor.commands._installing import undo
    from advisor.commands._site import place_at

    manner = Manner("rollback", dry_run, yes, form == "json", quiet)
    manner.refuse_unasked()
    return undo(place_at(target_root, "rollback", changes=not dry_run), manner)
