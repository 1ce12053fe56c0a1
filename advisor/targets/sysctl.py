"""Kernel settings: ``host/etc/sysctl.d/90-advisor.conf``. Key: as in sysctl.d, with dots (``vm.swappiness``).

A key with a dot inside a part (an interface ``eth0.100``) has slashes: ``net/ipv4/conf/eth0.100/rp_filter``.

https://man7.org/linux/man-pages/man5/sysctl.d.5.html
"""

import re
from fnmatch import fnmatchcase

from advisor.derived.configured import Configuration, Setter, setting_of
from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.ip import KEYS as INTERFACE_KEYS
from advisor.probes.ip import Ip
from advisor.probes.sysctl import ORIGIN, Sysctl, SysctlLine, key_file, key_name, live_value
from advisor.probes.tuned import Tuned
from advisor.targets._base import ON_THE_HOST, Seen, SetBy
from advisor.targets._host import in_container, not_seen, operators, packaged_behind
from advisor.targets._installed import FILE_MODE, Line, LiveFile, lines_of
from advisor.targets._tuned import installed, is_floor, reapplies
from advisor.targets._values import plain, raised_numbers, unprintable

SCOPE: Scope = "host"
SUGGESTED = False
# A slash stands for a dot inside a part.
_KEY = re.compile(r"[a-z][a-z0-9_-]*(\.[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)+", re.ASCII)
_COME_LATER = ("net/netfilter/", "net/ipv4/netfilter/", "net/bridge/", "sunrpc/", "fs/nfs/", "fs/lustre/")
"""Keys of modules, which may be loaded after the files were read at boot; modprobe.d or a rule of udev applies then."""
_INTERFACE_KEY = re.compile(r"net/ipv4/conf/([^/]+)/([a-z_]+)", re.ASCII)
_OURS = "90-advisor.conf"
PLACES = (f"/etc/sysctl.d/{_OURS}",)
MODE = FILE_MODE
WHEN = "at the next boot, or with: sysctl -p /etc/sysctl.d/90-advisor.conf"
_LINE = re.compile(r"-?(?P<key>[a-z][A-Za-z0-9_./-]*) = (?P<text>\S.*)", re.ASCII)
_ONE_OF_TWO = {
    "vm.dirty_bytes": "vm.dirty_ratio",
    "vm.dirty_ratio": "vm.dirty_bytes",
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.dirty_background_ratio": "vm.dirty_background_bytes",
}
"""Of these the kernel sets one to 0 when the other is written, and takes no 0 itself (mm/page-writeback.c)."""
# The kernel reads 010 as eight and 0x0 as zero; a reader, and the list of what is never set, would not.
_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)
_ODD_NUMBER = re.compile(r"[+-]?0[0-9xX].*|\+[0-9].*|-0", re.ASCII)


def named(key: str) -> str:
    """The key with dots between its parts, as sysctl(8) prints it: ``net.ipv4.conf.eth0/100.rp_filter``."""
    return key_name(key)


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    if not _KEY.fullmatch(key_name(key)):
        return f"{key!r} is no sysctl key: words of letters, digits, _ and - with dots (or slashes) between"
    words = plain(value)
    odd = [word for word in words.split() if _ODD_NUMBER.fullmatch(word)]
    if odd:
        return f"numbers must be plain decimal but one is {odd[0]!r}"
    return unprintable(text(key, value)) or (None if text(key, value) else "a sysctl cannot be set to nothing")


def text(key: str, value: Value) -> str:
    """The value with one blank between its words."""
    return re.sub(r"[ \t]+", " ", plain(value)).strip(" \t")


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``key = value``; the key with ``-``, which forgives its absence, where a module or a cable brings it."""
    name, path = key_name(setting.key), key_file(setting.key)
    late = path.startswith(_COME_LATER) or (_INTERFACE_KEY.fullmatch(path) and "/conf/all/" not in path)
    spelling = path if "/" in name else name
    return f"{'-' if late else ''}{spelling} = {text(setting.key, setting.value)}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value`` with each number at least as large as the one in its place now."""
    return raised_numbers(seen, text(key, value))


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The value in force."""
    value, path = live_value(snapshot.get(Sysctl) or Sysctl(), key)
    value = _of_interface(snapshot, key) if value is None else value
    if value is None:
        configured = snapshot.get(Configuration)
        found = setting_of(configured.sysctl if configured else None, key)
        value = found.live if found else None
    return not_seen(snapshot, path) if value is None else Seen(text(key, value), path)


def _of_interface(snapshot: Snapshot, key: str) -> str | None:
    """What is in force for one interface: the larger of its own value and that of ``all``."""
    name, setting = found.groups() if (found := _INTERFACE_KEY.fullmatch(key_file(key))) else ("", "")
    ip = snapshot.get(Ip)
    interface = next((one for one in (ip.interfaces if ip else None) or () if one.name == name), None)
    value = getattr(interface, setting, None) if setting in INTERFACE_KEYS else None
    return None if value is None else str(value)


def from_inside(key: str) -> str:
    """Where a container has its kernel keys from: those of its own network may be given to it alone."""
    if not key.startswith("net."):
        return ON_THE_HOST
    return (
        "this is a container: apply it on the host if it shares the host's network, else start it with --sysctl, which "
        "takes what belongs to its own network"
    )


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why the kernel here does not have the key, or that it is not known whether it does."""
    found = seen(snapshot, key)
    if found.text is not None:
        return _unlike(found.text, text(key, value))
    if found.note == "absent":
        return f"this kernel has no {key}: there is no {found.path}"
    return f"it is not known whether this kernel has {key} ({found.path}: {found.note})"


def _unlike(here: str, wanted: str) -> str | None:
    """Why the kernel would refuse a value, or take a part of it: other than as many whole numbers as it holds now."""
    numbers = [bool(_NUMBER.fullmatch(word)) for word in here.split()]
    if not numbers or not all(numbers) or [bool(_NUMBER.fullmatch(word)) for word in wanted.split()] == numbers:
        return None
    held = "a whole number" if len(numbers) == 1 else f"{len(numbers)} whole numbers"
    return f"the kernel holds {held} there ({here}), and {wanted!r} is not that"


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lines that set the key, by name or by pattern, in the order in which they are applied: sysctl.d in ``/etc``, then
    the operator's own profiles of TuneD, where it is installed; then what wins over ours of packages and ``/run``."""
    sysctl = snapshot.get(Sysctl)
    files = tuple(
        SetBy(text(key, line.value), line.path, line.line)
        for line in (sysctl.configured if sysctl else None) or ()
        if operators(line.path) and _names(line, key)
    )
    return (*files, *_tuned(snapshot, key), *_behind_ours(snapshot, key))


def _tuned(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    tuned = installed(snapshot)
    return tuple(
        SetBy(text(key, line.value), line.path, line.line)
        for line in (tuned.lines if tuned else None) or ()
        if line.plugin == "sysctl" and line.counts and operators(line.path) and key_name(line.key) == key_name(key)
    )


def _behind_ours(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """The line that would count at boot behind ours, and rules of udev, which set the key later still."""
    known = snapshot.get(Configuration)
    found = setting_of(known.sysctl if known else None, key)
    setters = found.setters if found else ()
    later = [one for one in setters if one.by == "sysctl.d" and not one.pattern and packaged_behind(one.path, _OURS)]
    if reapplies(snapshot):
        later = [one for one in later if one.path.startswith("/run/")]
    else:
        later = _counting(setters, "tuned") or later
    last = [*later[-1:], *_counting(setters, "udev")]
    return tuple(_set_by(key, one, later=not operators(one.path)) for one in last)


def _counting(setters: tuple[Setter, ...], by: str) -> list[Setter]:
    return [one for one in setters if one.by == by and not is_floor(one.value)]


def _set_by(key: str, one: Setter, later: bool = False) -> SetBy:
    return SetBy(text(key, one.value), one.path, one.line, later)


def _names(line: SysctlLine, key: str) -> bool:
    return fnmatchcase(key_file(key), key_file(line.key)) if line.pattern else key_name(key) == line.key


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The assignments of our file. Raises ValueError."""
    return lines_of(text, _LINE, lambda found: key_name(found["key"]))


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """The last line that sets the key at boot (sysctl.d or TuneD), and rules of udev that set it later on."""
    known = snapshot.get(Configuration)
    if known is None or known.sysctl is None or in_container(snapshot):
        return None
    if known.tuned_active is None and _in_profile(snapshot, key):
        return None
    found = setting_of(known.sysctl, key)
    if found is None:
        return ()
    at_boot = [one for one in found.setters if one.by != "udev" and not is_floor(one.value)]
    return tuple(_set_by(key, one) for one in (*at_boot[-1:], *_counting(found.setters, "udev")))


def _in_profile(snapshot: Snapshot, key: str) -> bool:
    """Whether the profile that TuneD is told to apply sets the key."""
    profile = snapshot.get(Tuned) or Tuned()
    return any(line.plugin == "sysctl" and key_name(line.key) == key for line in profile.lines or ())


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """The value that the kernel has."""
    return seen(snapshot, key)


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """``None``: systemd-sysctl, or the init script of procps, reads the folder on every host."""
    return None


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether ``seen`` is this value."""
    return same(key, seen, text)


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """The files below /proc/sys."""
    other = {line.key: _file(_ONE_OF_TWO[line.key]) for line in lines if line.key in _ONE_OF_TWO}
    return tuple(LiveFile(f"sysctl:{line.key}", _file(line.key), line.text, other.get(line.key, "")) for line in lines)


def _file(key: str) -> str:
    return f"{ORIGIN}/{key_file(key)}"
