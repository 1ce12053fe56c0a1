"""Why one setting is not written, looked at by itself."""

import re
from collections.abc import Mapping

from advisor.errors import InputError
from advisor.model.scrubbing import Scrubber
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.targets._base import SetBy, Target
from advisor.targets._denied import denied
from advisor.targets._host import in_container

_PACKAGES = re.compile(r"/(?:usr/lib|usr/local/lib|usr/etc|lib|run)(?=/)")
"""Where files lie that one of the same name in ``/etc`` replaces."""


def known_target(setting: Setting, targets: Mapping[str, Target]) -> Target:
    """The target that the setting names. Raises InputError when there is none of that name."""
    if setting.target not in targets:
        known = ", ".join(sorted(targets))
        raise InputError(f"{setting.reason.by} sets target {setting.target!r}, which is none of {known}")
    return targets[setting.target]


def refusal(setting: Setting, snapshot: Snapshot, target: Target, scrubber: Scrubber) -> str | None:
    """Why the setting is withheld; ``None`` when it may be written.

    Raises InputError when the operator asks for what is never written or cannot be written.
    """
    why = target.wrong(setting.key, setting.value) or _never(setting, target)
    if why is not None and setting.reason.rank == "operator":
        raise InputError(f"{setting.reason.by} {setting.target}:{setting.key} is refused: {why}")
    if why is None and setting.reason.rank != "operator":
        why = _tells_the_host(setting, target, scrubber)
    if why is None and target.SCOPE == "host" and in_container(snapshot):
        why = target.from_inside(setting.key)
    return (
        why
        or target.cannot_take(snapshot, setting.key, setting.value)
        or _set_elsewhere(setting, target, target.set_by(snapshot, setting.key))
    )


def _tells_the_host(setting: Setting, target: Target, scrubber: Scrubber) -> str | None:
    """Files that are installed or run go to git as they are; a suggestion can lose a name and still be read."""
    line = f"{setting.key} {target.text(setting.key, setting.value)}"
    if target.SUGGESTED or not scrubber.hides(line):
        return None
    return "its line would hold a hardware address or the host's name, which no file for git does: set it with --set"


def _never(setting: Setting, target: Target) -> str | None:
    row = denied(setting.target, setting.key, target.text(setting.key, setting.value), setting.reason.rank)
    return None if row is None else f"advisor never sets it, because {row.reason} ({row.source})"


def _set_elsewhere(setting: Setting, target: Target, files: tuple[SetBy, ...]) -> str | None:
    """The operator's or vendor's own configuration stands, whatever it says."""
    # A later line that says the same as ours takes nothing from it.
    others = [f for f in files if not f.ours and not (f.later and target.same(setting.key, f.text, setting.value))]
    if not others:
        return None
    last = others[-1]
    if last.later:
        own = _PACKAGES.sub("/etc", last.path, count=1)
        return f"set to {last.text} by {last.place()}, which wins over ours: to change it, put your own copy at {own}"
    if last.text == target.text(setting.key, setting.value):
        return f"already set to {last.text} by {last.place()}"
    return f"set to {last.text} by {last.place()}: change it there if you agree"
