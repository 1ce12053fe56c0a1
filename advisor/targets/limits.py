"""Limits of login sessions: ``host/etc/security/limits.d/90-advisor.conf``. Key: ``domain/type/item``.

``*/soft/nofile``, ``@train/-/memlock``; memlock is in KiB. ``*`` does not include root.
https://man7.org/linux/man-pages/man5/limits.conf.5.html
"""

import re

from advisor.derived.limit_sources import LimitSource, LimitSources
from advisor.model.facts import evidence_path
from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.limits import ORIGIN, Limits, ProcessLimits
from advisor.probes.pam_limits import PamLimit, PamLimits
from advisor.probes.sysctl import Sysctl
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import in_container, not_seen
from advisor.targets._installed import FILE_MODE, Line, LiveFile, lines_of
from advisor.targets._values import named as named
from advisor.targets._values import plain

SCOPE: Scope = "host"
SUGGESTED = False
PLACES = ("/etc/security/limits.d/90-advisor.conf",)
MODE = FILE_MODE
WHEN = "at the next login"
_LINE = re.compile(r"(?P<domain>\S+) (?P<type>\S+) (?P<item>\S+) (?P<text>\S+)", re.ASCII)
_HALVES = {"soft": ("soft",), "hard": ("hard",), "-": ("soft", "hard")}
_SOME = ("user", "group", "uids", "gids")
"""Kinds of lines that count more than one for everyone."""
_WITH_PAM = ("ssh", "sshd")
"""Services whose sessions get the limits of limits.d, whatever their own are."""
_DOMAIN = re.compile(r"\*|@?[A-Za-z_][A-Za-z0-9_.-]*\$?", re.ASCII)
_TYPES = ("soft", "hard", "-")
_ITEMS = ("memlock", "nofile", "nproc", "stack", "core", "rtprio", "msgqueue", "locks", "sigpending")
_VALUE = re.compile(r"(0|[1-9][0-9]{0,18})|unlimited", re.ASCII)
_KIB = 1024
_IN_KIB = ("memlock", "stack", "core")
_IN_KIB_HERE = "in KiB, as limits.d has it; the file has bytes"
_NR_OPEN_DEFAULT = 1024 * 1024  # fs/file.c, sysctl_nr_open
_FEWEST_FILES = 256
UNLIMITED = "unlimited"


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    parts = key.split("/")
    if len(parts) != 3 or not _DOMAIN.fullmatch(parts[0]):
        return f"{key!r} is no domain/type/item, as in */soft/nofile or @train/-/memlock"
    if parts[1] not in _TYPES or parts[2] not in _ITEMS:
        return f"{key!r}: type must be one of {', '.join(_TYPES)} and item one of {', '.join(_ITEMS)}"
    if isinstance(value, bool) or not _VALUE.fullmatch(plain(value)):
        return f"a limit must be a whole number or {UNLIMITED} but is {value!r}"
    if parts[2] == "nofile" and plain(value) == UNLIMITED:
        # pam_limits then fails, and with it every login: no RLIMIT_NOFILE above fs.nr_open.
        return "nofile cannot be unlimited: the kernel refuses more than fs.nr_open, and logins then fail"
    if parts[2] == "nofile" and int(plain(value)) < _FEWEST_FILES:
        return f"with fewer than {_FEWEST_FILES} open files a login or its shell may not start"
    return None


def text(key: str, value: Value) -> str:
    """The number, or ``unlimited``."""
    return plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``domain type item value``"""
    return " ".join((*setting.key.split("/"), text(setting.key, setting.value)))


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the limit that is there when it is larger."""
    wanted = text(key, value)
    if UNLIMITED in (seen, wanted):
        return UNLIMITED
    return max(int(seen), int(wanted))


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The limit of the process that read the facts; for type ``-`` the soft one, which is never above the hard one.

    Of everyone the larger one of that and of what logins by ssh start with: a shell may have lowered its own. Where the
    latter is not known a hard limit is not either, for one that is written down would be the most that anybody gets.
    """
    domain, kind, item = key.split("/")
    limits = snapshot.get(Limits)
    if limits is None:
        return Seen(None, ORIGIN, "limits were not read")
    own = _limit(limits, kind, item)
    if own is None:
        return not_seen(snapshot, ORIGIN)
    logins = [one for one in limits.services or () if one.program in _WITH_PAM] if domain == "*" else []
    more = [
        (text, evidence_path(one, f"{item}_unlimited"))
        for one in logins
        if (text := _limit(one, kind, item)) is not None
    ]
    if domain == "*" and kind == "hard" and item != "memlock" and own != UNLIMITED and not more:
        return Seen(None, ORIGIN, f"this process may have {own}, and what logins start with is not known")
    most, path = max([(own, ORIGIN), *more], key=lambda one: _size(one[0]))
    return Seen(most, path, _IN_KIB_HERE if item in _IN_KIB and most != UNLIMITED else "")


def _limit(limits: ProcessLimits, kind: str, item: str) -> str | None:
    """One half of one limit of a process, as limits.d writes it."""
    hard = "hard_" if kind == "hard" else ""
    if getattr(limits, f"{item}_{hard}unlimited", None):
        return UNLIMITED
    name = f"{item}_{hard or 'soft_'}".removesuffix("_")
    in_bytes: int | None = getattr(limits, f"{name}_bytes", None)
    number = getattr(limits, name, None) if in_bytes is None else in_bytes // _KIB
    return None if number is None else str(number)


def _size(text: str) -> float:
    return float("inf") if text == UNLIMITED else int(text)


def from_inside(key: str) -> str:
    """Where a container has its limits from: limits.d is for logins, and never reaches it."""
    return (
        "this is a container, which limits.d does not reach: start it with --ulimit, or raise the limit of the service "
        "that starts it"
    )


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why logins would fail (more open files than the kernel allows any process), or a soft limit would be cut."""
    most = _most_files(snapshot)
    if key.endswith("/nofile") and int(text(key, value)) > most:
        return f"no process may have more than {most} open files (fs.nr_open), and logins would fail"
    return _above_hard(snapshot, key, text(key, value))


def _above_hard(snapshot: Snapshot, key: str, wanted: str) -> str | None:
    """Why a soft limit would be cut: a line of somebody else's sets a lower hard limit for the same people."""
    domain, kind, item = key.split("/")
    hard = set_by(snapshot, f"{domain}/hard/{item}") if kind == "soft" else ()
    others = [one for one in hard if not one.ours and _VALUE.fullmatch(one.text)]
    if not others or _size(others[-1].text) >= _size(wanted):
        return None
    last, now = others[-1], seen(snapshot, key).text
    own = f", or --set limits:{key}={last.text}" if now is not None and _size(now) < _size(last.text) else ""
    return f"no soft limit counts above the hard one, which {last.place()} sets to {last.text}: change it there{own}"


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lines of limits.conf and limits.d that set this half of the limit, or both, for the same people."""
    domain, kind, item = key.split("/")
    limits = snapshot.get(PamLimits)
    return tuple(
        SetBy(_text(line), line.path, line.line)
        for line in (limits.lines if limits else None) or ()
        if line.item == item and _domain(line) == domain and (kind == "-" or line.type in (kind, "-"))
    )


def _domain(line: PamLimit) -> str | None:
    """Whom a line is for; facts from a file have lost the names of users and groups."""
    return line.domain or {"everyone": "*"}.get(line.kind, "root" if line.root else None)


def _text(line: PamLimit) -> str:
    return UNLIMITED if line.unlimited else line.value


def _most_files(snapshot: Snapshot) -> int:
    known = getattr(snapshot.get(Sysctl), "fs_nr_open", None)
    return known if isinstance(known, int) else _NR_OPEN_DEFAULT


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The limits of our file. Raises ValueError."""
    return lines_of(text, _LINE, lambda found: f"{found['domain']}/{found['type']}/{found['item']}")


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """Lines that count for the same people; for ``*`` also those for some of them, and services that get less.

    Services, and what they start, never see limits.d: systemd gives them their limits.
    """
    domain, kind, item = key.split("/")
    limits = snapshot.get(PamLimits)
    if limits is None or limits.lines is None or in_container(snapshot):
        return None
    counting = [line for line in limits.lines if line.item == item and set(line.counts_for) & set(_HALVES[kind])]
    found = [line for line in counting if _domain(line) == domain]
    if domain == "*":
        found += [line for line in counting if line.kind in _SOME and not line.root]
    own = tuple(SetBy(_text(line), line.path, line.line) for line in found)
    return own if domain != "*" else own + _services_with_less(snapshot, key, value)


def _services_with_less(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...]:
    _, kind, item = key.split("/")
    sources = snapshot.get(LimitSources)
    mine = [
        one
        for one in (sources.limits if sources else None) or ()
        if one.item == item and one.half in _HALVES[kind] and not one.whose.startswith(("sessions", *_WITH_PAM))
    ]
    less = [one for one in mine if one.number is not None and (value == UNLIMITED or _in_unit(one) < int(value))]
    return tuple(dict.fromkeys(SetBy(str(_in_unit(one)), one.path, one.line) for one in less))


def _in_unit(source: LimitSource) -> int:
    return (source.number or 0) // (_KIB if source.item in _IN_KIB else 1)


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """``None``: each session has its own."""
    return None


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """Why no session takes the limits: no PAM service asks pam_limits for them, or all have it read another file."""
    limits = snapshot.get(PamLimits)
    if limits is None or limits.services is None or in_container(snapshot):
        return None
    if not limits.services:
        return "no service in /etc/pam.d calls pam_limits, so no session takes them"
    if all(service.conf is not None for service in limits.services):
        first = limits.services[0]
        return f"{first.origin}:{first.line} has pam_limits read {first.conf} instead of limits.d"
    return None


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether ``seen`` is this value."""
    return same(key, seen, text)


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """Nothing: sessions that run keep their limits."""
    return ()
