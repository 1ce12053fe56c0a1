"""``tuning.json``: what was measured, under which conditions, and what was chosen.

It comes back from a repository, so it is not trusted: it is bounded, typed, and its choice must follow from its trials.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from advisor.errors import SourceError
from advisor.model.trial import Config, Measurement, Parameter, Trial
from advisor.tuning import starting
from advisor.tuning.bound import Bound
from advisor.tuning.choice import Choice, choose
from advisor.tuning.validity import Part, validity_key
from advisor.tuning.vram import Vram

SCHEMA_VERSION = 1
TEXT_LIMIT_BYTES = 16 * 1024 * 1024
MOST_TRIALS = 10_000
MOST_WORKERS = 65_536
MOST_SAMPLES = 1 << 40
LEAST_RATE, MOST_RATE = 1e-9, 1e12
"""Samples per second: of what lies between, ratios and their intervals can be computed."""
MOST_FIGURE = 1 << 60
"""Of bytes, seconds and notes, whatever they count."""
MOST_ORIGIN = 64
"""Characters."""


@dataclass(frozen=True)
class Record:
    """The content of tuning.json."""

    schema_version: int
    validity_key: str
    validity: Mapping[str, Part]
    basis: str
    """What the numbers rest on, one line."""
    global_batch: int | None
    """``None``: the data set gives whole batches by itself."""
    global_batch_origin: str
    ranks: int
    baseline: Config
    headroom: str
    """What the baseline alone says about what a better loader could bring."""
    space: tuple[Parameter, ...]
    stopped: str
    choice: Choice
    trials: tuple[Trial, ...]
    notes: tuple[str, ...] = ()
    parts: tuple[Trial, ...] = ()
    """Of the step alone and the loader alone, from which the headroom is told."""
    verdict: str = "unknown"
    """What holds the baseline up, one of `advisor.tuning.headroom.Verdict`."""
    vram: Vram | None = None
    """Of the accelerator's memory; ``None``: nothing was asked or seen of it."""
    told: tuple[str, ...] | None = None
    """Names of what the workload or the command line told of the job; ``None``: it was not recorded."""
    budget_seconds: float | None = None
    """What the search was given; ``None``: the record is of before that was kept."""
    stream: str | None = None
    """What is to be known of how workers share the samples of a stream; ``None``: nothing."""

    bound: Bound | None = None
    """What held workers down; ``None``: nothing but CPUs."""

    def batch_assumed(self) -> bool:
        """Whether nobody told a batch."""
        return self.told is not None and not {"batch_size", "global_batch", "batched"} & set(self.told)

    def told_of_pinning(self) -> bool | None:
        """Whether ``pin_memory`` was told, where it had no effect; ``None``: it had one, or that is not known."""
        return "pin_memory" in self.told if self.told is not None and self.validity.get("gpus") == "" else None

    def header(self) -> str:
        """What the numbers rest on and are only good for, one line, for the files."""
        return f"{self.basis}; {self.stream}" if self.stream is not None else self.basis

    def all_notes(self) -> tuple[str, ...]:
        """What the reader should know beside the numbers."""
        return self.notes if self.stream is None else (self.stream, *self.notes)

    def start_method(self) -> str | None:
        """How the platform that was measured on starts workers."""
        method = self.validity.get("start_method")
        return method if isinstance(method, str) else None

    def started(self) -> str | None:
        """Why workers are started otherwise, or not at all; ``None``: as the platform does it."""
        return starting.told([*self.trials, *self.parts], self.start_method())


_RECORD: TypeAdapter[Record] = TypeAdapter(Record)


def record_text(record: Record) -> str:
    """The text of tuning.json; the same for the same record."""
    return _RECORD.dump_json(record, indent=1).decode() + "\n"


def parse_record(text: str, where: str, replay: bool = False) -> Record:
    """The Record that `record_text` wrote. Raises SourceError, one sentence with ``where``, for anything else.

    The choice is computed anew from the trials, so that gain and reasons are no file's claim; unless it is to be
    replayed (``replay``), what to use must be what the file says.
    """
    try:
        record = _RECORD.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SourceError(f"{where}: {place + ': ' if place else ''}{first['msg']}") from None
    wrong = _wrong(record)
    if wrong is not None:
        raise SourceError(f"{where}: {wrong}")
    choice = choose(record.trials, record.baseline)
    if not replay and _decision(choice) != _decision(record.choice):
        raise SourceError(f"{where}: choice does not follow from trials")
    return replace(record, choice=choice)


def _wrong(record: Record) -> str | None:
    """What no run of ours would have written."""
    if record.schema_version != SCHEMA_VERSION:
        return f"schema_version must be {SCHEMA_VERSION} but is {record.schema_version}; run advisor tune --fresh"
    if record.validity_key != validity_key(record.validity):
        return "validity_key does not follow from validity"
    if record.budget_seconds is not None and not 0 < record.budget_seconds <= MOST_FIGURE:
        return "budget_seconds is no length of time"
    if len(record.trials) + len(record.parts) > MOST_TRIALS:
        return f"it holds more than {MOST_TRIALS} trials"
    for trial in (*record.trials, *record.parts):
        if not _possible(trial.config):
            return f"trial {trial.number}: {trial.config.key()} is not a configuration"
        if not all(LEAST_RATE <= rate <= MOST_RATE for rate in trial.measurement.samples_per_second):
            return f"trial {trial.number}: samples_per_second must be positive numbers of at most {MOST_RATE:g}"
        if not all(-MOST_FIGURE <= figure <= MOST_FIGURE for figure in _figures(trial.measurement)):
            return f"trial {trial.number}: a figure of its measurement is out of all proportion"
        if len(trial.origin) > MOST_ORIGIN:
            return f"trial {trial.number}: its origin is longer than {MOST_ORIGIN} characters"
    if record.bound is not None and not 0 <= record.bound.workers <= MOST_WORKERS >= record.bound.wanted >= 0:
        return f"bound: workers and wanted must be between 0 and {MOST_WORKERS}"
    if not _possible(record.baseline):
        return f"baseline: {record.baseline.key()} is not a configuration"
    return None


def _figures(measured: Measurement) -> Iterator[float]:
    yield from measured.step_seconds
    yield from (value for value in measured.notes.values() if isinstance(value, int | float))
    for value in (
        measured.wait_share,
        measured.startup_seconds,
        measured.peak_rss_bytes,
        measured.peak_shm_bytes,
        measured.peak_vram_bytes,
        measured.batch_bytes,
    ):
        if value is not None:
            yield value


def _possible(config: Config) -> bool:
    prefetch = config.prefetch_factor
    return (
        0 <= config.num_workers <= MOST_WORKERS
        and (prefetch is None) == (config.num_workers == 0)
        and (prefetch is None or 1 <= prefetch <= MOST_WORKERS)
        and (config.batch_size is None or 1 <= config.batch_size <= MOST_SAMPLES)
        and 1 <= config.accumulation <= MOST_SAMPLES
        and (config.multiprocessing_context is None or config.num_workers > 0)
    )


def _decision(choice: Choice) -> tuple[Config | None, bool]:
    return choice.config, choice.changes
