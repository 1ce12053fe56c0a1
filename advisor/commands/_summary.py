"""What `advisor tune` prints at its end, as text and as JSON."""

import json
from dataclasses import dataclass

from advisor.figures import count_text
from advisor.inputs import printable
from advisor.model.finding import SEVERITIES, Report
from advisor.tuning.choice import Candidate, ratio_text
from advisor.tuning.failures import failures
from advisor.tuning.record import Record
from advisor.tuning.settings import described

SCHEMA_VERSION = 1
RUNNERS_UP = 3


@dataclass(frozen=True)
class Files:
    """Where the result lies."""

    out: str
    total: int
    changed: int
    stays: str | None = None
    """What the loader settings there rest on, where they are an earlier run's as nothing could be measured now."""


def text(record: Record, report: Report | None, files: Files | None, diagnosis: bool = False) -> str:
    """The summary for a reader, one subject a line; of a ``diagnosis`` nothing was chosen."""
    rows = [
        ("Measured", record.basis),
        ("Batch", f"{_batch(record)}, ranks {record.ranks}"),
        ("Headroom", record.headroom),
        ("Baseline", _baseline(record)),
        *([] if diagnosis else _chosen(record, files)),
        *(("Failed", line) for line in failures(record.trials)),
        ("Search", f"{count_text(len(record.trials), 'trial')}; {record.stopped}"),
        *([("VRAM", record.vram.says)] if record.vram else []),
        *(("Note", note) for note in record.all_notes()),
        *_review(report, files),
    ]
    return "".join(f"{name:<9} {printable(line)}\n" for name, line in rows)


def _batch(record: Record) -> str:
    if record.global_batch is None:
        return record.global_batch_origin
    return f"global batch {record.global_batch} ({record.global_batch_origin})"


def _baseline(record: Record) -> str:
    measured = record.choice.of(record.baseline)
    return described(record.baseline) + (f": {_rate(measured)}" if measured else ": could not be measured")


def _rate(candidate: Candidate) -> str:
    return f"{candidate.samples_per_second:,.0f} samples/s"


def _chosen(record: Record, files: Files | None) -> list[tuple[str, str]]:
    choice = record.choice
    if choice.config is None:
        written = "no DataLoader settings are written"
        if files is not None and files.stays is not None:
            written = f"the DataLoader settings and tuning.json of an earlier run stay ({files.stays})"
        return [("Chosen", f"nothing: {choice.why}; {written}")]
    measured = choice.of(choice.config)
    rows = [("Chosen", described(choice.config) + (f": {_rate(measured)}" if measured else ""))]
    if choice.changes and choice.gain is not None:
        rows.append(("Gain", f"{ratio_text(choice.gain)} over the baseline"))
    rows.append(("Why", choice.why))
    others = [c for c in choice.candidates if c.config not in (choice.config, record.baseline)][:RUNNERS_UP]
    if others:
        rows.append(("Others", "; ".join(f"{c.config.key()} {_rate(c)}" for c in others)))
    return rows


def _review(report: Report | None, files: Files | None) -> list[tuple[str, str]]:
    rows = []
    if report is not None:
        rows.append(("Review", _findings(report) + (f"; see {files.out}/report.md" if files else "")))
    if files is not None:
        rows.append(("Files", f"{files.out}: {files.total} files, {files.changed} of them changed"))
    return rows


def _findings(report: Report) -> str:
    failing = report.failing()
    counts = [(severity, sum(f.severity == severity for f in failing)) for severity in SEVERITIES]
    told = ", ".join(f"{count} {severity}" for severity, count in counts if count) or "no finding"
    disputed, unknown = len(report.disputed()), len(report.of("unknown"))
    told += f"; authorities disagree about {disputed}" if disputed else ""
    return f"{told}; {unknown} could not be told" if unknown else told


def as_json(record: Record, report: Report | None, files: Files | None, diagnosis: bool = False) -> str:
    """The summary for a program."""
    choice = record.choice
    gain = None if diagnosis else choice.gain
    document = {
        "schema_version": SCHEMA_VERSION,
        "basis": record.basis,
        "headroom": record.headroom,
        "verdict": record.verdict,
        "vram": record.vram.says if record.vram else None,
        "validity_key": record.validity_key,
        "baseline": _plain(record, record.choice.of(record.baseline)),
        "chosen": _plain(record, choice.of(choice.config)) if choice.config and not diagnosis else None,
        "changes": choice.changes and not diagnosis,
        "gain": {"ratio": gain.value, "low": gain.low, "high": gain.high} if gain else None,
        "why": None if diagnosis else choice.why,
        "trials": len(record.trials),
        "failed": failures(record.trials),
        "stopped": record.stopped,
        "notes": list(record.all_notes()),
        "failing": [f.rule for f in report.failing()] if report else None,
        "disputed": [f.rule for f in report.disputed()] if report else None,
        "out": files.out if files else None,
        "stays": files.stays if files else None,
        "files": files.total if files else None,
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _plain(record: Record, candidate: Candidate | None) -> dict[str, object] | None:
    if candidate is None:
        return None
    config = candidate.config
    return {
        "num_workers": config.num_workers,
        "prefetch_factor": config.prefetch_factor,
        "batch_size": config.batch_size,
        "accumulation": config.accumulation,
        "pin_memory": config.pin_memory,
        "persistent_workers": config.persistent_workers,
        "multiprocessing_context": config.multiprocessing_context,
        "amp": config.amp,
        "samples_per_second": candidate.samples_per_second,
    }
