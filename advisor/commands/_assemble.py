"""Everything under OUT, put together once for `render` and `tune`."""

from collections.abc import Collection, Mapping
from pathlib import Path

from advisor.model.finding import Report
from advisor.model.setting import Plan
from advisor.model.snapshot import Snapshot
from advisor.planning.write import Written


def assemble(
    snapshot: Snapshot,
    report: Report,
    plan: Plan,
    out: str | Path,
    *,
    validity: Mapping[str, object],
    basis: str = "",
    extra_files: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
) -> Written:
    """Writes OUT (facts.json, report.md, host/, job/, advisor.lock, ...) and says what changed.

    ``validity``: what the result rests on, JSON values, kept in advisor.lock. ``basis``: first line of
    job/dataloader.* ("measured on ..."). ``extra_files``: further committed files, path in OUT to text
    (``tuning.json``). ``keep``: files of a former run that stay although this run does not make them.
    Raises ConflictError (settings of equal rank disagree) and InputError before anything is written.
    """
    raise NotImplementedError
