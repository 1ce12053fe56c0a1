"""What TuneD's profile sets of disks: ``elevator`` and ``readahead`` of its plugin disk, and files of /sys by path.

TuneD starts behind udev, so at boot its value is the last; a rule of udev then sets its own again whenever the device
changes. Which devices a unit of the profile is for says its ``devices=``, names and patterns, those with ``!`` left
out; a unit of that name in a later profile that has none is for all again (tuned/profiles/merger.py).
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from advisor.derived.configured import Configuration
from advisor.model.snapshot import Snapshot
from advisor.probes.mounts import BDI
from advisor.probes.systemd import Systemd, service_named
from advisor.probes.tuned import Tuned, TunedLine
from advisor.targets._base import SetBy
from advisor.targets._host import operators

_OPTIONS = {"scheduler": ("elevator",), "read_ahead_kb": ("readahead", "readahead_multiply")}
_READ_AHEAD = re.compile(r"(?P<least>>?)\s*(?P<number>\d{1,9})(?P<sectors>\s+s.*)?", re.ASCII)
_ON = ("1", "true")
_NFS_NAMES = ("0:50",)
"""How /sys/class/bdi calls a file system without a device."""


def installed(snapshot: Snapshot) -> Tuned | None:
    """The profile that TuneD has, where TuneD is installed."""
    service = service_named(snapshot.get(Systemd) or Systemd(), "tuned")
    return None if service is None or service.path is None else snapshot.get(Tuned)


def active(snapshot: Snapshot) -> bool | None:
    """Whether TuneD applies its profile."""
    known = snapshot.get(Configuration)
    return known.tuned_active if known else None


def reapplies(snapshot: Snapshot) -> bool:
    """Whether TuneD applies sysctl.d in ``/etc``, ours too, and ``/run`` once more, as a profile with a sysctl does."""
    tuned = snapshot.get(Tuned) or Tuned()
    sets = any(line.plugin == "sysctl" and line.counts for line in tuned.lines or ())
    return active(snapshot) is True and sets and tuned.reapply_sysctl is not False


def is_floor(text: str) -> bool:
    """Whether TuneD only raises what is less (``>4096``): it leaves a larger value of ours alone."""
    return text.startswith(">")


def stands(snapshot: Snapshot, setting: str, names: Sequence[str]) -> tuple[SetBy, ...]:
    """Lines of the operator's profile, and those of a package's that TuneD applies over ours, for one of these disks.

    ``names`` is empty for mounts of NFS.
    """
    found = disks(installed(snapshot), setting, names)
    packaged = active(snapshot) is True
    return tuple(
        SetBy(one.text, one.path, one.line, later=not operators(one.path))
        for one in found
        if operators(one.path) or (packaged and not is_floor(one.text))
    )


def disks(tuned: Tuned | None, setting: str, names: Sequence[str]) -> tuple[SetBy, ...]:
    """Lines that count and set the scheduler or the read-ahead (in KiB) of one of these disks."""
    lines = [line for line in (tuned.lines if tuned else None) or () if line.counts]
    return tuple(SetBy(_text(line), line.path, line.line) for line in lines if _sets(line, lines, setting, names))


def _sets(line: TunedLine, lines: list[TunedLine], setting: str, names: Sequence[str]) -> bool:
    if line.plugin == "sysfs":
        return any(fnmatchcase(file, line.key) for file in _files(setting, names))
    if line.plugin != "disk" or line.key not in _OPTIONS[setting]:
        return False
    unit = [one for one in lines if one.section == line.section]
    own = {one.key: one.value for one in unit if one.path == unit[-1].path}
    if own.get("enabled", "1").lower() not in _ON:
        return False
    if any(one.key == "devices_udev_regex" for one in unit):  # it looks at what udev knows of the device
        return bool(names)
    return any(_meant(own.get("devices", ""), name) for name in names)


def _files(setting: str, names: Sequence[str]) -> Iterator[str]:
    yield from (f"/sys/block/{name}/queue/{setting}" for name in names)
    yield from (f"{BDI}/{name}/{setting}" for name in (() if names else _NFS_NAMES))


def _meant(devices: str, name: str) -> bool:
    """Whether a disk is among ``devices=``. Samples: ``sda``, ``nvme*, !nvme0n1``"""
    rules = [rule for rule in re.split(r"\s|,\s*", devices) if rule]
    wanted = [rule for rule in rules if not rule.startswith("!")] or ["*"]
    left_out = [rule[1:] for rule in rules if rule.startswith("!")]
    return any(fnmatchcase(name, rule) for rule in wanted) and not any(fnmatchcase(name, rule) for rule in left_out)


def _text(line: TunedLine) -> str:
    """The value; read-ahead in KiB, which TuneD also takes in sectors (``8192 s``)."""
    if line.key == "readahead_multiply":
        return f"{line.value} times as much"
    found = _READ_AHEAD.fullmatch(line.value) if line.key == "readahead" else None
    if found is None:
        return line.value
    return f"{found['least']}{int(found['number']) // (2 if found['sectors'] else 1)}"
