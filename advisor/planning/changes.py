"""What is to be changed on a host: from generated files or the journal, and from what is there; touches no file."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.inputs import printable
from advisor.planning.generated import GeneratedFile
from advisor.planning.journal import Entry, FileState, Journal, Live, with_id
from advisor.targets._installed import Installed, LiveFile

_LABEL = "security.selinux"


@dataclass(frozen=True)
class Found:
    """What is at the paths that matter."""

    files: Mapping[str, FileState | None]
    missing: Mapping[str, tuple[str, ...]]
    """Path of a file to the folders above it that are not there, from above."""
    live: Mapping[str, str | None]
    """Path of a file of the kernel to its value; without it nothing is changed there."""
    owner: tuple[int, int] = (0, 0)
    """User and group of new files."""


@dataclass(frozen=True)
class Change:
    """One change as a whole: it is done, or nothing of it."""

    pending: Journal
    then: Journal
    """The journal when it is done."""
    by_hand: tuple[str, ...] = ()
    """Files and settings that are neither as advisor left them nor as they were before, one text each."""
    is_empty: bool = False
    """There is nothing to do."""


def to_install(
    files: Sequence[GeneratedFile],
    live: Sequence[LiveFile],
    base: Journal,
    found: Found,
    targets: Mapping[str, Installed],
) -> Change:
    """Installs ``files`` and takes away what an earlier change installed and they do not have."""
    former = {entry.path: entry for entry in base.entries}
    wanted = {file.path: _state(file, targets[file.target], found) for file in files}
    stale = {path: entry.before for path, entry in former.items() if path not in wanted}
    entries, by_hand = [], []
    for path, after in sorted({**wanted, **stale}.items()):
        now, known = found.files[path], former.get(path)
        if known is not None and not known.is_after(now) and not known.is_before(now):
            by_hand.append(f"{path} was changed by hand since advisor installed it")
        entry = Entry(path, now, after)
        if not entry.is_after(now):
            entries.append(entry)
    folders = dict.fromkeys(folder for one in entries if one.after for folder in found.missing[one.path])
    pending = Journal(tuple(entries), _live_changes(live, base, found), tuple(folders))
    left = _without_files(base, {path for path in stale if path in former}, wanted)
    pending = with_id(replace(pending, gone=left), base)
    then = joined(base, pending)
    return Change(pending, then, tuple(by_hand), _is_nothing(pending, then, base))


def to_undo(base: Journal, found: Found) -> Change:
    """Puts back what was there before the first change; what was changed by hand stays, and stays in the journal."""
    entries, kept, by_hand = [], [], []
    for entry in base.entries:
        now = found.files[entry.path]
        if entry.is_before(now):
            continue
        if entry.is_after(now) or (now is None and not found.missing[entry.path]):
            entries.append(Entry(entry.path, now, entry.before))
        else:
            kept.append(entry)
            by_hand.append(f"{entry.path} was changed by hand since advisor installed it, and is left as it is")
    live, told = _live_undone(base, found)
    staying = tuple(folder for folder in base.folders if any(one.path.startswith(f"{folder}/") for one in kept))
    gone = tuple(folder for folder in base.folders if folder not in staying)
    pending = with_id(Journal(tuple(entries), live, gone=gone), base)
    then = Journal(tuple(kept), (), staying, base.home, (), pending.id)
    return Change(pending, then, (*by_hand, *told), _is_nothing(pending, then, base))


def _state(file: GeneratedFile, target: Installed, found: Found) -> FileState:
    now = found.files[file.path]
    labels = {name: value for name, value in (now.xattrs if now else {}).items() if name == _LABEL}
    return FileState(file.text.encode(), target.MODE, *found.owner, xattrs=labels)


def _live_changes(wanted: Sequence[LiveFile], base: Journal, found: Found) -> tuple[Live, ...]:
    """Values to write; those of settings that are not generated any more go back."""
    changes = []
    for one in wanted:
        now, twin = found.live.get(one.path), found.live.get(one.instead)
        if now is not None and now.split() != one.text.split():
            instead = None if twin is None else (one.instead, twin)
            changes.append(Live(one.setting, one.path, now, one.text, instead))
    paths = {one.path for one in wanted}
    for known in base.live:
        if known.path not in paths and found.live.get(known.path) == known.after:
            changes.append(Live(known.setting, known.path, known.after, known.before, known.instead))
    return tuple(changes)


def _live_undone(base: Journal, found: Found) -> tuple[tuple[Live, ...], list[str]]:
    undone, told = [], []
    for one in reversed(base.live):
        now = found.live.get(one.path)
        if now == one.after:
            undone.append(Live(one.setting, one.path, one.after, one.before, one.instead))
        elif now is not None and now != one.before:
            told.append(f"{one.setting} is {now} and not the {one.after} that advisor set: it is left as it is")
    return tuple(undone), told


def _without_files(base: Journal, stale: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    """Folders that were made for files that go, and for no others."""
    staying = [*wanted, *(entry.path for entry in base.entries if entry.path not in set(stale))]
    return tuple(folder for folder in base.folders if not any(path.startswith(f"{folder}/") for path in staying))


def _is_nothing(pending: Journal, then: Journal, base: Journal) -> bool:
    same = (then.entries, then.live, then.folders) == (base.entries, base.live, base.folders)
    return same and pending.is_empty and not pending.gone


def joined(base: Journal, done: Journal) -> Journal:
    """The journal after one more change: back to what was there before the first."""
    entries = {entry.path: entry for entry in base.entries}
    for entry in done.entries:
        first = entries.get(entry.path)
        one = entry if first is None else replace(first, after=entry.after)
        entries[entry.path] = one
        if one.is_before(one.after):
            del entries[entry.path]
    live = {one.path: one for one in base.live}
    for value in done.live:
        known = live.get(value.path)
        live[value.path] = value if known is None else replace(known, after=value.after)
        if live[value.path].before.split() == value.after.split():
            del live[value.path]
    folders = tuple(folder for folder in (*base.folders, *done.folders) if folder not in done.gone)
    return Journal(tuple(entries[p] for p in sorted(entries)), tuple(live.values()), folders, base.home, (), done.id)


def differences(change: Change) -> Iterator[str]:
    """A unified diff of each file, safe to print."""
    for entry in change.pending.entries:
        before, after = _lines(entry.before), _lines(entry.after)
        names = (entry.path if entry.before else "/dev/null", entry.path if entry.after else "/dev/null")
        yield from (printable(line.rstrip("\n")) for line in difflib.unified_diff(before, after, *names, n=1))
        if before == after and entry.before and entry.after:
            yield f"{entry.path}: mode or owner {_owner(entry.before)} becomes {_owner(entry.after)}"


def _lines(state: FileState | None) -> list[str]:
    return [] if state is None else state.data.decode("utf-8", "replace").splitlines(keepends=True)


def _owner(state: FileState) -> str:
    return f"{state.mode:o} {state.uid}:{state.gid}"
