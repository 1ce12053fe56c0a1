"""Queues of disks and read-ahead: ``host/etc/udev/rules.d/61-advisor.rules``. Key: ``devices/setting``.

``nvme/scheduler`` for all NVMe drives, ``md0/read_ahead_kb`` for one device as /sys/block names it, and
``nfs/read_ahead_kb`` for all NFS mounts. A rule names its device by what outlives a reboot, and read-ahead is only ever
raised: the rule looks at the value of the day.
https://man7.org/linux/man-pages/man7/udev.7.html
"""

import re
from collections.abc import Sequence

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.block import Block, BlockDevice
from advisor.probes.mounts import BDI, Mounts
from advisor.probes.udev import Udev, UdevSetting
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import not_seen, operators
from advisor.targets._udev_match import NFS, NVME, bdi_match, block_match, may_match, numbers_below
from advisor.targets._values import named as named
from advisor.targets._values import plain

SCOPE: Scope = "host"
SUGGESTED = False
_DEVICE = re.compile(r"[a-z][a-zA-Z0-9_-]{0,40}", re.ASCII)
_SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
_LARGEST_KB = 65536
_FILES = {"scheduler": "queue/scheduler", "read_ahead_kb": "queue/read_ahead_kb"}
_OURS = "61-advisor.rules"


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    devices, _, name = key.partition("/")
    if not _DEVICE.fullmatch(devices) or name not in _FILES:
        return f"{key!r} is no devices/setting, as in nvme/scheduler, md0/read_ahead_kb or nfs/read_ahead_kb"
    if name == "scheduler":
        fine = value in _SCHEDULERS and devices != NFS
        return None if fine else f"{key} must be one of {', '.join(_SCHEDULERS)}, of a block device, but is {value!r}"
    number = plain(value)
    if isinstance(value, bool) or not re.fullmatch(r"[1-9][0-9]{0,5}", number, re.ASCII) or int(number) > _LARGEST_KB:
        return f"{key} must be a whole number of KiB up to {_LARGEST_KB} but is {value!r}"
    return None


def text(key: str, value: Value) -> str:
    """The scheduler's name, or KiB."""
    return plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """One rule."""
    devices, _, name = setting.key.partition("/")
    value = text(setting.key, setting.value)
    if devices == NFS:
        return f'{bdi_match()}, ATTR{{read_ahead_kb}}=="{numbers_below(int(value))}", ATTR{{read_ahead_kb}}="{value}"'
    file = _FILES[name]
    only_raise = f'ATTR{{{file}}}=="{numbers_below(int(value))}", ' if name == "read_ahead_kb" else ""
    return f'{block_match(devices, _devices(snapshot, devices))}, {only_raise}ATTR{{{file}}}="{value}"'


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """The values of all devices that are meant, each once."""
    devices, _, name = key.partition("/")
    if devices == NFS:
        return _listed(_of_nfs(snapshot), f"{BDI}/*/read_ahead_kb", snapshot)
    found = _devices(snapshot, devices)
    path = f"/sys/block/{'nvme*' if devices == NVME else devices}/{_FILES[name]}"
    field = "scheduler" if name == "scheduler" else "read_ahead_bytes"
    return _listed([getattr(one, field) for one in found], path, snapshot)


def _listed(values: Sequence[object], path: str, snapshot: Snapshot) -> Seen:
    if not values or None in values:
        return not_seen(snapshot, path)
    words = {str(one // 1024) if isinstance(one, int) else str(one) for one in values}
    return Seen(", ".join(sorted(words, key=lambda word: (len(word), word))), path)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why there is no such device here, or its queue does not have this scheduler, or another rule comes later."""
    devices, _, name = key.partition("/")
    if devices == NFS:
        return None if _of_nfs(snapshot) else "no NFS file system is mounted here, as far as is known"
    found = _devices(snapshot, devices)
    if not found:
        return f"it is not known that this host has block devices {devices}"
    lacking = [one.name for one in found if name == "scheduler" and value not in (one.schedulers or ())]
    return f"{lacking[0]} does not have the scheduler {value}, as far as is known" if lacking else None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Rules of the operator, and of anybody behind ours, that may set the same of these devices."""
    udev = snapshot.get(Udev)
    return tuple(
        SetBy(one.value, one.path, one.line)
        for one in (udev.settings if udev else None) or ()
        if (operators(one.path) or one.path.rpartition("/")[2] > _OURS) and _sets(one, key)
    )


def _sets(one: UdevSetting, key: str) -> bool:
    devices, _, name = key.partition("/")
    if devices == NFS:
        return one.attribute == name and may_match(one.conditions, "bdi", ())
    return one.attribute == _FILES[name] and may_match(one.conditions, "block", _names(devices))


def _names(devices: str) -> tuple[str, ...]:
    return ("nvme0n1", "nvme1n1", "nvme10n1") if devices == NVME else (devices,)


def same(key: str, seen: str, value: Value) -> bool:
    """Whether all devices have this value."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or what is there when no device has less. Raises ValueError for what is no number."""
    try:
        numbers = [int(word) for word in seen.split(", ")]
    except ValueError:
        raise ValueError(f"{seen!r} is no number") from None
    return seen if min(numbers) >= int(text(key, value)) else value


def _devices(snapshot: Snapshot, devices: str) -> tuple[BlockDevice, ...]:
    block = snapshot.get(Block)
    every = (block.devices if block else None) or ()
    return tuple(one for one in every if (one.kind == NVME if devices == NVME else one.name == devices))


def _of_nfs(snapshot: Snapshot) -> list[object]:
    mounts = snapshot.get(Mounts)
    every = (mounts.mounts if mounts else None) or ()
    return [one.read_ahead_bytes for one in every if one.fstype in ("nfs", "nfs4")]
