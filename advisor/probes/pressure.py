"""Pressure (PSI): how long tasks waited for CPU, memory and input/output, on the host and in this control group.

Format: https://docs.kernel.org/accounting/psi.html
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, Seen, SeenAs, Volatile
from advisor.probes._cgroup_folders import CGROUP, groups_of, parse_cgroup, unseen
from advisor.probes._collected import Collected
from advisor.probes._mountinfo import read_mountinfo

ORIGIN = "/proc/pressure"
RESOURCES = ("cpu", "memory", "io", "irq")
GROUP_FILES = tuple(f"{name}.pressure" for name in RESOURCES)
_LINE = re.compile(r"(some|full)((?: \w+=\d{1,20}(?:\.\d{1,6})?)+)", re.ASCII)


class Pressure(Facts):
    """Share of time in which tasks waited for one resource: ``some`` of them, or all of them at once (``full``)."""

    read_from: ClassVar[str] = "/proc/pressure, /sys/fs/cgroup/*"
    resource: Annotated[str, "cpu, memory, io or irq"]
    some_10_percent: Annotated[float | None, Volatile(), "percent of the last 10 seconds"] = None
    some_60_percent: Annotated[float | None, Volatile(), "percent of the last minute"] = None
    some_300_percent: Annotated[float | None, Volatile(), "percent of the last 5 minutes"] = None
    some_usecs: Annotated[int | None, Counter(), "microseconds in all"] = None
    full_10_percent: Annotated[float | None, Volatile(), "percent of the last 10 seconds"] = None
    full_60_percent: Annotated[float | None, Volatile(), "percent of the last minute"] = None
    full_300_percent: Annotated[float | None, Volatile(), "percent of the last 5 minutes"] = None
    full_usecs: Annotated[int | None, Counter(), "microseconds in all"] = None


class PressureOf(Facts):
    """Pressure on the host and in the reader's control group."""

    read_from: ClassVar[str] = "/proc/pressure, /sys/fs/cgroup/*"
    seen: ClassVar[Seen | None] = "host"
    host: Annotated[
        tuple[Pressure, ...] | None, "the whole host; unsupported where the kernel was started without psi=1"
    ] = None
    group: Annotated[tuple[Pressure, ...] | None, SeenAs("own"), "this process's control group; none in version 1"] = (
        None
    )


COLLECTED = Collected(folders=((ORIGIN, " ".join(RESOURCES)),))


def read(host: Host) -> PressureOf:
    """The pressure on ``host``."""
    names = host.names(ORIGIN)
    found = [_pressure(host, f"{ORIGIN}/{name}", name) for name in RESOURCES if name in (names or ())]
    known = tuple(one for one in found if one is not None)
    where, group = _group(host)
    # A kernel that does not measure has the files and lets nobody read them: then the gap of the first tells.
    origins = {"host": f"{ORIGIN}/{RESOURCES[0]}" if found and not known else ORIGIN, "group": where}
    return PressureOf(origin=ORIGIN, host=known or None, group=group, origins=origins)


def _group(host: Host) -> tuple[str, tuple[Pressure, ...] | None]:
    """The files of the reader's own group, and where they are; none for a group of version 1 or the topmost one."""
    text = host.text(CGROUP)
    if text is None:
        return CGROUP, None
    member = parse_cgroup(text)
    if member.v2 is None:
        return CGROUP, ()
    mounts = read_mountinfo(host)
    groups = groups_of(host, "", member, mounts or ())
    if groups is None:
        return unseen(host, "", member, mounts), None
    folder = groups.folders[0]
    names = host.names(folder)
    found = [
        _pressure(host, f"{folder}/{name}.pressure", name) for name in RESOURCES if f"{name}.pressure" in (names or ())
    ]
    known = tuple(one for one in found if one is not None)
    if found and not known:
        return f"{folder}/{GROUP_FILES[0]}", None
    return folder, None if names is None else known


def _pressure(host: Host, path: str, resource: str) -> Pressure | None:
    """One file; what the whole host's says of all tasks waiting for CPU is left out, as it means nothing."""
    text = host.text(path)
    if text is None:
        return None
    values = parse_pressure(text)
    if not values:
        host.missed(path, "unsupported")
        return None
    if path == f"{ORIGIN}/cpu":
        values = {name: value for name, value in values.items() if name.startswith("some")}
    return Pressure(origin=path, resource=resource, **values)  # type: ignore[arg-type]


def parse_pressure(text: str) -> dict[str, float | int]:
    """Values by field name. Sample line: ``some avg10=0.12 avg60=0.05 avg300=0.00 total=1297180859``"""
    values: dict[str, float | int] = {}
    for line in text.split("\n"):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            continue
        pairs = dict(pair.split("=") for pair in found[2].split())
        values |= {f"{found[1]}_{n}_percent": float(pairs[f"avg{n}"]) for n in (10, 60, 300) if f"avg{n}" in pairs}
        if pairs.get("total", "").isdigit():
            values[f"{found[1]}_usecs"] = int(pairs["total"])
    return values
