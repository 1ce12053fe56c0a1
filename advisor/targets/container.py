"""How a container of the job is started, only ever suggested: ``suggested/container-flags.txt``, ``kubernetes.yaml``.

Keys: ``shm-size`` (bytes), ``ulimit/memlock`` and ``ulimit/nofile``, ``cap-add/IPC_LOCK``, ``device/dev/infiniband``
(names of nodes in it, with commas between; true: all of them), ``network`` and ``ipc`` (``host``).
https://docs.docker.com/reference/cli/docker/container/run/
"""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.shm import Shm
from advisor.probes.systemd import Systemd, service_named
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import in_container, not_seen
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers, shquote

SCOPE: Scope = "container"
SUGGESTED = True
STARTERS = ("containerd", "crio", "docker", "k3s", "kubelet", "podman", "rke2-agent")
_SIZE = re.compile(r"([1-9][0-9]{0,15})([kmgt]?)b?", re.ASCII)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SWITCHES = ("cap-add/IPC_LOCK", "cap-add/SYS_NICE")
_NODES = "device/dev/infiniband"
_NODE_NAMES = re.compile(r"(uverbs[0-9]{1,4}|rdma_cm)(,(uverbs[0-9]{1,4}|rdma_cm)){0,511}", re.ASCII)
_HOST = ("network", "ipc")
_LIMITS = ("ulimit/memlock", "ulimit/nofile")
_SMALLEST_SHM = 1 << 20


def wrong(key: str, value: Value) -> str | None:
    """What makes this flag impossible to write."""
    if key == "shm-size":
        fine = isinstance(value, int) and not isinstance(value, bool) and value >= _SMALLEST_SHM
        return None if fine else f"{key} must be a number of bytes, at least {_SMALLEST_SHM}, but is {value!r}"
    if key in _SWITCHES:
        return None if value is True else f"{key} can only be true but is {value!r}"
    if key == _NODES:
        fine = value is True or (isinstance(value, str) and _NODE_NAMES.fullmatch(value) is not None)
        return None if fine else f"{key} must be true or names as in uverbs0,uverbs1,rdma_cm but is {value!r}"
    if key in _HOST:
        return None if value == "host" else f"{key} can only be 'host' but is {value!r}"
    if key in _LIMITS:
        fine = isinstance(value, int) and not isinstance(value, bool) and (value == -1 or value >= 1024)
        return None if fine else f"{key} must be -1 (no limit) or at least 1024 but is {value!r}"
    return f"{key!r} is none of shm-size, {', '.join((*_LIMITS, *_SWITCHES, _NODES, *_HOST))}"


def text(key: str, value: Value) -> str:
    """The value; nothing for a switch."""
    return "" if value is True else plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """The flag of docker run and podman run, for a shell; one for each device."""
    name, _, what = setting.key.partition("/")
    value = text(setting.key, setting.value)
    if name == "device":
        nodes = [f"/{what}/{node}" for node in value.split(",")] if value else [f"/{what}"]
        return " ".join(f"--device={shquote(node)}" for node in nodes)
    return f"--{name}={shquote('='.join(part for part in (what, value) if part))}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: bytes (``16g``), a number, true or the text."""
    size = _SIZE.fullmatch(words.lower())
    if key == "shm-size" and size is not None:
        return int(size[1]) * _FACTOR[size[2]]
    if key in _LIMITS and re.fullmatch(r"-?[0-9]{1,15}", words, re.ASCII):
        return int(words)
    return True if words == "true" else words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The size of /dev/shm inside a container; nothing else is known of one that is made later."""
    shm = snapshot.get(Shm)
    if key != "shm-size" or not in_container(snapshot):
        return Seen(None, "", "a container is made later")
    if shm is None or shm.size_bytes is None:
        return not_seen(snapshot, "/dev/shm")
    return Seen(str(shm.size_bytes), "/dev/shm")


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why flags would be of no use: nothing here starts containers."""
    systemd = snapshot.get(Systemd)
    if in_container(snapshot) or systemd is None or systemd.services is None:
        return None
    here = [name for name in STARTERS if (one := service_named(systemd, name)) is not None and one.path is not None]
    return None if here else "nothing on this host starts containers, as far as its services tell"


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Nothing: no configuration file holds how a container is started."""
    return ()


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen, text(key, value))
