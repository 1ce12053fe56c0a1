"""What the operator asks for with ``--set TARGET:KEY=VALUE``."""

from collections.abc import Mapping

from advisor.errors import InputError
from advisor.model.setting import Reason, Setting
from advisor.targets._base import Target

_OPTION = "--set"


def requested(text: str, targets: Mapping[str, Target]) -> Setting:
    """The Setting of one ``TARGET:KEY=VALUE``. Raises InputError."""
    name, colon, assignment = text.partition(":")
    key, equals, words = assignment.partition("=")
    if not (colon and equals and key):
        raise InputError(f"{_OPTION} must be TARGET:KEY=VALUE, as in sysctl:vm.swappiness=10, but is {text!r}")
    if name not in targets:
        raise InputError(f"{_OPTION} {text!r}: target must be one of {', '.join(sorted(targets))} but is {name!r}")
    value = targets[name].parsed(key, words)
    return Setting(
        name, key, value, Reason("operator", _OPTION, "asked for on the command line"), scope=targets[name].SCOPE
    )
