"""What `advisor tune` writes under OUT: looked at before anything is measured, and made of what was measured."""

from collections.abc import Callable, Sequence

from advisor.commands import _summary
from advisor.commands._assemble import TUNING_FILE, asked_by, assemble, earlier_measurement, output_of
from advisor.commands._own import together
from advisor.errors import SourceError
from advisor.model.finding import Report
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.planning.merge import plan
from advisor.planning.write import Output
from advisor.targets._base import load_targets
from advisor.tuning.curve import in_vain_section, measured_section
from advisor.tuning.record import Record, record_text
from advisor.tuning.settings import recorded_settings

_OF_A_MEASUREMENT = ("job/dataloader.json", "job/dataloader.py", TUNING_FILE)


def expected(snapshot: Snapshot, report: Report, own: Sequence[Setting]) -> Output:
    """What is going to be written, as far as that is known before anything is measured. Raises ConflictError."""
    made = plan([*asked_by(report, snapshot), *own], snapshot, load_targets())
    return output_of(snapshot, report, made, extra_files=dict.fromkeys(_OF_A_MEASUREMENT, ""))


def outlives(record: Record, out: str) -> Record | None:
    """What an earlier run measured and left in OUT, where ``record`` holds nothing that could be measured."""
    if record.choice.config is not None:
        return None
    try:
        earlier = earlier_measurement(out).record
    except SourceError:
        return None
    return earlier if earlier is not None and earlier.choice.config is not None else None


def written(
    snapshot: Snapshot,
    report: Report,
    own: Sequence[Setting],
    out: str,
    record: Record,
    stays: Record | None,
    say: Callable[[str], None],
) -> _summary.Files:
    """Writes OUT; ``stays``: the record that goes on to hold there, as nothing could be measured for ``record``."""
    holds = stays or record
    loader = together(recorded_settings(holds), own)
    for note in loader.notes:
        say(note)
    made = plan([*asked_by(report, snapshot), *loader.measured, *loader.own], snapshot, load_targets())
    done = assemble(
        *(snapshot, report, made, out),
        validity=holds.validity,
        basis=holds.header(),
        measured=measured_section(holds) + (f"\n{in_vain_section(record)}" if stays else ""),
        extra_files={} if stays else {TUNING_FILE: record_text(record)},
        keep=(TUNING_FILE,) if stays else (),
    )
    changed = len(done.changed)
    return _summary.Files(out, changed + len(done.unchanged), changed, stays.basis if stays else None)
