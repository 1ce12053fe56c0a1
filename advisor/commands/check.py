"""Checks the facts of this host (or a captured one) against the rules."""

from collections.abc import Mapping, Sequence

import click

from advisor.commands._given import given_options
from advisor.commands._job import Sizes, job_options, job_told
from advisor.commands._options import no_second_reading, sample_option
from advisor.commands._waivers import after_waivers, read_waivers, waivers_option
from advisor.discover import unit_names
from advisor.model.finding import SEVERITIES, Report

NEVER = "never"


@click.command()
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@click.option("--facts", metavar="FILE", help="The facts.json of an earlier run instead of this machine.")
@sample_option
@given_options
@job_options
@click.option("--rules", multiple=True, metavar="DIR", help="Further rules: DIR/<area>/<bad-pattern>.yaml.")
@waivers_option
@click.option("--format", "form", type=click.Choice(unit_names("reports")), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, NEVER]),
    default="critical",
    show_default=True,
    help="Exit with 1 for findings of this severity or worse.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-color", is_flag=True, help="No colours, on a terminal too.")
def command(
    root: str | None,
    facts: str | None,
    sample: float | None,
    given: Mapping[str, str],
    ranks: int | None,
    workers: int | None,
    bound: bool | None,
    data: str | None,
    checkpoints: str | None,
    sizes: Sizes,
    rules: Sequence[str],
    waivers: str | None,
    form: str,
    fail_on: str,
    quiet: bool,
    no_color: bool,
) -> int:
    """Checks the facts against the rules and says what fails, what is unknown, and what would settle it.

    Exit status: 0, 1 when there are findings at or above --fail-on, 3 when a probe or a rule had a defect.
    """
    from advisor.commands._rules import loaded
    from advisor.commands._screen import look_at
    from advisor.commands._snapshot import derive, snapshot_from
    from advisor.discover import unit
    from advisor.inputs import printable
    from advisor.rulebook.evaluate import evaluate

    every, accepted = loaded(rules), read_waivers(waivers)  # what is wrong in them is told before the host is read
    snapshot, defects = snapshot_from(root, facts, given, sample=sample)
    snapshot = derive(snapshot, job_told(snapshot, ranks, data, checkpoints, workers, bound, sizes))
    report = after_waivers(evaluate(every, snapshot), accepted, rules)
    if not quiet:
        click.echo(unit("reports", form).text(report, snapshot, None, look_at(no_color)), nl=False)
    note = no_second_reading(sample, snapshot)
    if note is not None and not quiet:
        click.echo(f"advisor: {note}", err=True)
    told = [f"probe {d.probe} failed: {d.error}" for d in defects] + list(report.defects)
    for defect in told:
        click.echo(f"advisor: {printable(defect)}", err=True)
    return 3 if told else int(_at_or_above(report, fail_on))


def _at_or_above(report: Report, fail_on: str) -> bool:
    if fail_on == NEVER:
        return False
    counted = SEVERITIES[: [*SEVERITIES].index(fail_on) + 1]  # type: ignore[arg-type]
    return any(finding.severity in counted for finding in report.failing())
