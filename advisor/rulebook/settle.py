"""What would settle an unknown: one thing to do for each reason why a value is missing."""

from collections.abc import Iterable

from advisor.inputs import printable
from advisor.model.snapshot import Snapshot
from advisor.rulebook.language_values import Missing

_COMMAND = "command: "
_OPTIONS = ("--ranks", "--workers", "--data", "--checkpoints")
"""Evidence paths of what the operator tells of the job."""
_PACKAGES = {"storcli64": "storcli or perccli", "nvme": "nvme-cli"}
"""What brings a program that has another name."""

_CAPTURE_ANEW = "capture it with --sample 5s: one reading does not tell what grows"
_GROWTH = {
    "not sampled": "run with --sample 5s",
    "started again": "sample again: the counter of {} started again meanwhile",
    "not there again": "sample again: the second reading lacks the counter of {}",
    "at its limit": "clear the counter of {}, which stands at its largest value and counts no further",
}
"""Why the growth of a counter is not known, and what would tell it."""


def settling(missing: Iterable[Missing], snapshot: Snapshot) -> tuple[str, ...]:
    """One text for each missing fact, without repetition."""
    return tuple(dict.fromkeys(printable(_settles(one, snapshot)) for one in missing))


def _settles(missing: Missing, snapshot: Snapshot) -> str:
    if missing.path == "--bound":
        return "give --bound or --unbound"
    if missing.path in _OPTIONS:
        return f"give {missing.path}"
    if missing.gap == "not read":
        section = missing.expression.partition(".")[0]
        return f"have facts of section {section}: its probe failed, or these facts are without it"
    if missing.gap in _GROWTH:
        captured = missing.gap == "not sampled" and snapshot.source.kind in ("capture", "tree")
        return _CAPTURE_ANEW if captured else _GROWTH[missing.gap].format(missing.expression)
    if missing.path.startswith(_COMMAND):
        return _of_command(missing.path.removeprefix(_COMMAND), missing.gap)
    return _of_path(missing, snapshot)


def _of_command(command: str, gap: str) -> str:
    tool = command.split(" ", 1)[0]
    told = {
        "absent": f"install {_PACKAGES.get(tool, tool)}",
        "denied": f"run as root: {command} was denied",
        "not captured": f"capture the output of: {command}",
        "timed out": f"try again: {command} did not answer in time",
    }
    return told.get(gap, f"see why it gives nothing: {command}")


def _of_path(missing: Missing, snapshot: Snapshot) -> str:
    path = missing.path or missing.expression
    if missing.gap == "denied" and snapshot.source.root_user:
        return f"read it outside the container: {path} is denied even to root"
    told = {
        "denied": f"run as root: {path} was denied",
        "absent": f"nothing here: this host has no {path}",
        "not captured": f"capture {path}, or run on the host itself",
        "timed out": f"try again: {path} did not answer in time",
        "unsupported": f"look at it yourself: {path} holds no value that can be read",
        "error": f"look at it yourself: {path} could not be read",
        # So far only the memory of nodes, which a balloon in the guest takes from them and not from the host's.
        "distrusted": f"nothing here: {path} was not believed: the nodes' memory does not add up to /proc/meminfo's",
    }
    return told.get(missing.gap, f"find out {missing.expression}: {missing.path or 'nothing here'} does not tell")
