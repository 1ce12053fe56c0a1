"""A search of simulated trials, and the files and lines that come of it."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from advisor.commands._measured import Asked, Described, measure, validity
from advisor.data import template_texts
from advisor.model.snapshot import Snapshot, Source
from advisor.model.trial import Config, Measurement
from advisor.model.trial import Part as Piece
from advisor.planning.context import template_context
from advisor.planning.merge import plan
from advisor.planning.render import render
from advisor.targets._base import load_targets
from advisor.tuning.batching import Declared, batching
from advisor.tuning.record import Record, parse_record, record_text
from advisor.tuning.session import Limits
from advisor.tuning.settings import recorded_settings
from advisor.tuning.space import Resources

MIB = 1 << 20
ROOM = Resources(cpus=2.0)
HOST = Snapshot(Source(kind="live"), {}, {})


def waiting(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
    """Two milliseconds of waiting a sample, hardly any CPU time."""
    rate = max(config.num_workers, 1) * 490.0
    notes = {"cpu_seconds_per_sample": 30e-6, "blocked_seconds_per_sample": 2e-3, "samples": 320, "steps": 20}
    return Measurement("ok", samples_per_second=(rate, rate * 1.001, rate * 0.999), batch_bytes=MIB, notes=notes)


def tuned(
    folder: Path,
    declared: Declared,
    ranks: int = 1,
    global_batch: int | None = None,
    gpus: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    room: Resources = ROOM,
) -> Record:
    """What a search of a few trials leaves in tuning.json; each trial tells of ``warnings``."""

    def trial(config: Config, part: Piece = "loop", windows: int = 3) -> Measurement:
        return replace(waiting(config, part, windows), warnings=warnings)

    described = Described("made/up.py:factory", declared, len(gpus), {"gpus": ", ".join(gpus)})
    conditions = validity(described, batching(declared, ranks, global_batch), {})
    asked = Asked(ranks, global_batch, Limits(max_trials=8))
    record, _ = measure(described, asked, conditions, room, folder, trial, io.StringIO())
    return parse_record(record_text(record), "tuning.json")


def files(record: Record) -> Mapping[str, str]:
    """The texts of dataloader.py and dataloader.json."""
    targets = load_targets()
    made = plan(recorded_settings(record), HOST, targets)
    return render(template_texts(), template_context(made, targets, record.basis))


def arguments(record: Record) -> dict[str, Any]:
    """What the generated dataloader.py defines."""
    names: dict[str, Any] = {}
    exec(files(record)["job/dataloader.py"], names)
    return names
