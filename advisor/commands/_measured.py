"""From a described workload to a `Record`: an earlier one that still holds, or a search."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

from advisor.commands._binding import Binding
from advisor.commands._options import duration_text
from advisor.commands._progress import shown
from advisor.derived.budget import Budget
from advisor.errors import SourceError
from advisor.inputs import printable, read_text
from advisor.model.scrubbing import Scrubber
from advisor.model.trial import AutocastType, Measurement
from advisor.tuning import launching, starting
from advisor.tuning.autocast import autocast
from advisor.tuning.batching import Batching, Declared, baseline, batching, without
from advisor.tuning.bound import bound
from advisor.tuning.choice import Choice, choose, round_of
from advisor.tuning.cost import learn
from advisor.tuning.drift import drift_note
from advisor.tuning.epochs import Epoch
from advisor.tuning.measuring import MEASURING, WARMING_UP
from advisor.tuning.progress import Said
from advisor.tuning.record import SCHEMA_VERSION, TEXT_LIMIT_BYTES, Record, parse_record
from advisor.tuning.search import RESUMED, Outcome, run_search
from advisor.tuning.session import BUDGET_USED, Job, Limits, Run
from advisor.tuning.settings import NOT_PINNED
from advisor.tuning.sharing import Sharing, taken_as, useful
from advisor.tuning.space import Resources
from advisor.tuning.study import open_study
from advisor.tuning.trial import LEAST_LIMIT_SECONDS, MOST_LIMIT_SECONDS, limit_seconds
from advisor.tuning.validity import Part, differences, validity_key
from advisor.tuning.vram import Vram, measured_vram, of_each

TUNING_FILE = "tuning.json"
OURS = ("This DataLoader will create", "'pin_memory' argument is set as true but no accelerator is found")
"""PyTorch's warnings of what is told in other words: more workers than CPUs, memory that is not pinned."""
NOISY = 0.10
"""Relative spread above which the reader is told."""
MOST_NOTES = 20
OTHER_BATCH = (
    "another micro-batch at the same global batch trains the same, but for: batch normalization, whose statistics see "
    "other batches; losses that are averaged over samples of unequal length, which need weights; contrastive losses "
    "with negatives from their batch; and the random numbers of dropout"
)
ANY_ORDER = (
    "in_order=False would hand batches over as they are done, so that no slow sample holds up others; it changes the "
    "order of batches from run to run, so it is not set here"
)


@dataclass(frozen=True)
class Described:
    """What a first look at the workload told."""

    title: str
    """As the user knows it: ``the built-in image-files workload``, ``train.py:factory``."""
    declared: Declared
    accelerators: int
    """GPUs that torch can use."""
    parts: Mapping[str, Part]
    """What the measurement depends on: data set, code, Python, torch, GPU names."""
    has_unread: bool = False
    """Whether the data set has samples beyond those that trials read."""
    iterable: bool = False
    """Whether it is a stream."""
    samples: int | None = None
    """Of an epoch; ``None``: not known, or the data set stands for a larger one..."""
    drop_last: bool = True
    """...and whether its last batch is left out if it is not full."""
    loading_seconds: float = 0.0
    """What looking at it took."""
    vram_bytes: int | None = None
    """All memory of the accelerator that trials run on..."""
    vram_taken_bytes: int | None = None
    """...and what others and the context take of it."""

    def epoch(self, ranks: int) -> Epoch | None:
        """Of one rank, as a DistributedSampler cuts it; ``None``: not known."""
        return None if self.samples is None else Epoch(-(-self.samples // ranks), self.drop_last)


@dataclass(frozen=True)
class Asked:
    """What is to be measured, as asked on the command line."""

    ranks: int
    global_batch: int | None
    limits: Limits
    step_time: float | None = None
    """Seconds of training to stand for the step that the workload lacks."""
    amp: AutocastType | None = None
    """What the step is to be measured in too, by ``torch.autocast``."""
    fresh: bool = False
    storage: str | None = None
    quiet: bool = False
    color: bool = True


def resources(budget: Budget | None, bound: Binding | None = None, vram_bytes: int | None = None) -> Resources:
    """What one rank may use. The limit of open files is each process's own, so it is not divided."""
    if budget is None:
        return Resources(vram_bytes=vram_bytes)
    cpus = budget.cpus_per_rank if budget.cpus_per_rank is not None else budget.cpus_per_rank_at_most
    if bound is not None:
        cpus = bound.each() if cpus is None else min(cpus, bound.each())
    return Resources(
        cpus=cpus,
        memory_bytes=_least(budget.memory_available_per_rank_bytes, budget.memory_per_rank_bytes),
        shm_bytes=_least(budget.shm_available_per_rank_bytes, budget.shm_per_rank_bytes),
        files=budget.open_files,
        tasks=None if budget.pids_left is None else budget.pids_left // max(budget.ranks or 1, 1),
        vram_bytes=vram_bytes,
    )


def _least(*amounts: int | None) -> int | None:
    return min((a for a in amounts if a is not None), default=None)


def basis(described: Described, ranks: int) -> str:
    """What the numbers rest on, one line."""
    measured = f"measured on {described.title}"
    return f"{measured}, one rank of {ranks}, extrapolated" if ranks > 1 else f"{measured}, one rank"


@dataclass(frozen=True)
class Earlier:
    """What an earlier run left in OUT."""

    record: Record | None = None
    """What still holds and is used again..."""
    begun: Record | None = None
    """...or holds too, but with a larger budget is gone on from."""
    note: str | None = None
    """What to say about it."""


def earlier(out: Path, parts: Mapping[str, Part], budget_seconds: float) -> Earlier:
    """The record of an earlier run, if it still holds."""
    path = out / TUNING_FILE
    if not os.path.exists(path):
        return Earlier()
    try:
        record = parse_record(read_text(path, TEXT_LIMIT_BYTES), printable(path))
    except SourceError as error:
        return Earlier(note=f"{error}; measuring again")
    if record.validity_key != validity_key(parts):
        changed = ", ".join(differences(parts, record.validity))
        told = f"what {printable(path)} holds was measured under other conditions ({changed}); measuring again"
        return Earlier(note=told)
    if record.choice.config is None:
        return Earlier(note=f"{printable(path)} holds no successful trial; measuring again")
    had, cut_short = record.budget_seconds, record.stopped in (BUDGET_USED, RESUMED)
    if had is not None and cut_short and had < budget_seconds:
        short = f"the search that {printable(path)} holds was cut short by its budget ({duration_text(had)})"
        return Earlier(begun=record, note=f"{short}; going on from its trials")
    again = f"nothing that advisor looks at has changed: {printable(path)} is used again"
    return Earlier(record, note=f"{again}{_of_its_end(record, cut_short)}; --fresh measures again")


def _of_its_end(record: Record, cut_short: bool) -> str:
    if cut_short and record.budget_seconds is not None:
        had = duration_text(record.budget_seconds)
        return f"; its search was cut short by its budget ({had}), and a larger --budget goes on from it"
    return f"; what ended its search: {record.stopped}" if cut_short or "--max-trials" in record.stopped else ""


def validity(described: Described, cut: Batching, conditions: Mapping[str, Part]) -> dict[str, Part]:
    """All that the measurement depends on. Nothing volatile."""
    return {
        **described.parts,
        **conditions,
        "workload": described.title,
        "ranks": cut.ranks,
        "global_batch": None if cut.assumed else cut.global_batch,
    }


def committed_parts(parts: Mapping[str, Part], scrubber: Scrubber) -> dict[str, Part]:
    """``parts`` fit for a committed file; what loses a name for that still differs from what differed before."""
    made: dict[str, Part] = {}
    for name, part in parts.items():
        shown = scrubber.text(part) if isinstance(part, str) else part
        told = (
            shown
            if shown == part
            else f"{shown} ({blake2b(str(part).encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()})"
        )
        made[name] = told
    return made


def measure(
    described: Described,
    asked: Asked,
    parts: Mapping[str, Part],
    room: Resources,
    studies: Path,
    run: Run,
    stream: TextIO,
    vram: Vram | None = None,
    begun: Record | None = None,
    sharing: Sharing | None = None,
) -> tuple[Record, Callable[[], None]]:
    """The record of a search, and what to call once the record is safely written or told: it ends the study.

    ``vram``: what was estimated of an accelerator that is not here. ``begun``: a search to be gone on from.
    ``sharing``: how workers share a stream.
    """
    epoch, cut = described.epoch(asked.ranks), batching(described.declared, asked.ranks, asked.global_batch)
    cut = without(cut, vram.left_out if vram else ())
    if epoch is not None:
        cut = without(cut, [size for size in cut.choices if size > epoch.samples])
        cut = replace(cut, notes=(*cut.notes, *([note] if (note := epoch.note(cut.today)) else [])))
    base = baseline(described.declared, cut)
    if sharing is not None and sharing.repeats and base != useful(base):
        base, cut = useful(base), replace(cut, notes=(*cut.notes, taken_as(base)))
    job = Job(
        base,
        cut,
        room,
        # Without an accelerator PyTorch ignores it: points that differ in it alone would be measured twice.
        pin_memory=described.accelerators > 0 or bool(described.declared.pin_memory),
        accelerated=described.accelerators > 0 and described.declared.has_step,
        has_unread=described.has_unread,
        trained=described.declared.has_step or asked.step_time is not None,
        start_method=_text(parts.get("start_method")),
        amp=asked.amp,
        epoch=epoch,
        repeats=sharing is not None and sharing.repeats,
    )
    key = validity_key(parts)
    ends = time.monotonic() + asked.limits.budget_seconds
    with (
        open_study(studies, key, cut.choices, asked.storage, asked.fresh) as study,
        shown(stream, lambda: ends - time.monotonic(), asked.quiet, asked.color) as listen,
    ):
        if begun is not None:
            done = sorted((*begun.trials, *begun.parts), key=lambda trial: trial.number)
            study.go_on_from(trial for trial in done if round_of(trial) is None)  # rounds of now are compared alone
        for note in (_announced(asked.limits), *study.notes):
            listen(Said(note))
        outcome = run_search(job, asked.limits, study, run, time.monotonic, listen)
        record = _record(described, asked, parts, job, outcome)
    amp = record.choice.config.amp if record.choice.config is not None else None
    steps = [t for t in (*outcome.trials, *outcome.parts) if t.config.amp == amp]
    seen = measured_vram(steps, room.vram_bytes, cut.choices)
    record = replace(record, vram=of_each(vram or seen, asked.ranks), stream=sharing.says if sharing else None)
    return record, lambda: _finish(studies, key, cut, asked)


def _text(part: Part) -> str | None:
    return part if isinstance(part, str) else None


def _announced(limits: Limits) -> str:
    if limits.exhaustive:
        return "measuring every point that can work, however long it takes; Ctrl-C keeps what was measured"
    if limits.diagnose_only:
        return "measuring the job as it is; Ctrl-C keeps what was measured, the same command resumes"
    return (
        f"measuring for at most {duration_text(limits.budget_seconds)}, and a tenth more if a comparison needs it; "
        "Ctrl-C keeps what was measured, the same command resumes"
    )


def _finish(studies: Path, key: str, cut: Batching, asked: Asked) -> None:
    with open_study(studies, key, cut.choices, asked.storage) as study:
        if not asked.limits.diagnose_only:
            study.close()
        elif asked.fresh:
            study.settle()


def _record(described: Described, asked: Asked, parts: Mapping[str, Part], job: Job, outcome: Outcome) -> Record:
    choice = choose(outcome.trials, job.baseline)
    every = [*outcome.trials, *outcome.parts]
    held = bound(job.resources, every, choice.config, job.baseline.batch_size, asked.ranks)
    return Record(
        schema_version=SCHEMA_VERSION,
        validity_key=validity_key(parts),
        validity=dict(parts),
        basis=basis(described, asked.ranks),
        global_batch=job.batching.global_batch,
        global_batch_origin=job.batching.origin,
        ranks=asked.ranks,
        baseline=job.baseline,
        headroom=outcome.diagnosis.says if outcome.diagnosis else "not measured",
        space=outcome.space.parameters,
        stopped=outcome.stopped,
        choice=choice,
        trials=outcome.trials,
        parts=outcome.parts,
        verdict=outcome.diagnosis.verdict if outcome.diagnosis else "unknown",
        notes=(
            *([held.says] if held is not None else []),
            *_notes(job, outcome, choice),
            *_of_pinning(described, choice),
            *_of_time(asked.limits, outcome, choice),
        ),
        told=tuple(dict.fromkeys([*described.declared.told(), *(["global_batch"] if asked.global_batch else [])])),
        bound=held,
        budget_seconds=asked.limits.budget_seconds,
    )


def _notes(job: Job, outcome: Outcome, choice: Choice) -> tuple[str, ...]:
    """What the reader should know beside the numbers."""
    told = [w for t in outcome.trials for w in t.measurement.warnings if not any(ours in w for ours in OURS)]
    cpus, chosen = job.resources.cpus, choice.config
    if chosen is not None and cpus is not None and chosen.num_workers > cpus:
        told.insert(
            0, f"PyTorch will warn of more workers than CPUs ({cpus:g}): here they mostly wait, so it is wanted"
        )
    noise = max((c.spread for c in choice.candidates), default=0.0)
    if noise > NOISY:
        told.insert(
            0, f"runs of one configuration differed by {noise:.0%}: the node was not quiet; --fresh measures again"
        )
    if (drifted := drift_note(outcome.trials, choice)) is not None:
        told.insert(0, drifted)
    if chosen is not None and choice.changes and chosen.batch_size != job.baseline.batch_size:
        told.insert(0, OTHER_BATCH)
    if outcome.diagnosis is not None and outcome.diagnosis.verdict == "tail samples":
        told.insert(0, ANY_ORDER)
    told[:0] = [note for note in (_of_autocast(job, outcome), *_of_workers(job, outcome, choice)) if note]
    return (*job.batching.notes, *list(dict.fromkeys(told))[:MOST_NOTES])


def _of_pinning(described: Described, choice: Choice) -> Iterator[str]:
    """What became of ``pin_memory`` where it has no effect."""
    if described.accelerators or choice.config is None:
        return
    told = described.declared.pin_memory
    kept = f"stays {told}, as the workload tells" if told is not None else "is not written, as the workload tells none"
    yield f"pin_memory {kept}: {NOT_PINNED}"


def _of_time(limits: Limits, outcome: Outcome, choice: Choice) -> Iterator[str]:
    """What helps where trials were too slow for their limit, and none was done."""
    had = limit_seconds(limits.budget_seconds)
    slow = any(_had_slow_steps(t.measurement) for t in outcome.trials)
    if choice.config is None and slow and had < MOST_LIMIT_SECONDS:
        yield (
            f"a trial had {had:g} s, a fifth of the budget but {LEAST_LIMIT_SECONDS:g} s at least: with a longer "
            f"--budget it has up to {MOST_LIMIT_SECONDS:g} s, so that slow steps can be measured"
        )


def _had_slow_steps(measured: Measurement) -> bool:
    """Whether time ran out while steps followed each other, and not for one batch or for loading the workload."""
    seen = (starting.CAME, f"last seen: {WARMING_UP}", f"last seen: {MEASURING}")
    return measured.outcome == "timed-out" and any(words in measured.message for words in seen)


def _of_autocast(job: Job, outcome: Outcome) -> str:
    """What the step alone said of the autocast that was asked for; nothing if none was."""
    found = autocast(outcome.parts, job.amp, job.baseline.batch_size)
    if found.amp is None or not any(trial.config.amp for trial in outcome.trials):
        return found.says
    return f"{found.says}; loops were measured with it, and the baseline without"


def _of_workers(job: Job, outcome: Outcome, choice: Choice) -> Iterator[str | None]:
    """How they are started, if otherwise than ever, and what they leave for launching kernels."""
    trials = [*outcome.trials, *outcome.parts]
    yield starting.told(trials, job.start_method)
    chosen = choice.of(choice.config) if choice.config is not None else None
    if job.accelerated and chosen is not None:
        yield launching.told(chosen.config, learn(trials), chosen.samples_per_second, job.resources.cpus)
