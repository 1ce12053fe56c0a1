"""Limits of services: ``host/etc/systemd/system/<unit>.d/90-advisor.conf``. Key: ``unit/Setting``.

``slurmd.service/LimitMEMLOCK``. Limits of logins (limits.d) do not reach services.
https://man7.org/linux/man-pages/man5/systemd.exec.5.html
"""

import re

from advisor.model.facts import evidence_path
from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.limits import Limits, ServiceLimits
from advisor.probes.systemd import ORIGIN, Service, Systemd
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import in_container, not_seen, operators, packaged_behind
from advisor.targets._installed import FILE_MODE, Line, LiveFile, entries
from advisor.targets._values import named as named
from advisor.targets._values import plain

SCOPE: Scope = "host"
SUGGESTED = False
_OURS = "90-advisor.conf"
PLACES = (f"{ORIGIN}/*.service.d/{_OURS}",)
MODE = FILE_MODE
WHEN = "when the service starts anew: systemctl daemon-reload, then restart it when its jobs may stop"
INFINITY = "infinity"
_PROGRAMS = {
    "containerd.service": "containerd",
    "docker.service": "dockerd",
    "kubelet.service": "kubelet",
    "slurmd.service": "slurmd",
    "ssh.service": "sshd",
    "sshd.service": "sshd",
}
"""Whose limits are known while they run."""
_UNIT = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_.-]{0,100}@?\.service", re.ASCII)
_SIZES = ("LimitMEMLOCK", "LimitSTACK", "LimitCORE")
_COUNTS = ("LimitNOFILE", "LimitNPROC", "LimitRTPRIO", "TasksMax")
# % begins a specifier and a backslash a continuation: neither has a place in a number.
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,18})([KMGT]?)", re.ASCII)
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_FEWEST_FILES = 256


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    unit, _, name = key.partition("/")
    if not _UNIT.fullmatch(unit):
        return f"{key!r} is no unit/Setting, as in slurmd.service/LimitMEMLOCK"
    if name not in (*_SIZES, *_COUNTS):
        return f"{name!r} is none of {', '.join((*_SIZES, *_COUNTS))}"
    words = plain(value)
    found = _NUMBER.fullmatch(words)
    if isinstance(value, bool) or (found is None and words != INFINITY) or (found and found[2] and name in _COUNTS):
        more = " (with K, M, G or T for bytes)" if name in _SIZES else ""
        return f"{name} must be a whole number{more} or {INFINITY} but is {value!r}"
    if name == "LimitNOFILE" and found is not None and int(found[1]) < _FEWEST_FILES:
        return f"with fewer than {_FEWEST_FILES} open files a service may not start"
    return None


def text(key: str, value: Value) -> str:
    """The number, or ``infinity``."""
    return plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``Setting=value``"""
    return f"{setting.key.partition('/')[2]}={text(setting.key, setting.value)}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """What counts among the unit's files, else the default for all services that a file sets."""
    unit, _, name = key.partition("/")
    service = _service(snapshot, unit)
    if service is None or service.settings is None:
        return not_seen(snapshot, ORIGIN)
    systemd = snapshot.get(Systemd)
    own = [one for one in service.settings if one.key == name and one.counts and one.value]
    default = [
        one for one in (systemd.manager if systemd else None) or () if one.key == f"Default{name}" and one.counts
    ]
    for one in (*own[-1:], *default[-1:]):
        return Seen(one.value, one.path)
    return Seen(None, service.path or ORIGIN, "no file sets it, so systemd's own default holds")


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why a drop-in would be for a service that is not here."""
    unit = key.partition("/")[0]
    systemd = snapshot.get(Systemd)
    if systemd is None or systemd.services is None:
        return f"it is not known whether this host has {unit}"
    service = _service(snapshot, unit)
    if service is None or service.path is None:
        return f"this host has no {unit}, as far as its files tell"
    return f"{unit} is masked: it cannot start" if service.masked else None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lines of the unit's files in ``/etc`` that set it, the last of which counts; of packages' drop-ins the last that
    is read behind ours."""
    unit, _, name = key.partition("/")
    service = _service(snapshot, unit)
    lines = [one for one in (service.settings if service else None) or () if one.key == name]
    drop_ins = [one for one in lines if one.path.rpartition("/")[0].endswith(".d")]
    later = [one for one in drop_ins if packaged_behind(one.path, _OURS)][-1:]
    return (
        *(SetBy(one.value, one.path, one.line) for one in lines if operators(one.path)),
        *(SetBy(one.value or "the default", one.path, one.line, later=True) for one in later),
    )


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this limit for both halves."""
    return _halves(seen) == _halves(text(key, value)) is not None


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the limit that is there when it is larger. Raises ValueError when they cannot be compared."""
    halves, wanted = _halves(seen), _halves(text(key, value))
    if halves is None or wanted is None:
        raise ValueError(f"{seen!r} and {text(key, value)!r} cannot be compared")
    return seen if min(halves) >= max(wanted) else value if max(halves) <= max(wanted) else _mixed(seen, value)


def _mixed(seen: str, value: Value) -> Value:
    raise ValueError(f"{seen!r} has a soft limit below {value} and a hard limit above")


def _halves(words: str) -> tuple[float, float] | None:
    """Soft and hard limit as numbers; ``None`` for what is neither a number nor ``infinity``."""
    parts = words.split(":")
    numbers = [_number(part.strip()) for part in (parts[0], parts[-1])]
    soft, hard = numbers
    return None if len(parts) > 2 or soft is None or hard is None else (soft, hard)


def _number(word: str) -> float | None:
    found = _NUMBER.fullmatch(word)
    if word == INFINITY:
        return float("inf")
    return None if found is None else int(found[1]) * _FACTOR[found[2]]


def _service(snapshot: Snapshot, unit: str) -> Service | None:
    systemd = snapshot.get(Systemd)
    return next((one for one in (systemd.services if systemd else None) or () if one.name == unit), None)


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The settings of our drop-in for one unit. Raises ValueError."""
    unit = path.split("/")[-2].removesuffix(".d")
    found: list[Line] = []
    header = False
    for entry in entries(text):
        name, equals, value = entry.text.partition("=")
        if entry.text == "[Service]" and not header:
            header = True
        elif header and equals and wrong(f"{unit}/{name}", value) is None:
            found.append(Line(f"{unit}/{name}", value, entry.number, entry.comments))
        else:
            raise entry.wrong()
    return tuple(found)


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """The line of the unit's files, or of all units' defaults, that counts."""
    unit, _, name = key.partition("/")
    systemd, service = snapshot.get(Systemd), _service(snapshot, unit)
    if systemd is None or systemd.services is None or in_container(snapshot):
        return None
    own = [one for one in (service.settings if service else None) or () if one.key == name and one.counts and one.value]
    default = [one for one in systemd.manager or () if one.key == f"Default{name}" and one.counts and one.value]
    return tuple(SetBy(one.value, one.path, one.line) for one in (own or default)[-1:])


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """The limit that the service runs with, where that is known; files tell what it gets when it starts anew."""
    unit, _, name = key.partition("/")
    limits = snapshot.get(Limits)
    running = [one for one in (limits.services if limits else None) or () if one.program == _PROGRAMS.get(unit)]
    item = name.removeprefix("Limit").lower()
    halves = [_half(one, item, half) for one in running[:1] for half in ("soft", "hard")]
    if not halves or None in halves:
        return None
    return Seen(":".join(dict.fromkeys(str(half) for half in halves)), evidence_path(running[0], f"{item}_unlimited"))


def _half(limits: ServiceLimits, item: str, half: str) -> str | None:
    infix = "" if half == "soft" else "hard_"
    if getattr(limits, f"{item}_{infix}unlimited", None):
        return INFINITY
    number = getattr(limits, f"{item}_{half}_bytes", getattr(limits, f"{item}_{half}", None))
    return None if number is None else str(number)


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """Why the drop-in has no effect: there is no such service, or it is masked."""
    return cannot_take(snapshot, key, INFINITY)


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether ``seen`` is this limit."""
    return same(key, seen, text)


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """Nothing: a service that runs keeps its limits, and a restart stops its jobs."""
    return ()
