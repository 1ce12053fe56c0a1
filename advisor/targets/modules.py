"""Kernel modules that are loaded at boot: ``host/etc/modules-load.d/90-advisor.conf``. Key: the module; value: true.

https://man7.org/linux/man-pages/man5/modules-load.d.5.html
"""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.gpu import Gpu
from advisor.probes.modules import Modules, module_named
from advisor.probes.nvidia import PEERS, Nvidia
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import in_container, not_seen, operators
from advisor.targets._installed import FILE_MODE, Line, LiveFile, entries

SCOPE: Scope = "host"
SUGGESTED = False
PLACES = ("/etc/modules-load.d/90-advisor.conf",)
MODE = FILE_MODE
WHEN = "at the next boot, or with: systemctl restart systemd-modules-load"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}", re.ASCII)
_LOADED, _NOT_LOADED = "loaded", "not loaded"
_PEERMEM, _PEERMEM_SINCE = "nvidia_peermem", 470
"""https://docs.nvidia.com/cuda/gpudirect-rdma/ (comes with the driver since R470)"""


def named(key: str) -> str:
    """The name with ``_``, which the kernel takes for the same as ``-``."""
    return key.replace("-", "_")


def wrong(key: str, value: Value) -> str | None:
    """What makes this module impossible to list."""
    if not _NAME.fullmatch(key):
        return f"{key!r} is no name of a kernel module: letters, digits, _ and -"
    return None if value is True or value == _LOADED else f"a module can only be listed (true), not {value!r}"


def text(key: str, value: Value) -> str:
    """What is wanted: that it is loaded."""
    return _LOADED


def line(setting: Setting, snapshot: Snapshot) -> str:
    """The module's name."""
    return setting.key


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means."""
    return True if words.lower() in ("true", "1", "yes") else words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Whether it is loaded now."""
    path = f"/sys/module/{named(key)}"
    modules = snapshot.get(Modules)
    module = module_named(modules, key) if modules else None
    if module is not None and module.loaded is not None:
        return Seen(_LOADED, path) if module.loaded else Seen(None, path, _NOT_LOADED)
    return not_seen(snapshot, path)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why it is not proven that this host has the module: one that is missing makes systemd-modules-load fail."""
    out = prevented(snapshot, key)
    if out is not None:
        return out
    if seen(snapshot, key).text == _LOADED:
        return None
    modules = snapshot.get(Modules)
    module = module_named(modules, key) if modules else None
    if module is not None and module.accepts is not None:  # modinfo found its file
        return None
    if named(key) == _PEERMEM:
        return _no_peer_memory(snapshot)
    return f"it is not known whether this host has the module {key} (modinfo {key} would say)"


def _no_peer_memory(snapshot: Snapshot) -> str | None:
    """Why nvidia_peermem may not come up: it needs a driver that brings it and RDMA drivers that know peer memory."""
    gpu, driver = snapshot.get(Gpu), snapshot.get(Nvidia)
    major = re.match(r"\d{1,6}", (gpu.driver_version if gpu else None) or "")
    if major is None or int(major[0]) < _PEERMEM_SINCE:
        return f"it is not known that the NVIDIA driver here brings {_PEERMEM}, as it does since {_PEERMEM_SINCE}"
    if driver is None or driver.peer_memory_clients is None:
        return f"{_PEERMEM} loads only with RDMA drivers that know peer memory (OFED): there is no {PEERS}"
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Lists in ``/etc`` that have the module: one is enough."""
    modules = snapshot.get(Modules)
    every = (modules.at_boot if modules else None) or ()
    return tuple(SetBy(_LOADED, o.path, o.line) for o in every if o.module == named(key) and operators(o.path))


def same(key: str, seen: str, value: Value) -> bool:
    """Whether it is loaded."""
    return seen == _LOADED


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``: there is nothing to lower."""
    return value


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The modules that our file lists. Raises ValueError."""
    found = []
    for entry in entries(text):
        if wrong(entry.text, True) is not None:
            raise entry.wrong()
        found.append(Line(named(entry.text), _LOADED, entry.number, entry.comments))
    return tuple(found)


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """The lines of modules-load.d that list it: no file takes a module off the list."""
    modules = snapshot.get(Modules)
    if modules is None or modules.at_boot is None or in_container(snapshot):
        return None
    return tuple(SetBy(_LOADED, one.path, one.line) for one in modules.at_boot if one.module == key)


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """Whether it is loaded now."""
    found = seen(snapshot, key)
    return Seen(_NOT_LOADED, found.path) if found.note == _NOT_LOADED else found


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """Why systemd-modules-load leaves it out: a line of the host's keeps the module from being loaded."""
    modules = snapshot.get(Modules)
    every = (modules.kept_out if modules else None) or ()
    one = next((one for one in every if one.module == named(key)), None)
    return None if one is None else f"{one.place()} keeps {named(key)} from being loaded ({one.by}), which stands"


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether it is loaded."""
    return seen == _LOADED


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """Nothing: loading a module cannot be undone while it is used."""
    return ()
