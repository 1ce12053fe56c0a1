"""Parameters of kernel modules: ``host/etc/modprobe.d/90-advisor.conf``. Key: ``module.parameter``.

https://man7.org/linux/man-pages/man5/modprobe.d.5.html
"""

import re

from advisor.derived.configured import Configuration, setting_of
from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.modules import Module, Modules, module_named
from advisor.probes.nvidia import PARAMS, Nvidia, parameter_taken
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import in_container, not_seen, operators, packaged_behind
from advisor.targets._installed import FILE_MODE, Line, LiveFile, lines_of
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers

SCOPE: Scope = "host"
SUGGESTED = False
_OURS = "90-advisor.conf"
PLACES = (f"/etc/modprobe.d/{_OURS}",)
MODE = FILE_MODE
WHEN = "when the module is loaded anew: after a reboot (rebuild the initramfs first if the module is in it)"
_LINE = re.compile(r"options (?P<module>[A-Za-z0-9_]+) (?P<parameter>[A-Za-z0-9_]+)=(?P<text>\S+)", re.ASCII)
_KEY = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+", re.ASCII)
# No blanks, quotes, backslashes or #: modprobe.d has its own rules for each of them.
_VALUE = re.compile(r"[A-Za-z0-9_.,:;/+@%=-]+", re.ASCII)
_SWITCH = {"Y": "1", "y": "1", "N": "0", "n": "0"}


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    if not _KEY.fullmatch(key):
        return f"{key!r} is no module.parameter of letters, digits and _"
    if not _VALUE.fullmatch(text(key, value)):
        return f"a module parameter may hold letters, digits and _.,:;/+@%=- but is {text(key, value)!r}"
    return None


def text(key: str, value: Value) -> str:
    """The value; numbers of a tuple are separated by commas, as the kernel reads arrays."""
    return ",".join(str(number) for number in value) if isinstance(value, tuple) else plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``options module parameter=value``"""
    module, _, parameter = setting.key.partition(".")
    return f"options {module} {parameter}={text(setting.key, setting.value)}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value; the kernel shows switches as Y and N and takes 1 and 0 as well."""
    wanted = text(key, value)
    return _SWITCH.get(seen, seen) == _SWITCH.get(wanted, wanted)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value`` with each number at least as large as the one in its place now."""
    return raised_numbers(seen.replace(",", " "), text(key, value).replace(",", " "))


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The loaded module's value."""
    name, _, parameter = key.partition(".")
    path = f"/sys/module/{name}/parameters/{parameter}"
    for known in (_module(snapshot, name) or Module(name=name)).parameters or ():
        if known.name == parameter and known.value is not None:
            return Seen(known.value, path)
    return _taken_by_nvidia(snapshot, name, parameter) or not_seen(snapshot, path)


def _taken_by_nvidia(snapshot: Snapshot, name: str, parameter: str) -> Seen | None:
    """Parameters that the driver hides from /sys/module and tells in a file of its own."""
    nvidia = snapshot.get(Nvidia) if name == "nvidia" else None
    if nvidia is None or nvidia.parameters is None:
        return None
    value = parameter_taken(nvidia.parameters, parameter)
    return None if value is None else Seen(value, PARAMS)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why it is not proven that this module has the parameter: modprobe and the kernel only warn of a wrong one."""
    name, _, parameter = key.partition(".")
    module = _module(snapshot, name)
    if module is None or module.accepts is None:
        return f"it is not known which parameters {name} accepts here (modinfo -p {name} would say)"
    if parameter not in module.accepts:
        return f"{name} has no parameter {parameter} here; it accepts {', '.join(module.accepts) or 'none'}"
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lines of modprobe.d and words of the kernel command line that set the parameter; of packages' lines the last
    that is read behind ours."""
    modules = snapshot.get(Modules)
    wanted = tuple(key.split("."))
    options = [o for o in (modules.options if modules else None) or () if (o.module, o.parameter) == wanted]
    own = [o for o in options if operators(o.path)]
    later = [o for o in options if packaged_behind(o.path, _OURS)][-1:]
    return (
        *(SetBy(o.value or "", o.path, o.line) for o in own),
        *(SetBy(o.value or "", o.path, o.line, later=True) for o in later),
    )


def _module(snapshot: Snapshot, name: str) -> Module | None:
    modules = snapshot.get(Modules)
    return None if modules is None else module_named(modules, name)


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The options of our file. Raises ValueError."""
    return lines_of(text, _LINE, lambda found: f"{found['module']}.{found['parameter']}")


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """The last line of modprobe.d, or a word of the kernel command line, which counts after them."""
    known = snapshot.get(Configuration)
    if known is None or known.modules is None or in_container(snapshot):
        return None
    found = setting_of(known.modules, key)
    return () if found is None or found.wins is None else (SetBy(found.wins.value, found.wins.path, found.wins.line),)


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """The loaded module's value."""
    return seen(snapshot, key)


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """Why the option counts for nothing: a command in place of the module, or the module has no such parameter."""
    known, modules = snapshot.get(Configuration), snapshot.get(Modules)
    found = setting_of(known.modules if known else None, key)
    name, _, parameter = key.partition(".")
    for one in (modules.kept_out if modules else None) or ():
        if one.module == name and one.by != "blacklist":
            return f"{one.place()} keeps {name} from being loaded ({one.by})"
    return f"{name} has no parameter {parameter} here" if found is not None and found.exists is False else None


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether ``seen`` is this value."""
    return same(key, seen, text)


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """Nothing: a module reads its options when it is loaded."""
    return ()
