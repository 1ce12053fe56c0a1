"""Everything under OUT, put together once for `render` and `tune`."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from advisor.data import template_texts
from advisor.inputs import printable, read_text
from advisor.model.finding import Report
from advisor.model.job import Job
from advisor.model.scrubbing import Scrubber
from advisor.model.setting import Plan, Setting
from advisor.model.snapshot import Snapshot, committed_json, full_json, scrubber_of
from advisor.planning.context import template_context
from advisor.planning.merge import raise_conflicts
from advisor.planning.render import render
from advisor.planning.write import Output, Written, write_out
from advisor.reports import json as json_report
from advisor.reports import markdown
from advisor.targets._base import load_targets
from advisor.targets.launch import MODES
from advisor.tuning.batching import PYTORCH_PREFETCH
from advisor.tuning.choice import Choice
from advisor.tuning.record import TEXT_LIMIT_BYTES, Record, parse_record
from advisor.tuning.settings import recorded_settings

NUMA_BINDING = "numa_binding"
"""In what a measurement rests on: how trials were bound, node or socket."""
FACTS_FILE, REPORT_FILE, TUNING_FILE = "facts.json", "report.md", "tuning.json"

_MUST_STAY_TRUE = ("host/", "job/")


@dataclass(frozen=True)
class Measured:
    """What an earlier `advisor tune` left in OUT."""

    settings: tuple[Setting, ...] = ()
    basis: str = ""
    validity: Mapping[str, object] = field(default_factory=dict)
    record: Record | None = None


def earlier_measurement(out: str | Path) -> Measured:
    """The settings of ``tuning.json`` in OUT and what they rest on; nothing when there is none. Raises InputError."""
    path = Path(out) / TUNING_FILE
    if not os.path.exists(path):  # a name that no file can have is told of when OUT is written
        return Measured()
    record = parse_record(read_text(path, TEXT_LIMIT_BYTES), printable(path))
    settings = recorded_settings(record)
    return Measured(settings, record.header(), record.validity, record)


def job_as_chosen(job: Job, record: Record | None) -> Job:
    """``job`` with the loader that a measurement chose, where the operator did not tell of one."""
    config = record.choice.config if record is not None else None
    if record is None or config is None or job.workers is not None:
        return job
    sizes = (t.measurement.batch_bytes for t in record.trials if t.config == config and t.measurement.batch_bytes)
    chosen: dict[str, int | str | None] = {
        "workers": config.num_workers,
        "workers_measured": _compared_with_fewer(record.choice, config.num_workers),
        "prefetch_factor": config.prefetch_factor,
    }
    bound = record.validity.get(NUMA_BINDING)
    if (
        isinstance(bound, str) and bound in MODES
    ):  # else another number of workers could ask for another binding than was measured
        chosen["numa_binding"] = bound
    held = record.bound
    if held is not None and config.num_workers == 0 and held.wanted > held.workers:
        # Workers that a resource is too small for are what the rules about that resource are to judge.
        chosen |= {"workers": held.wanted, "workers_measured": False, "prefetch_factor": PYTORCH_PREFETCH}
    if job.batch_bytes is None:
        chosen["batch_bytes"] = next(sizes, None)
    origins = {**job.origins, **dict.fromkeys(chosen, TUNING_FILE)}
    return job.model_copy(update={**chosen, "origins": origins})


def _compared_with_fewer(choice: Choice, workers: int) -> bool:
    """Whether fewer workers were measured too, and found slower than ``workers``: not kept for want of a gain."""
    earned = choice.changes or choice.gain is None
    return earned and any(candidate.config.num_workers < workers for candidate in choice.candidates)


def asked_by(report: Report, snapshot: Snapshot) -> tuple[Setting, ...]:
    """The settings of the rules that fail, and of those that hold thanks to our own installed file."""
    failing = [setting for finding in report.failing() for setting in finding.settings]
    holding = [setting for finding in report.of("holds") for setting in finding.keeps]
    return (*failing, *(setting for setting in holding if _is_ours(setting, snapshot)))


def _is_ours(setting: Setting, snapshot: Snapshot) -> bool:
    """Whether our own installed file sets it."""
    target = load_targets()[setting.target]
    key = target.named(setting.key)
    if target.wrong(key, setting.value) is not None:
        return False
    return any(file.ours for file in target.set_by(snapshot, key))


def assemble(
    snapshot: Snapshot,
    report: Report,
    plan: Plan,
    out: str | Path,
    *,
    validity: Mapping[str, object] | None = None,
    basis: str = "",
    measured: str = "",
    extra_files: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
) -> Written:
    """Writes OUT (facts.json, report.md, host/, job/, advisor.lock, ...) and says what changed.

    ``validity``: what a measurement rests on, JSON values, kept in advisor.lock. ``basis``: first line of
    job/dataloader.* ("measured on ..."). ``measured``: what report.md ends with. ``extra_files``: further committed
    files, path in OUT to text (``tuning.json``). ``keep``: files of a former run that stay although this run does not
    make them.
    Raises ConflictError (settings of equal rank disagree) and InputError before anything is written.
    """
    output = output_of(
        snapshot, report, plan, validity=validity, basis=basis, measured=measured, extra_files=extra_files, keep=keep
    )
    return write_out(out, output)


def output_of(
    snapshot: Snapshot,
    report: Report,
    plan: Plan,
    *,
    validity: Mapping[str, object] | None = None,
    basis: str = "",
    measured: str = "",
    extra_files: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
) -> Output:
    """What `assemble` writes. Raises ConflictError."""
    raise_conflicts(plan)
    generated = render(template_texts(), template_context(plan, load_targets(), basis, snapshot))
    review = markdown.text(report, snapshot, plan) + (f"\n{measured}" if measured else "")
    scrubber = scrubber_of(snapshot)
    committed = _for_others({**generated, REPORT_FILE: review, **(extra_files or {})}, scrubber)
    ignored = {"findings.json": json_report.text(report, snapshot, plan)}
    if snapshot.source.kind != "facts":  # else they came from such a file, which says more than what is left of it
        committed[FACTS_FILE] = committed_json(snapshot, scrubber)
        ignored["observations.json"] = full_json(snapshot, scrubber)
    records = (FACTS_FILE, TUNING_FILE)
    return Output(committed, ignored, records, keep=(*keep, FACTS_FILE), validity=validity or {})


def _for_others(files: Mapping[str, str], scrubber: Scrubber) -> dict[str, str]:
    """``files`` without what tells this host; of what is run or installed only the comments hold any of that.

    A rule's setting of which that is not true is withheld, see `advisor.planning.refusal`; an operator's is his own.
    """
    return {path: _passed(path, scrubber)(text) for path, text in files.items()}


def _passed(path: str, scrubber: Scrubber) -> Callable[[str], str]:
    if path.startswith(_MUST_STAY_TRUE):
        return scrubber.comments
    return scrubber.json if path.endswith(".json") else scrubber.text
