"""Writes the configuration that the rules and --set ask for, without measuring."""

import json
from collections.abc import Mapping, Sequence

import click

from advisor.commands._assemble import TUNING_FILE, asked_by, assemble, earlier_measurement, job_as_chosen
from advisor.commands._given import given_options
from advisor.commands._job import Sizes, bound_as, job_options, job_told
from advisor.commands._own import together
from advisor.commands._rules import evaluated
from advisor.commands._snapshot import derive, snapshot_from
from advisor.commands._waivers import after_waivers, read_waivers, waivers_option
from advisor.inputs import printable
from advisor.model.setting import Plan, Setting, Withheld
from advisor.planning.merge import plan
from advisor.planning.requests import requested
from advisor.planning.write import Written
from advisor.targets._base import load_targets
from advisor.tuning.curve import measured_section

SCHEMA_VERSION = 1


@click.command()
@click.option("--root", metavar="DIR|TAR", help="A captured machine instead of this one.")
@click.option("--facts", metavar="FILE", help="The facts.json of an earlier run instead of this machine.")
@click.option("--out", default="advisor-out", show_default=True, metavar="OUT", help="Folder to write.")
@given_options
@job_options
@click.option("--set", "wishes", multiple=True, metavar="TARGET:KEY=VALUE", help="A setting of your own; it wins.")
@click.option("--rules", multiple=True, metavar="DIR", help="Further rules.")
@waivers_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but problems.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
@click.pass_context
def command(
    ctx: click.Context,
    root: str | None,
    facts: str | None,
    given: Mapping[str, str],
    out: str,
    ranks: int | None,
    workers: int | None,
    bound: bool | None,
    data: str | None,
    checkpoints: str | None,
    sizes: Sizes,
    wishes: Sequence[str],
    rules: Sequence[str],
    waivers: str | None,
    form: str,
    quiet: bool,
    no_color: bool,
) -> None:
    """Writes the configuration that the rules and --set ask for, without measuring.

    What an earlier `advisor tune` measured in OUT is used again. TARGET:KEY=VALUE is sysctl:vm.swappiness=10,
    modprobe:MODULE.PARAMETER=1, modules:MODULE=true, limits:*/soft/nofile=65536,
    unit:SERVICE.service/LimitMEMLOCK=infinity, udev:nvme/scheduler=none,
    interrupts:nic-queues=near, env:NAME=value, dataloader:num_workers=8,
    launch:numa-binding=node; and, only suggested, mount:/data:noatime=true, cmdline:iommu=pt, container:shm-size=16g,
    slurm:PropagateResourceLimitsExcept=MEMLOCK.
    """
    targets = load_targets()
    own = [requested(wish, targets) for wish in wishes]
    accepted = read_waivers(waivers)
    snapshot, defects = snapshot_from(root, facts, given)
    measured = earlier_measurement(out)
    told = job_told(snapshot, ranks, data, checkpoints, workers, bound, sizes)
    snapshot = derive(snapshot, bound_as(job_as_chosen(told, measured.record), own))
    report = after_waivers(evaluated(snapshot, rules), accepted, rules)
    loader = together(measured.settings, own)
    made = plan([*asked_by(report, snapshot), *loader.measured, *loader.own], snapshot, targets)
    written = assemble(
        *(snapshot, report, made, out),
        validity=measured.validity,
        basis=measured.basis,
        measured=measured_section(measured.record) if measured.record is not None else "",
        keep=(TUNING_FILE,),
    )
    if not quiet:
        click.echo((_as_json if form == "json" else _as_text)(out, made, written), nl=False)
    for note in loader.notes:
        click.echo(f"advisor: {printable(note)}", err=True)
    for text in (*(f"defect in probe {d.probe}: {d.error}" for d in defects), *report.defects):
        click.echo(f"advisor: {printable(text)}", err=True)
    ctx.exit(3 if defects or report.defects else 0)


def _as_text(out: str, made: Plan, written: Written) -> str:
    total = len(written.changed) + len(written.unchanged)
    lines = [f"{printable(out)}: {total} files, {len(written.changed)} changed, {len(written.removed)} removed"]
    every = [s for target in made.settings for s in made.of(target)]
    lines += [f"  {'suggested' if s.suggested else 'set      '} {_told(s)}" for s in every]
    lines += [f"  withheld  {_told(w.setting)}: {printable(w.why)}" for w in made.withheld]
    return "".join(line + "\n" for line in lines)


def _told(setting: Setting) -> str:
    return printable(f"{setting.target}:{setting.key}={_value(setting)} ({setting.reason.by})")


def _value(setting: Setting) -> str:
    return load_targets()[setting.target].text(setting.key, setting.value)


def _as_json(out: str, made: Plan, written: Written) -> str:
    document = {
        "schema_version": SCHEMA_VERSION,
        "out": out,
        "changed": written.changed,
        "unchanged": written.unchanged,
        "removed": written.removed,
        "settings": [_plain(s) for target in made.settings for s in made.of(target)],
        "withheld": [_plain_withheld(w) for w in made.withheld],
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _plain(setting: Setting) -> dict[str, object]:
    return {
        "target": setting.target,
        "key": setting.key,
        "value": _value(setting),
        "by": setting.reason.by,
        "rank": setting.reason.rank,
        "seen": setting.seen,
        "seen_path": setting.seen_path,
        "suggested": setting.suggested,
    }


def _plain_withheld(withheld: Withheld) -> dict[str, object]:
    return {**_plain(withheld.setting), "why": withheld.why}
