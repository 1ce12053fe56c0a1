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
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import in_container, not_seen, operators, packaged_behind
from advisor.targets._installed import FILE_MODE, Entry, Line, LiveFile, entries
from advisor.targets._tuned import active, disks, installed, is_floor, stands
from advisor.targets._udev_match import (
    NFS,
    NVME,
    bdi_match,
    block_match,
    devices_of,
    is_place,
    may_match,
    means,
    numbers_below,
    place_of,
)
from advisor.targets._values import named as named
from advisor.targets._values import plain

SCOPE: Scope = "host"
SUGGESTED = False
PLACES = ("/etc/udev/rules.d/61-advisor.rules",)
MODE = FILE_MODE
WHEN = (
    "when the device appears, or with: udevadm control --reload && udevadm trigger -s block; of NFS at the next mount"
)
_RULE = re.compile(
    r'(?P<match>[^{].*?), (?:ATTR\{[a-z_/]+\}=="[^"]*", )?ATTR\{(?:queue/)?(?P<name>[a-z_]+)\}="(?P<text>[^"]*)"',
    re.ASCII,
)
_CONDITION = re.compile(r'([A-Z]+(?:\{[A-Z_]+\})?)=="([^"]*)"', re.ASCII)
_DEVICE = re.compile(r"[a-z][a-zA-Z0-9_-]{0,40}", re.ASCII)
_SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
_LARGEST_KB = 65536
_FILES = {"scheduler": "queue/scheduler", "read_ahead_kb": "queue/read_ahead_kb"}
_OURS = "61-advisor.rules"


def wrong(key: str, value: Value) -> str | None:
    """What makes this key or value impossible to write."""
    devices, _, name = key.partition("/")
    if not (_DEVICE.fullmatch(devices) or is_place(devices)) or name not in _FILES:
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
    place = devices if devices == NFS else place_of(devices, _devices(snapshot, devices))
    return _rule(place, name, text(setting.key, setting.value))


def _rule(place: str, name: str, value: str) -> str:
    if place == NFS:
        return f'{bdi_match()}, ATTR{{read_ahead_kb}}=="{numbers_below(int(value))}", ATTR{{read_ahead_kb}}="{value}"'
    file = _FILES[name]
    only_raise = f'ATTR{{{file}}}=="{numbers_below(int(value))}", ' if name == "read_ahead_kb" else ""
    return f'{block_match(place)}, {only_raise}ATTR{{{file}}}="{value}"'


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
    """Rules of the operator, and of anybody behind ours, that may set the same of these devices; then TuneD."""
    udev = snapshot.get(Udev)
    rules = tuple(
        SetBy(one.value, one.path, one.line, later=not operators(one.path))
        for one in (udev.settings if udev else None) or ()
        if (operators(one.path) or packaged_behind(one.path, _OURS)) and _sets(one, key)
    )
    return (*rules, *stands(snapshot, key.rpartition("/")[2], _disks(snapshot, key)))


def _sets(one: UdevSetting, key: str) -> bool:
    devices, _, name = key.partition("/")
    if devices == NFS:
        return one.attribute == name and may_match(one.conditions, "bdi", ())
    return one.attribute == _FILES[name] and may_match(one.conditions, "block", _names(devices))


def _names(devices: str) -> tuple[str, ...]:
    if is_place(devices):
        return ("dm-0",) if devices.startswith("dm:") else ("nvme0n1",)
    return ("nvme0n1", "nvme1n1", "nvme10n1") if devices == NVME else (devices,)


def _disks(snapshot: Snapshot, key: str) -> tuple[str, ...]:
    """The names of the disks that are meant here; none of NFS."""
    devices = key.partition("/")[0]
    return () if devices == NFS else tuple(one.name for one in _devices(snapshot, devices)) or _names(devices)


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
    return tuple(one for one in every if means(devices, one))


def _of_nfs(snapshot: Snapshot) -> list[object]:
    mounts = snapshot.get(Mounts)
    every = (mounts.mounts if mounts else None) or ()
    return [one.read_ahead_bytes for one in every if one.fstype in ("nfs", "nfs4")]


def lines(text: str, path: str) -> tuple[Line, ...]:
    """The settings of our rules. Raises ValueError for a rule that is not word for word one of ours."""
    return tuple(_read_back(entry) for entry in entries(text))


def _read_back(entry: Entry) -> Line:
    found = _RULE.fullmatch(entry.text)
    if found is None:
        raise entry.wrong()
    conditions = dict(_CONDITION.findall(found["match"]))
    place = NFS if conditions.get("SUBSYSTEM") == "bdi" else devices_of(conditions)
    key, value = f"{place}/{found['name']}", found["text"]
    if wrong(key, value) is not None or _rule(place, found["name"], value) != entry.text:
        raise entry.wrong()
    return Line(key, value, entry.number, entry.comments)


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """Our rule, rules behind it that may set the same of these devices, and TuneD, which sets it once more at boot."""
    udev = snapshot.get(Udev)
    if udev is None or udev.settings is None or in_container(snapshot):
        return None
    every = [one for one in udev.settings if _sets(one, key)]
    ours = next((number for number, one in enumerate(every) if one.path == PLACES[0] and one.value == value), None)
    rules = () if ours is None else tuple(SetBy(one.value, one.path, one.line) for one in every[ours:])
    tuned = disks(installed(snapshot), key.rpartition("/")[2], _disks(snapshot, key))
    if tuned and active(snapshot) is None:
        return None
    # It leaves alone what is larger than its ">"; and what is larger than ours, ours leaves alone.
    counting = [one for one in tuned if active(snapshot) and not is_floor(one.text)]
    return (*rules, *(one for one in counting if one.text == value or not fulfilled(key, one.text, value)))


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """The values that the devices have."""
    return seen(snapshot, key)


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """``None``: udev reads the folder on every host."""
    return None


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether all devices have this value, or more of what is only raised."""
    if not key.endswith("/read_ahead_kb"):
        return seen == text
    numbers = seen.split(", ")
    return all(word.isdigit() and int(word) >= int(text) for word in numbers)


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """The queues of the disks that are here; NFS mounts keep their read-ahead."""
    found = []
    for one in lines:
        devices, _, name = one.key.partition("/")
        for device in _devices(snapshot, devices) if devices != NFS else ():
            has = device.scheduler if name == "scheduler" else str((device.read_ahead_bytes or 0) // 1024)
            if has is not None and not fulfilled(one.key, has, one.text):
                found.append(LiveFile(f"udev:{one.key}", f"/sys/block/{device.name}/{_FILES[name]}", one.text))
    return tuple(found)
