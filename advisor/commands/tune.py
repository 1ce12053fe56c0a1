"""Measures which DataLoader settings this node needs, and writes all of the configuration under OUT.

Probes anew, evaluates the rules, measures the job's present settings, searches for better ones, and keeps the cheapest
that come within noise of the best. What was measured is used again until something that advisor looks at has changed.

Exit status: 0 measured (or used again) and written; 1 findings as severe as --fail-on; 3 nothing could be measured, or
a probe failed: the rest is written all the same, and what an earlier run measured stays.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from advisor.commands import _summary
from advisor.commands._amp import amp_option, refuse_without_a_step
from advisor.commands._assemble import NUMA_BINDING, asked_by, job_as_chosen
from advisor.commands._binding import Binding, binding
from advisor.commands._busy import refuse_foreign_gpu_work, wait_until_quiet
from advisor.commands._cache import cache_folder
from advisor.commands._given import given_options
from advisor.commands._interrupt import stoppable
from advisor.commands._job import LAUNCH, Sizes, bound_as, file_options, job_told
from advisor.commands._measured import (
    Asked,
    Described,
    Earlier,
    committed_parts,
    earlier,
    measure,
    resources,
    validity,
)
from advisor.commands._options import Duration, StepTime, sample_option
from advisor.commands._own import of_a_rank, refuse_another_batch
from advisor.commands._rules import evaluated
from advisor.commands._snapshot import derive, probe_host
from advisor.commands._vram import estimate, room_for_a_step, vram_option
from advisor.commands._waivers import after_waivers, read_waivers, waivers_option
from advisor.commands._workload import Wanted, describe, refuse_a_second_step, runner, sharing, wanted
from advisor.commands._writing import expected, outlives, written
from advisor.derived.budget import Budget
from advisor.errors import InputError
from advisor.host.captured import open_root
from advisor.inputs import name_text, printable, read_text
from advisor.model.finding import SEVERITIES, Report, Severity
from advisor.model.job import Job
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot, scrubber_of
from advisor.model.trial import AutocastType
from advisor.planning.merge import plan
from advisor.planning.requests import requested
from advisor.planning.write import refuse_unwritable
from advisor.probes.cpu import Cpu
from advisor.targets._base import load_targets
from advisor.tuning.batching import batching
from advisor.tuning.record import TEXT_LIMIT_BYTES, Record, parse_record
from advisor.tuning.session import Limits
from advisor.tuning.validity import Part
from advisor.workloads._data import data_sample

DEFAULT_TRIALS = 40
MOST_TRIALS = 10_000


@dataclass(frozen=True)
class Options:
    """The command line."""

    workload: str
    data: str | None
    checkpoints: str | None
    data_file_bytes: int | None
    checkpoint_bytes: int | None
    given: Mapping[str, str]
    global_batch: int | None
    ranks: int | None
    budget: float
    sample: float | None
    max_trials: int | None
    step_time: float | None
    amp: AutocastType | None
    python: str | None
    vram: int | None
    out: str
    wishes: Sequence[str]
    rules: Sequence[str]
    waivers: str | None
    fresh: bool
    diagnose_only: bool
    exhaustive: bool
    replay: str | None
    allow_busy: bool
    storage: str | None
    fail_on: Severity | None
    form: str
    quiet: bool
    no_color: bool
    job_command: Sequence[str]


@click.command("tune", help=__doc__)
@click.option(
    "--workload",
    default="image-files",
    show_default=True,
    metavar="W",
    help=("What is measured: a workload of advisor, FILE.py:factory, or package.module:factory."),
)
@click.option("--data", metavar="PATH", help="Its data set; without it one is generated once.")
@click.option("--checkpoints", metavar="PATH", help="Where the job writes its checkpoints: decides some rules.")
@file_options
@given_options
@click.option(
    "--global-batch",
    type=click.IntRange(1, 1 << 30),
    metavar="N",
    help=("Samples per optimizer step over all ranks; the search never changes it."),
)
@click.option(
    "--ranks",
    type=click.IntRange(1, 4096),
    metavar="N",
    help=("Training processes on this node (default: its GPUs, else 1)."),
)
@click.option("--budget", type=Duration(), default="5m", show_default=True, help="Time to measure: 90s, 5m, 1h.")
@sample_option
@click.option(
    "--max-trials",
    type=click.IntRange(1, MOST_TRIALS),
    metavar="N",
    help=(f"Most trials before the final comparison (default {DEFAULT_TRIALS})."),
)
@click.option("--step-time", type=StepTime(), help="Time to stand for a training step that W lacks: 12ms, 0.5s.")
@amp_option
@click.option("--python", metavar="PATH", help="Interpreter for the trials, if not this one.")
@vram_option
@click.option("--out", default="advisor-out", show_default=True, metavar="OUT", help="Folder to write.")
@click.option("--set", "wishes", multiple=True, metavar="TARGET:KEY=VALUE", help="A setting of your own; it wins.")
@click.option("--rules", multiple=True, metavar="DIR", help="Further rules.")
@waivers_option
@click.option("--fresh", is_flag=True, help="Measure again, whatever OUT holds.")
@click.option("--diagnose-only", is_flag=True, help="Measure the present settings only, say what is to be gained.")
@click.option("--exhaustive", is_flag=True, help="Measure every point that can work, whatever the budget.")
@click.option("--replay", metavar="FILE", help="Choose again from the trials of a tuning.json, without measuring.")
@click.option("--allow-busy", is_flag=True, help="Measure even though the node is at work.")
@click.option("--storage", metavar="URL", help="File or database URL for the study, to resume from or to look at.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 when a finding is this severe or worse.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-color", is_flag=True, help="No colour on a terminal.")
@click.argument("job_command", metavar="[-- CMD ...]", nargs=-1, type=click.UNPROCESSED)
def command(**options: Any) -> int:
    """Runs the command and returns its exit status."""
    return tune(Options(**options))


def tune(options: Options) -> int:
    """One whole run; returns its exit status."""
    _refuse_nonsense(options)
    if options.replay is not None:
        record = parse_record(read_text(options.replay, TEXT_LIMIT_BYTES), printable(options.replay), replay=True)
        _print(options, record, None, None)
        return 0 if record.choice.config is not None else 3
    if not options.diagnose_only:
        refuse_unwritable(options.out)
    own = [requested(wish, load_targets()) for wish in options.wishes]
    accepted = read_waivers(options.waivers)
    host = open_root("/")
    if not options.allow_busy:
        _say(options, wait_until_quiet(host, lambda note: _say(options, note)))
    with stoppable(), cache_folder(os.environ) as (cache, note):
        _say(options, note)
        job = wanted(options.workload, options.data, options.python, options.step_time, options.budget, cache)
        described = describe(job)
        refuse_without_a_step(options.amp, described)
        refuse_a_second_step(options.step_time, described)
        snapshot, defects = probe_host(host, sample=options.sample, given=options.given)
        if not options.allow_busy:
            refuse_foreign_gpu_work(snapshot)
        snapshot = derive(snapshot, bound_as(_job(snapshot, options, described), own))

        def judge(snapshot: Snapshot) -> Report:
            return after_waivers(evaluated(snapshot, options.rules), accepted, options.rules)

        report = judge(snapshot)
        told = [f"probe {d.probe} failed: {d.error}" for d in defects] + list(report.defects)
        launching = [s for s in (*asked_by(report, snapshot), *own) if s.target == LAUNCH]
        bound = binding(snapshot, plan(launching, snapshot, load_targets()).of(LAUNCH))
        job = replace(job, loading_seconds=described.loading_seconds)
        ready = Ready(snapshot, report, tuple(told), described, cache / "studies", judge, bound)
        return _measured_and_written(options, own, ready, job)


@dataclass(frozen=True)
class Ready:
    """All that is known before anything is measured."""

    snapshot: Snapshot
    report: Report
    defects: tuple[str, ...]
    described: Described
    studies: Path
    judge: Callable[[Snapshot], Report]
    bound: Binding | None = None
    """Where trials run, if job/launch.sh binds ranks."""


def _measured_and_written(options: Options, own: Sequence[Setting], ready: Ready, job: Wanted) -> int:
    if not options.diagnose_only:
        refuse_unwritable(options.out, expected(ready.snapshot, ready.report, own))
    asked = _asked(options, ready.snapshot)
    refuse_another_batch(own, of_a_rank(batching(ready.described.declared, asked.ranks, asked.global_batch)))
    parts = _validity(options, asked, ready)
    before = Earlier()
    if not (options.fresh or options.diagnose_only):
        before = earlier(Path(options.out), parts, options.budget)
    _say(options, before.note)
    record, ended = before.record, None
    if record is None:
        vram = estimate(job, ready.described, asked, options.vram)
        left = room_for_a_step(ready.described, options.vram, asked.ranks)
        room = resources(ready.snapshot.get(Budget), ready.bound, left)
        shared = sharing(job, ready.described)
        epoch, cpus = ready.described.epoch(asked.ranks), ready.bound.cpus if ready.bound else None
        run = runner(replace(job, cpus=cpus, epoch_samples=epoch.samples if epoch else None))
        record, ended = measure(
            ready.described, asked, parts, room, ready.studies, run, sys.stderr, vram, before.begun, shared
        )
    if options.diagnose_only:
        _print(options, record, None, None)
        if ended is not None:
            ended()
        return _status(options, ready, record, None)
    stays = outlives(record, options.out)
    ready = _as_chosen(ready, stays or record)
    files = written(ready.snapshot, ready.report, own, options.out, record, stays, lambda note: _say(options, note))
    if ended is not None:
        ended()
    _print(options, record, ready.report, files)
    return _status(options, ready, record, stays)


def _status(options: Options, ready: Ready, record: Record, stays: Record | None) -> int:
    """The exit status; what makes it 3 is told on standard error."""
    wrong = list(ready.defects)
    if record.choice.config is None:
        kept = f"; the DataLoader settings in {options.out} stay as an earlier run measured them" if stays else ""
        wrong.append(f"{record.choice.why}{kept}")
    for line in wrong:
        click.echo(f"advisor: {printable(line)}", err=True)
    at_or_above = not options.diagnose_only and _at_or_above(ready.report, options.fail_on)
    return 3 if wrong else int(at_or_above)


def _as_chosen(ready: Ready, record: Record) -> Ready:
    """The findings for the job with the loader that was chosen, as `advisor render` on the same OUT has them."""
    job = ready.snapshot.get(Job)
    chosen = None if job is None else job_as_chosen(job, record)
    if chosen is None or chosen == job:
        return ready
    snapshot = derive(ready.snapshot, chosen)
    return replace(ready, snapshot=snapshot, report=ready.judge(snapshot))


def _refuse_nonsense(options: Options) -> None:
    if options.job_command:
        raise InputError(
            "measuring a command of yours (-- CMD) is not supported yet; give --workload FILE.py:factory, "
            "where factory() returns its data set"
        )
    measuring = {
        "--amp": options.amp,
        "--diagnose-only": options.diagnose_only,
        "--exhaustive": options.exhaustive,
        "--fresh": options.fresh,
        "--python": options.python,
        "--step-time": options.step_time,
        "--vram": options.vram,
    }
    if options.replay is not None and (given := [name for name, value in measuring.items() if value]):
        raise InputError(f"--replay chooses from what was measured and measures nothing: leave {given[0]} out")
    if options.exhaustive and options.diagnose_only:
        raise InputError("--exhaustive and --diagnose-only exclude each other: give one of them")
    if options.data is not None and not os.path.exists(options.data):
        raise InputError(f"--data {printable(options.data)} does not exist")


def _job(snapshot: Snapshot, options: Options, described: Described) -> Job:
    sizes = Sizes(data_file_bytes=options.data_file_bytes, checkpoint_bytes=options.checkpoint_bytes)
    job = job_told(snapshot, options.ranks, options.data, options.checkpoints, sizes=sizes)
    if options.ranks is None and described.accelerators:
        # Torch knows which of the GPUs this job may see.
        origins = {**job.origins, "ranks": "one for each visible GPU"}
        return job.model_copy(update={"ranks": described.accelerators, "origins": origins})
    return job


def _asked(options: Options, snapshot: Snapshot) -> Asked:
    job = snapshot.get(Job)
    most = options.max_trials or (MOST_TRIALS if options.exhaustive else DEFAULT_TRIALS)
    limits = Limits(options.budget, max_trials=most, exhaustive=options.exhaustive, diagnose_only=options.diagnose_only)
    return Asked(
        ranks=(job.ranks if job else None) or 1,
        global_batch=options.global_batch,
        limits=limits,
        step_time=options.step_time,
        amp=options.amp,
        fresh=options.fresh,
        storage=options.storage,
        quiet=options.quiet,
        color=not options.no_color and not os.environ.get("NO_COLOR"),
    )


def _validity(options: Options, asked: Asked, ready: Ready) -> dict[str, Part]:
    cpu, budget, described = ready.snapshot.get(Cpu), ready.snapshot.get(Budget), ready.described
    conditions: dict[str, Part] = {
        "cpu_model": cpu.model if cpu else None,
        "cpus": budget.cpus if budget else None,
        "cores": budget.cores if budget else None,
        "data": name_text(os.path.realpath(options.data)) if options.data is not None else None,
        "data_sample": data_sample(options.data) if options.data is not None else None,
        "step_time_seconds": options.step_time,
        "exhaustive": options.exhaustive,
        **({"bound_cpus": ready.bound.each(), NUMA_BINDING: ready.bound.mode} if ready.bound else {}),
        **({"vram_bytes": options.vram} if options.vram is not None else {}),
        **({"amp": options.amp} if options.amp else {}),
    }
    parts = validity(described, batching(described.declared, asked.ranks, asked.global_batch), conditions)
    return committed_parts(parts, scrubber_of(ready.snapshot))


def _say(options: Options, note: str | None) -> None:
    if note is not None and not options.quiet:
        click.echo(f"advisor: {printable(note)}", err=True)


def _print(options: Options, record: Record, report: Report | None, files: _summary.Files | None) -> None:
    if options.quiet:
        return
    told = _summary.as_json if options.form == "json" else _summary.text
    click.echo(told(record, report, files, options.diagnose_only), nl=False)


def _at_or_above(report: Report, severity: Severity | None) -> bool:
    if severity is None:
        return False
    counted = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return any(finding.severity in counted for finding in report.failing())
