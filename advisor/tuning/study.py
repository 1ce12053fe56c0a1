"""The study file: what Optuna proposes and what it was told. The only importer of optuna.

A study serves to resume an interrupted search: every trial that ended is kept with its whole measurement. Trials that
a killed run left RUNNING are told FAIL when the study is opened, as a journal has no heartbeat. One search at a time
measures with a folder of studies (`flock`), so a RUNNING trial found there never belongs to a living one.
"""

import contextlib
import fcntl
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from advisor.errors import BusyError, InputError
from advisor.inputs import printable
from advisor.model.trial import Config, Measurement, Space, Trial
from advisor.tuning.cost import rate
from advisor.tuning.journal import refuse_others, repair, set_aside
from advisor.tuning.space import PREFETCH_FACTORS

SEED = 20
STARTUP_TRIALS = 8
"""TPE proposes at random until this many trials are known; baseline, probes and predictions count."""
RAN_OUT = ("out-of-memory", "no-space-in-shm", "too-many-files")
"""Outcomes that say a configuration is infeasible; any other failure says nothing about its place in the space."""
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, NotImplementedError)
"""What Optuna raises when a journal holds JSON that is not a study's."""


@dataclass(frozen=True)
class Asked:
    """A trial that runs now."""

    number: int
    num_workers: int
    prefetch_factor: int | None
    batch_size: int


@dataclass(frozen=True)
class Kept:
    """A trial that ended, and how long it took in all."""

    trial: Trial
    seconds: float


class Study:
    """One search under its validity key. Made by `open_study`."""

    def __init__(self, study: Any, batch_sizes: tuple[int, ...], notes: tuple[str, ...] = ()) -> None:
        self._study = study
        self._batch_sizes = batch_sizes
        self._running: dict[int, Any] = {}
        self.notes = notes
        """What was found odd when the study was opened."""

    def kept(self) -> tuple[Kept, ...]:
        """The trials that ended, in the order in which they ran."""
        found = []
        for frozen in self._study.get_trials(deepcopy=False):
            record = frozen.user_attrs.get("record")
            if isinstance(record, str):
                with contextlib.suppress(ValidationError):
                    found.append(_KEPT.validate_json(record))
        return tuple(found)

    def go_on_from(self, trials: Iterable[Trial]) -> None:
        """Takes over what a complete search of the same key measured; nothing if this one has begun."""
        if self._study.get_trials(deepcopy=False):
            return
        for trial in trials:
            if trial.config.batch_size is not None:
                number, took = self.begin(trial.config, trial.origin), trial.measurement.notes.get("trial_seconds")
                seconds = max(float(took), 0.0) if isinstance(took, int | float) else 0.0
                self.finish(replace(trial, number=number), seconds, {})

    def begin(self, config: Config, origin: str) -> int:
        """The number of a new trial of ``config``, put first in the queue."""
        # A resumed comparison may hold a micro-batch that is no longer among those to try: as with prefetch factors,
        # Optuna is told the nearest and the record keeps the truth.
        size = config.batch_size or self._batch_sizes[0]
        batch = min(range(len(self._batch_sizes)), key=lambda index: abs(self._batch_sizes[index] - size))
        params: dict[str, int] = {"num_workers": config.num_workers, "batch_size_index": batch}
        if config.num_workers:
            params["prefetch_log2"] = _log2(config.prefetch_factor)
        self._study.enqueue_trial(params, user_attrs={"origin": origin})
        return self._ask(config.num_workers, max(_log2(config.prefetch_factor), len(PREFETCH_FACTORS) - 1)).number

    def suggest(self, space: Space) -> Asked:
        """What the sampler would try next."""
        return self._ask(max(space.choices("num_workers")), len(PREFETCH_FACTORS) - 1)

    def _ask(self, most_workers: int, most_log2: int) -> Asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask()
            workers = trial.suggest_int("num_workers", 0, most_workers)
            prefetch = 2 ** trial.suggest_int("prefetch_log2", 0, most_log2) if workers else None
            batch = self._batch_sizes[trial.suggest_int("batch_size_index", 0, len(self._batch_sizes) - 1)]
        self._running[trial.number] = trial
        return Asked(trial.number, workers, prefetch, batch)

    def refuse(self, number: int, violations: Mapping[str, float]) -> None:
        """Tells that a trial cannot work and was not run; ``violations`` above 0 say why."""
        self._end(number, violations, None)

    def finish(self, trial: Trial, seconds: float, violations: Mapping[str, float]) -> None:
        """Tells what came of a trial, whatever it was."""
        self._running[trial.number].set_user_attr("record", _KEPT.dump_json(Kept(trial, seconds)).decode())
        ran_out = trial.measurement.outcome in RAN_OUT
        told = trial.measurement if trial.part == "loop" else None  # the speed of a part is not the objective
        self._end(trial.number, {**violations, "ran out": 1.0 if ran_out else -1.0}, told)

    def _end(self, number: int, violations: Mapping[str, float], measurement: Measurement | None) -> None:
        from optuna.trial import TrialState

        running = self._running.pop(number)
        for name, excess in violations.items():
            running.set_constraint(name, excess)
        value = rate(measurement) if measurement else None
        infeasible = any(v > 0 for v in violations.values())
        if value is not None and math.isfinite(value):
            self._study.tell(running, value)
        else:
            self._study.tell(running, state=TrialState.PRUNED if infeasible else TrialState.FAIL)

    def abandon(self) -> None:
        """Tells FAIL for what still runs: the search was interrupted."""
        for number in tuple(self._running):
            self._end(number, {}, None)

    def settle(self) -> None:
        """Marks what was asked for as done, to be gone on from: a further search with ``fresh`` measures anew."""
        self._study.set_user_attr("fresh", False)

    def close(self) -> None:
        """Marks the search as complete: the next one with the same key starts afresh."""
        self._study.set_user_attr("complete", True)


def passing_study(batch_sizes: tuple[int, ...], seed: int = SEED) -> Study:
    """A study in memory, for simulations."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS)
    return Study(optuna.create_study(direction="maximize", sampler=sampler), batch_sizes)


def _log2(prefetch_factor: int | None) -> int:
    # A baseline may declare 3 or 6: Optuna is told the nearest power, the record keeps the truth.
    return max(round(math.log2(prefetch_factor)), 0) if prefetch_factor else 1


_KEPT: TypeAdapter[Kept] = TypeAdapter(Kept)


@contextlib.contextmanager
def open_study(
    folder: Path, key: str, batch_sizes: tuple[int, ...], storage: str | None = None, fresh: bool = False
) -> Iterator[Study]:
    """The study of ``key`` in ``folder`` (or in ``storage``, a path or database URL), for one search at a time.

    A damaged journal is kept aside and said. A completed study starts anew, and so does with ``fresh`` one that was
    not begun with it.
    """
    journal = None
    if storage is None or "://" not in storage:
        journal = Path(storage) if storage is not None else folder / f"{key}.journal"
    with _one_at_a_time(folder):
        if journal is not None:
            refuse_others(journal, is_named=storage is not None)
        notes = repair(journal) if journal is not None else ()
        try:
            study = _load(journal, storage, key, fresh)
        except _DAMAGE as error:
            if journal is None:
                raise InputError(_unusable(storage, error)) from None
            notes = (set_aside(journal, "does not hold a study"),)
            study = _load(journal, storage, key, fresh)
        opened = Study(study, batch_sizes, notes)
        try:
            yield opened
        finally:
            opened.abandon()


def _load(journal: Path | None, storage: str | None, key: str, fresh: bool) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    store = _journal(journal) if journal is not None else _database(str(storage))
    sampler = optuna.samplers.TPESampler(seed=SEED, n_startup_trials=STARTUP_TRIALS)
    name = f"advisor-{key}"
    study = optuna.create_study(
        study_name=name, storage=store, direction="maximize", load_if_exists=True, sampler=sampler
    )
    unwanted = fresh and not study.user_attrs.get("fresh")  # what began with --fresh is resumed with it
    if unwanted or study.user_attrs.get("complete"):
        optuna.delete_study(study_name=name, storage=store)
        study = optuna.create_study(study_name=name, storage=store, direction="maximize", sampler=sampler)
    if fresh:
        study.set_user_attr("fresh", True)
    _fail_stale(study)
    # The seed moves on with the trials, or a resumed search would repeat the proposals of its beginning.
    study.sampler = optuna.samplers.TPESampler(seed=SEED + len(study.trials), n_startup_trials=STARTUP_TRIALS)
    return study


def _fail_stale(study: Any) -> None:
    from optuna.trial import TrialState

    for _ in study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        study.ask()
    for frozen in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        study.tell(frozen.number, state=TrialState.FAIL)


def _journal(path: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    class Backend(JournalFileBackend):
        """One whose file cannot be written says which."""

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            try:
                super().append_logs(logs)
            except OSError as error:
                raise InputError(
                    f"cannot write the study {printable(path)}: {error.strerror}; make room there"
                ) from None

    return JournalStorage(Backend(str(path)))


def _database(url: str) -> Any:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    try:
        return optuna.storages.get_storage(url)
    except (SQLAlchemyError, ImportError, OSError, RuntimeError, ValueError) as error:
        raise InputError(_unusable(url, error)) from None


def _unusable(storage: str | None, error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return (
        f"--storage {printable(storage)} cannot be used: {first or type(error).__name__}; give a file or a database URL"
    )


@contextlib.contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; two searches at once would measure each other."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "measuring.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(f"cannot keep the study in {folder}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise BusyError("another advisor tune is measuring on this node; wait for it to end") from None
    try:
        yield
    finally:
        os.close(descriptor)
