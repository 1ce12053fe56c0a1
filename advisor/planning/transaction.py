"""Changes on a host, as a whole or not at all: whatever fails, or whenever the process dies.

What is being done is written down first (`PENDING`). New files are then laid beside their places, old ones kept by a
second name; only when all is there do they take their places, which needs no room on the disk and so can be turned
back. With the journal's new text the change counts. `recover` turns back one that was cut off before that moment, and
tidies up behind one that was cut off later. This file says in which order; the acts themselves are those of a `Tree`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from advisor.errors import ApplyError
from advisor.planning.apply import Kernel, Tree, part_of
from advisor.planning.changes import Change, Found, to_install, to_undo
from advisor.planning.generated import GeneratedFile
from advisor.planning.journal import Entry, Journal, Live, journal_text, parse_journal
from advisor.targets._installed import Installed, LiveFile

HOME = "/var/lib/advisor"
JOURNAL, PENDING = f"{HOME}/journal.json", f"{HOME}/pending.json"
_ANCHORS = ("", "/var", "/var/lib")
_EARLY = ".advisor-journal.json"
"""The same text above `HOME`, while that is being made or taken away."""


@dataclass
class Site:
    """Where changes are made."""

    tree: Tree
    kernel: Kernel | None = None
    """``None``: the tree is not that of the running system."""


def read_journal(site: Site) -> Journal:
    """What advisor changed here so far. Raises ApplyError."""
    return _read(site.tree, JOURNAL) or Journal()


def is_cut_off(site: Site) -> bool:
    """Whether `recover` has something to do."""
    early = [f"{anchor}/{_EARLY}" for anchor in _ANCHORS]
    return any(site.tree.state(path) is not None for path in (PENDING, *early))


def recover(site: Site) -> list[str]:
    """Turns back, or brings to an end, what an earlier run left half done, and says so. Raises ApplyError."""
    with _told_of():
        return _recovered(site)


@contextmanager
def _told_of() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ApplyError(
            f"cannot put back {error.filename}: {error.strerror}; what was there before stays written down in "
            f"{PENDING}: run advisor rollback when this is settled"
        ) from None


def _recovered(site: Site) -> list[str]:
    tree = site.tree
    for anchor in _ANCHORS:
        early = f"{anchor}/{_EARLY}"
        tree.unlink(part_of(early))
        half = _read(tree, early)
        if half is not None:
            _remove_folders(tree, half.home)
            tree.unlink(early)
    tree.unlink(part_of(JOURNAL))
    tree.unlink(part_of(PENDING))
    pending, journal = _read(tree, PENDING), _read(tree, JOURNAL)
    told = []
    if pending is not None and journal is not None and journal.id == pending.id:
        _tidy_up(tree, pending)
    elif pending is not None:
        told = ["an earlier run was cut off; what it had done was turned back", *_turn_back(site, pending, journal)]
    if journal is not None and journal.is_empty:
        _close(tree, JOURNAL, journal.home)
    return told


def install_change(
    site: Site, files: Sequence[GeneratedFile], live: Sequence[LiveFile], targets: Mapping[str, Installed]
) -> Change:
    """What installing ``files`` takes. Raises ApplyError for what is in the way."""
    base = read_journal(site)
    paths = {file.path for file in files} | {entry.path for entry in base.entries}
    values = {one.path for one in live} | {one.instead for one in live} | {one.path for one in base.live}
    return to_install(files, live, base, _looked_at(site, paths, values), targets)


def undo_change(site: Site) -> Change:
    """What it takes to have everything as before the first change. Raises ApplyError."""
    base = read_journal(site)
    paths = {entry.path for entry in base.entries}
    return to_undo(base, _looked_at(site, paths, {one.path for one in base.live}))


def _looked_at(site: Site, paths: Iterable[str], values: Iterable[str]) -> Found:
    tree, kernel = site.tree, site.kernel
    files = {path: tree.state(path) for path in paths}
    missing = {path: tree.missing(path) for path in paths}
    live = {path: kernel.read(path) for path in values if path} if kernel is not None else {}
    return Found(files, missing, live, tree.owner)


def carry_out(site: Site, change: Change) -> list[str]:
    """Makes the change and says what is worth knowing. Raises ApplyError when it was not made and all is as before."""
    tree = site.tree
    home = tree.missing(JOURNAL)
    pending = replace(change.pending, home=home or change.then.home)
    try:
        _write_down(tree, pending, home)
        told = _do(site, pending, replace(change.then, home=pending.home))
    except BaseException as error:
        notes = _turned_back(site, pending)
        if isinstance(error, ApplyError):
            raise ApplyError("\n".join([str(error), *notes])) from None
        if not isinstance(error, OSError):
            raise
        why = f"cannot change {error.filename}: {error.strerror}; what was done was turned back"
        raise ApplyError("\n".join([why, *notes])) from None
    with suppress(OSError):  # the change counts; the next run tidies up
        _tidy_up(tree, pending)
        if change.then.is_empty:
            _close(tree, JOURNAL, pending.home)
    return told


def _do(site: Site, pending: Journal, then: Journal) -> list[str]:
    tree = site.tree
    for entry in pending.entries:
        if not entry.is_before(tree.state(entry.path)):
            raise ApplyError(f"{entry.path} was changed by somebody else just now: look at it, and start again")
    for folder in pending.folders:
        tree.mkdir(folder)
    for entry in pending.entries:
        if entry.after is not None:
            tree.write(_new(entry), entry.after)
    for entry in pending.entries:
        if entry.before is not None:
            tree.keep(entry.path, _old(entry), entry.before)
    for entry in pending.entries:
        if entry.after is None:
            tree.unlink(entry.path)
        else:
            tree.rename(_new(entry), entry.path)
    for folder in dict.fromkeys(_above(entry.path) for entry in pending.entries):
        tree.sync(folder)
    taken = [_set(site.kernel, one, one.after) for one in pending.live if site.kernel is not None]
    actual = {one.path: value for one, value in zip(pending.live, taken, strict=False)}
    live = tuple(replace(one, after=actual.get(one.path, one.after)) for one in then.live)
    tree.write_whole(JOURNAL, journal_text(replace(then, live=live)).encode())
    return [
        f"{one.setting}: the kernel made {value} of {one.after}"
        for one, value in zip(pending.live, taken, strict=False)
        if value.split() != one.after.split()
    ]


def _set(kernel: Kernel | None, one: Live, value: str) -> str:
    """Writes ``value`` and returns what the kernel made of it."""
    assert kernel is not None
    path, text = one.path, value
    if value == "0" and one.instead is not None and one.instead[1] != "0":
        path, text = one.instead
    kernel.write(path, text)
    return kernel.read(one.path) or value


def _turned_back(site: Site, pending: Journal) -> list[str]:
    """Turns ``pending`` back, as far as it came, unless it counts already. Raises ApplyError."""
    with _told_of():
        journal = _read(site.tree, JOURNAL)
        if journal is not None and journal.id == pending.id:
            return []
        if _read(site.tree, PENDING) is None:
            return _recovered(site)  # it was not even written down
        return _turn_back(site, pending, journal)


def _turn_back(site: Site, pending: Journal, journal: Journal | None) -> list[str]:
    tree = site.tree
    told = []
    for one in reversed(pending.live):
        now = site.kernel.read(one.path) if site.kernel is not None else None
        if now not in (None, one.before):
            _set(site.kernel, one, one.before)
        if now not in (None, one.before, one.after):
            told.append(f"{one.setting} was {now}, and is {one.before} again as before")
    for entry in reversed(pending.entries):
        tree.unlink(_new(entry))
        told += _put_back(tree, entry)
    _remove_folders(tree, pending.folders)
    tree.unlink(part_of(JOURNAL))
    if journal is None:
        _close(tree, PENDING, pending.home)
    else:
        tree.unlink(PENDING)
    return told


def _put_back(tree: Tree, entry: Entry) -> list[str]:
    """Gives one place back what was there, unless somebody else wrote to it meanwhile."""
    now = tree.state(entry.path)
    if not entry.is_before(now) and not entry.is_after(now) and now is not None:
        kept = f"; its former content is {_old(entry)}" if tree.state(_old(entry)) is not None else ""
        return [f"{entry.path} was changed by somebody else meanwhile and is left as it is{kept}"]
    if entry.is_before(now):
        tree.unlink(_old(entry))
    elif entry.before is None:
        tree.unlink(entry.path)
    elif tree.state(_old(entry)) is not None:
        tree.rename(_old(entry), entry.path)
        tree.sync(_above(entry.path))
    return []


def _tidy_up(tree: Tree, pending: Journal) -> None:
    for entry in pending.entries:
        tree.unlink(_old(entry))
    _remove_folders(tree, pending.gone)
    tree.unlink(PENDING)


def _write_down(tree: Tree, pending: Journal, missing: tuple[str, ...]) -> None:
    """Puts what is about to be done on the disk, in a folder that may have to be made for it."""
    data = journal_text(pending).encode()
    if not missing:
        tree.write_whole(PENDING, data)
        return
    early = f"{_above(missing[0])}/{_EARLY}"
    tree.write_whole(early, data)
    for folder in missing:
        tree.mkdir(folder)
    tree.rename(early, PENDING)
    tree.sync(HOME)


def _close(tree: Tree, path: str, home: tuple[str, ...]) -> None:
    """Takes the last document away, and the folders that were made for it, knowing at each moment which those are."""
    if home:
        early = f"{_above(home[0])}/{_EARLY}"
        tree.rename(path, early)
        _remove_folders(tree, home)
        path = early
    tree.unlink(path)


def _remove_folders(tree: Tree, folders: tuple[str, ...]) -> None:
    for folder in reversed(folders):
        tree.rmdir(folder)


def _read(tree: Tree, path: str) -> Journal | None:
    state = tree.state(path)
    return None if state is None else parse_journal(state.data.decode("utf-8", "replace"), path)


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _beside(path: str, ending: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.advisor-{ending}"


def _new(entry: Entry) -> str:
    return _beside(entry.path, "new")


def _old(entry: Entry) -> str:
    return _beside(entry.path, "old")
