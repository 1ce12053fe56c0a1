"""Compares what was generated with what the host runs, and says who overrides whom."""

import json
from collections import Counter
from collections.abc import Sequence

import click

from advisor.model.setting import Standing, State

SCHEMA_VERSION = 1
_STATES: tuple[State, ...] = ("applied", "differs", "overridden", "not visible")


@click.command()
@click.argument("out")
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def command(out: str, root: str | None, form: str, quiet: bool, no_color: bool) -> int:
    """Compares the files below OUT/host with what the host runs, setting by setting.

    Each is applied, differs, is overridden by another file (which, and at which line), or is not visible here. Files
    that sort later, TuneD, systemd's units and the kernel command line are taken into account; what belongs to jobs
    (OUT/job) and suggestions (OUT/suggested) are not looked at. Exit status: 0 all applied, 1 drift, 3 could not tell.
    """
    from advisor.commands._installed import installed_files
    from advisor.commands._snapshot import probe_host
    from advisor.host.captured import open_root
    from advisor.inputs import printable
    from advisor.planning.generated import read_generated
    from advisor.planning.verify import standings
    from advisor.targets._installed import load_installed

    targets = load_installed()
    files = read_generated(out, targets)
    host = open_root(root or "/")
    snapshot, defects = probe_host(host)
    found = standings(files, installed_files(host, targets), snapshot, targets)
    if not quiet:
        click.echo((_as_json if form == "json" else _as_text)(out, found), nl=False)
    for defect in defects:
        click.echo(f"advisor: defect in probe {defect.probe}: {printable(defect.error)}", err=True)
    return _status(found, bool(defects))


def _status(found: Sequence[Standing], defects: bool) -> int:
    states = {one.state for one in found}
    if states & {"differs", "overridden"}:
        return 1
    return 3 if defects or "not visible" in states else 0


def _as_text(out: str, found: Sequence[Standing]) -> str:
    from advisor.inputs import printable

    counts = Counter(one.state for one in found)
    told = ", ".join(f"{counts[state]} {state}" for state in _STATES if counts[state])
    lines = [f"{printable(out)}: {told or 'nothing for the host was generated'}"]
    lines += [f"  {one.state:<12}{printable(_told(one))}" for state in _STATES for one in found if one.state == state]
    return "".join(line + "\n" for line in lines)


def _told(one: Standing) -> str:
    name = f"{one.target}:{one.key}"
    if one.wanted is not None and one.wanted != "as generated":
        name += f"={one.wanted}"
    if one.state == "overridden":
        told = f"set to {one.found} by {one.path}"
    elif one.state == "applied":
        told = ""
    else:
        told = "" if one.found is None else f"{one.found} in {one.path}"
    details = "; ".join(part for part in (told, one.note) if part)
    return f"{name}: {details}" if details else name


def _as_json(out: str, found: Sequence[Standing]) -> str:
    settings = [
        {
            "target": one.target,
            "key": one.key,
            "wanted": one.wanted,
            "state": one.state,
            "found": one.found,
            "path": one.path,
            "note": one.note,
        }
        for one in found
    ]
    document = {"schema_version": SCHEMA_VERSION, "out": out, "settings": settings}
    return json.dumps(document, indent=1, sort_keys=True) + "\n"
