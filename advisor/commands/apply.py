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
    from advisor.commands._changes import Manner, change_host, effects
    from advisor.commands._site import place_at
    from advisor.commands._snapshot import probe_host
    from advisor.errors import ApplyError
    from advisor.planning.changes import Change
    from advisor.planning.generated import read_generated
    from advisor.planning.objections import objections
    from advisor.planning.transaction import install_change
    from advisor.targets._installed import load_installed

    targets = dict(load_installed())
    files = read_generated(out, targets)
    manner = Manner("apply", dry_run, yes, form == "json", quiet)
    manner.refuse_unasked()
    place = place_at(target_root, "apply", changes=not dry_run)
    snapshot, defects = probe_host(place.host)
    against = [f"probe {one.probe} failed, so it is not known what stands against it: {one.error}" for one in defects]
    against += objections(files, snapshot, targets, place.running)
    if against:
        raise ApplyError("\n".join([*against, "nothing was changed; run advisor render again on this host"]))
    live = [one for file in files if place.running for one in targets[file.target].live(snapshot, file.lines)]

    def make() -> Change:
        change = install_change(place.site, files, live, targets)
        if change.by_hand:
            told = "move the change to --set (see advisor render --help) and remove the file; nothing was changed"
            raise ApplyError("\n".join([*change.by_hand, told]))
        return change

    return change_host(place.site, manner, make, lambda change: effects(files, change, targets))
