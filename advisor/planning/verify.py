"""How the generated settings stand on the host: by meaning, not by text; touches no file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from advisor.model.facts import GapState
from advisor.model.setting import Standing, State
from advisor.model.snapshot import Snapshot
from advisor.planning.generated import GeneratedFile
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import in_container
from advisor.targets._installed import Installed, Line, target_of


@dataclass(frozen=True)
class HostFile:
    """What the host has at one of our places."""

    path: str
    text: str | None = None
    gap: GapState | None = None
    """Why there is no text."""


def standings(
    files: Iterable[GeneratedFile],
    installed: Mapping[str, HostFile],
    snapshot: Snapshot,
    targets: Mapping[str, Installed],
) -> tuple[Standing, ...]:
    """Every setting of ``files`` on this host, then what installed files set that is not generated any more."""
    files = tuple(files)
    found = []
    for file in files:
        host = installed.get(file.path, HostFile(file.path))
        if file.lines:
            found += [_standing(file, line, host, snapshot, targets[file.target]) for line in file.lines]
        else:
            found.append(_as_a_whole(file, host, snapshot))
    return (*found, *_left_over(files, installed, targets))


def _standing(file: GeneratedFile, line: Line, host: HostFile, snapshot: Snapshot, target: Installed) -> Standing:
    if in_container(snapshot):
        return Standing(file.target, line.key, line.text, "not visible", note=_CONTAINER)
    state, text, path, note = _judged(line, host, snapshot, target)
    return Standing(file.target, line.key, line.text, state, text, path, note)


_CONTAINER = "this is a container: look on the host"


def _judged(line: Line, host: HostFile, snapshot: Snapshot, target: Installed) -> tuple[State, str | None, str, str]:
    """State, value found, where, and what to say of it."""
    key, wanted = line.key, line.text
    winners = target.winners(snapshot, key, wanted)
    others = [one for one in winners or () if not target.same(key, one.text, wanted)]
    if others:
        return _outdone(others)
    why = target.prevented(snapshot, key) if winners else None
    if why is not None:
        return "differs", None, "", why
    running = target.in_force(snapshot, key)
    seen = running or Seen(None)
    if seen.text is not None and not target.fulfilled(key, seen.text, wanted):
        return "differs", seen.text, seen.path, f"it counts {target.WHEN}" if winners else _NOT_INSTALLED
    if winners == () and host.gap == "absent":
        return "differs", seen.text, seen.path, _NOT_INSTALLED
    if winners:
        if running is not None and seen.text is None:
            return (
                "not visible",
                None,
                seen.path,
                f"it is installed, but the value in force cannot be seen: {seen.note}",
            )
        return "applied", wanted, winners[-1].place(), f"it counts {target.WHEN}" if running is None else ""
    if seen.text is not None:
        return "applied", seen.text, seen.path, "whether it outlives a reboot cannot be seen"
    return "not visible", None, seen.path, "neither the value in force nor a file that sets it can be seen"


_NOT_INSTALLED = "no file that can be seen sets it: it is not installed"


def _outdone(others: list[SetBy]) -> tuple[State, str | None, str, str]:
    """The last of the lines that give another value."""
    last = next((one for one in reversed(others) if not one.ours), None)
    if last is None:
        return "differs", others[-1].text, others[-1].place(), "the file installed is not the one generated"
    return "overridden", last.text, last.place(), ""


def _as_a_whole(file: GeneratedFile, host: HostFile, snapshot: Snapshot) -> Standing:
    """A file that holds no settings (a script): the same or not."""
    if host.text is not None:
        same = host.text == file.text.rstrip()
        note = "" if same else "the file installed is not the one generated"
        return Standing(file.target, file.path, "as generated", "applied" if same else "differs", None, file.path, note)
    if in_container(snapshot):
        return Standing(file.target, file.path, "as generated", "not visible", note=_CONTAINER)
    if host.gap == "absent":
        return Standing(file.target, file.path, "as generated", "differs", None, file.path, "it is not installed")
    note = f"the host's file cannot be seen: {host.gap or 'not read'}"
    return Standing(file.target, file.path, "as generated", "not visible", None, file.path, note)


_NO_MORE = "installed, but not generated any more"


def _left_over(
    files: tuple[GeneratedFile, ...], installed: Mapping[str, HostFile], targets: Mapping[str, Installed]
) -> list[Standing]:
    """What our files on the host set, or are, that is not generated now."""
    wanted = {file.path: {line.key for line in file.lines} for file in files}
    found = []
    for path, host in sorted(installed.items()):
        name = target_of(path, targets)
        if name is None or host.text is None:
            continue
        try:
            lines = targets[name].lines(host.text, path)
        except ValueError as error:
            found.append(Standing(name, path, None, "differs", None, path, f"changed by hand: {error}"))
            continue
        if not lines and path not in wanted:
            found.append(Standing(name, path, None, "differs", None, path, _NO_MORE))
        found += [
            Standing(name, line.key, None, "differs", line.text, f"{path}:{line.number}", _NO_MORE)
            for line in lines
            if line.key not in wanted.get(path, ())
        ]
    return found
