"""Settings of Slurm, only ever suggested: ``suggested/slurm.conf.d/90-advisor.conf``, to include in slurm.conf.

Key: the parameter. slurm.conf is one file for the whole cluster, so it is its owner's to change.
https://slurm.schedmd.com/slurm.conf.html
"""

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.systemd import Systemd, service_named
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._values import named as named

SCOPE: Scope = "host"
SUGGESTED = True
_LIMITS = ("ALL", "AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK")
_KEYS = ("PropagateResourceLimitsExcept",)


def wrong(key: str, value: Value) -> str | None:
    """What makes this parameter impossible to write."""
    if key not in _KEYS:
        return f"{key!r} is none of {', '.join(_KEYS)}"
    fine = isinstance(value, str) and all(word in _LIMITS for word in value.split(","))
    return None if fine else f"{key} must be a list, with commas, of {', '.join(_LIMITS)} but is {value!r}"


def text(key: str, value: Value) -> str:
    """The value."""
    return str(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``Parameter=value``"""
    return f"{setting.key}={text(setting.key, setting.value)}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing: slurm.conf is not among the facts."""
    return Seen(None, "", "slurm.conf is not read")


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why it is not known that Slurm runs jobs here."""
    slurmd = service_named(snapshot.get(Systemd) or Systemd(), "slurmd")
    return None if slurmd is not None and slurmd.path is not None else "it is not known that this host runs slurmd"


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Nothing: slurm.conf is not among the facts."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``: there are no numbers to compare."""
    return value
