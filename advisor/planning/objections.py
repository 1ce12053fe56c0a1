"""Why generated settings must not be installed on this host as it is now; touches no file.

Between generating and installing the host may have changed, or it is another one.
"""

from collections.abc import Iterable, Iterator, Mapping

from advisor.model.snapshot import Snapshot
from advisor.planning.generated import GeneratedFile
from advisor.targets._denied import denied
from advisor.targets._installed import Installed, Line


def objections(
    files: Iterable[GeneratedFile], snapshot: Snapshot, targets: Mapping[str, Installed], running: bool
) -> Iterator[str]:
    """One text for each setting that stands against what the host has. ``running``: the facts are of its kernel too."""
    for file in files:
        for line in file.lines:
            why = _runs_a_program(file.target, line) or _objection(line, snapshot, targets[file.target], running)
            if why is not None:
                yield f"{file.target}:{line.key}={line.text}: {why}"


def _runs_a_program(target: str, line: Line) -> str | None:
    """An operator may ask for it, but whoever can change OUT is not always one."""
    row = denied(target, line.key, line.text, "rule")
    return None if row is None else f"{row.reason}, so advisor does not install it: set it in a file of your own"


def _objection(line: Line, snapshot: Snapshot, target: Installed, running: bool) -> str | None:
    others = [one for one in target.set_by(snapshot, line.key) if not one.ours]
    other = next((one for one in others if not target.same(line.key, one.text, line.text)), None)
    if other is not None:
        return f"set to {other.text} by {other.place()}, which stands"
    if not running:
        return None
    return target.cannot_take(snapshot, line.key, line.text) or _is_stale(line, snapshot, target)


def _is_stale(line: Line, snapshot: Snapshot, target: Installed) -> str | None:
    """The value is another one than the one on which the decision rests."""
    then, now = line.seen, target.seen(snapshot, line.key)
    if then is None or target.in_force(snapshot, line.key) != now:
        return None
    if now.text in (None, then[0]) or target.fulfilled(line.key, str(now.text), line.text):
        return None
    return f"{now.path} had {then[0]} when it was generated and has {now.text} now"
