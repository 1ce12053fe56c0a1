"""The part of the report that shows what was measured: the curve over workers, the runners-up, the ceiling. Pure."""

from collections.abc import Iterator

from advisor.inputs import printable
from advisor.model.trial import Config, Trial
from advisor.tuning.choice import Candidate
from advisor.tuning.cost import rate
from advisor.tuning.failures import failures
from advisor.tuning.record import Record
from advisor.tuning.settings import told

WIDTH = 40
"""Characters of the longest bar."""
PLATEAU = 0.97
"""Of the fastest: from there on more workers bring nothing."""
MOST_ROWS = 12
MIB = 1 << 20


def measured_section(record: Record) -> str:
    """Markdown for report.md."""
    lines = [*_head(record)] if record.choice.config is None else [*_head(record), *_curve(record), *_table(record)]
    return "\n".join(lines).rstrip("\n") + "\n"


def in_vain_section(record: Record) -> str:
    """Markdown for report.md, of a later run that could measure nothing, below what an earlier one measured."""
    lines = [
        *("## Measured again in vain", ""),
        f"A later run ({_plain(record.basis)}) chose nothing, as {_plain(record.choice.why)}. What is told above, the "
        "DataLoader settings and tuning.json are the earlier run's.",
        "",
        *(f"- Failed: {_plain(line.rstrip('.'))}." for line in failures(record.trials)),
        *(f"- Note: {_plain(note.rstrip('.'))}." for note in record.all_notes()),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(record: Record) -> Iterator[str]:
    yield from ("## Measured data loading", "")
    yield from (f"{_plain(record.basis)}.", "")
    yield f"- Headroom: {_plain(record.headroom)}."
    if record.choice.config is None:
        yield f"- Chosen: nothing, as {_plain(record.choice.why)}; no DataLoader settings are written."
    else:
        yield f"- Chosen: {_plain(told(record.choice))}."
    yield from (f"- Failed: {_plain(line.rstrip('.'))}." for line in failures(record.trials))
    ceiling = _ceiling(record)
    if ceiling is not None:
        yield f"- Ceiling: the training step alone gives {ceiling:,.0f} samples/s, whatever the loader."
    if record.vram is not None:
        yield f"- Accelerator memory, {_plain(record.vram.says)}."
    yield from (f"- Note: {_plain(note.rstrip('.'))}." for note in record.all_notes())
    yield ""


def _curve(record: Record) -> Iterator[str]:
    """Throughput against workers with the chosen micro-batch, the best prefetch factor of each."""
    best = _by_workers(record)
    if len(best) < 2:
        return
    fastest = max(best.values(), key=lambda c: c.samples_per_second).samples_per_second
    top = max(fastest, _ceiling(record) or 0.0)
    yield from ("```", "workers   samples/s")
    for workers, found in sorted(best.items()):
        bar = "#" * max(round(WIDTH * found.samples_per_second / top), 1)
        yield f"{workers:>7} {found.samples_per_second:>11,.0f} {bar}{_marks(record, found.config)}"
    yield from ("```", "")
    start = min(w for w, found in best.items() if found.samples_per_second >= PLATEAU * fastest)
    if start < max(best):
        yield from (f"From {start} workers on nothing that was measured is more than 3 % faster.", "")


def _by_workers(record: Record) -> dict[int, Candidate]:
    assert record.choice.config is not None
    best: dict[int, Candidate] = {}
    for found in record.choice.candidates:  # the fastest come first
        if _same_step(found.config, record.choice.config):
            best.setdefault(found.config.num_workers, found)
    chosen = record.choice.of(record.choice.config)
    if chosen is not None:
        best[chosen.config.num_workers] = chosen
    return best


def _marks(record: Record, config: Config) -> str:
    marks = [
        name for name, marked in (("chosen", record.choice.config), ("today", record.baseline)) if marked == config
    ]
    return f"  {', '.join(marks)}" if marks else ""


def _table(record: Record) -> Iterator[str]:
    candidates = record.choice.candidates
    shown = [c for c in candidates if c.config in (record.choice.config, record.baseline)]
    shown += [c for c in candidates if c not in shown][: MOST_ROWS - len(shown)]
    yield "| Configuration | Samples/s | Spread | Peak memory | Peak /dev/shm | |"
    yield "|---|---|---|---|---|---|"
    for found in sorted(shown, key=lambda c: (-c.samples_per_second, c.config.key())):
        memory, shared = _peaks(record, found.config)
        yield (
            f"| `{found.config.key()}` | {found.samples_per_second:,.0f} | {found.spread:.1%} | {memory} | {shared} |"
            f" {_marks(record, found.config).strip()} |"
        )
    rest = len(candidates) - len(shown)
    yield from (("", f"and {rest} more configurations in tuning.json") if rest > 0 else ())


def _peaks(record: Record, config: Config) -> tuple[str, str]:
    trials = [t.measurement for t in record.trials if t.config == config]
    found = []
    for amounts in ([t.peak_rss_bytes for t in trials], [t.peak_shm_bytes for t in trials]):
        most = max((a for a in amounts if a is not None), default=None)
        found.append("" if most is None else f"{most / MIB:,.0f} MiB")
    return found[0], found[1]


def _ceiling(record: Record) -> float | None:
    """What the step alone gives with the chosen micro-batch."""
    chosen = record.choice.config
    if chosen is None:
        return None
    alone: list[Trial] = [t for t in record.parts if t.part == "cached" and _same_step(t.config, chosen)]
    return max((speed for t in alone if (speed := rate(t.measurement)) is not None), default=None)


def _same_step(ours: Config, theirs: Config) -> bool:
    return (ours.batch_size, ours.amp) == (theirs.batch_size, theirs.amp)


def _plain(text: str) -> str:
    """A sentence with names of the user's: nothing in it is markup."""
    special = "\\`*[]<>|&"
    return "".join(f"\\{c}" if c in special else c for c in printable(text))
