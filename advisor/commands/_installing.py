"""Installing generated files in a place, and putting back what was there."""

from collections.abc import Sequence

from advisor.commands._changes import Manner, change_host, effects
from advisor.commands._site import Place
from advisor.commands._snapshot import probe_host
from advisor.errors import ApplyError
from advisor.planning.changes import Change
from advisor.planning.generated import GeneratedFile
from advisor.planning.objections import objections
from advisor.planning.transaction import install_change, undo_change
from advisor.targets._installed import load_installed, target_of


def install(place: Place, files: Sequence[GeneratedFile], manner: Manner) -> int:
    """Installs ``files`` unless something stands against it, and returns the exit status. Raises ApplyError."""
    targets = load_installed()
    snapshot, defects = probe_host(place.host)
    against = [f"probe {one.probe} failed, so it is not known what stands against it: {one.error}" for one in defects]
    against += objections(files, snapshot, targets, place.running)
    if against:
        raise ApplyError("\n".join([*against, "nothing was changed; run advisor render again on this host"]))
    live = [one for file in files if place.running for one in targets[file.target].live(snapshot, file.lines)]

    def make() -> Change:
        change = install_change(place.site, files, live, targets)
        if change.by_hand:
            told = "move the change to --set (see advisor render --help) and remove the file; nothing was changed"
            raise ApplyError("\n".join([*change.by_hand, told]))
        return change

    return change_host(place.site, manner, make, lambda change: effects(files, change, targets))


def undo(place: Place, manner: Manner) -> int:
    """Puts back what was there before, and returns the exit status. Raises ApplyError."""
    targets = load_installed()

    def told(change: Change) -> list[str]:
        names = {entry.path: target_of(entry.path, targets) for entry in change.pending.entries}
        when = {path: targets[name].WHEN.partition(", or with")[0] for path, name in names.items() if name is not None}
        lines = [f"{path} as it was: counts {text}" for path, text in when.items()]
        units = [one.path for one in change.pending.entries if one.after is None and _is_unit(one.path)]
        return lines + [f"{path} goes: if you enabled it, systemctl disable --now it first" for path in units]

    return change_host(place.site, manner, lambda: undo_change(place.site), told)


def _is_unit(path: str) -> bool:
    return path.startswith("/etc/systemd/system/") and path.endswith(".service")
