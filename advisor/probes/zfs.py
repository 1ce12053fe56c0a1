"""ZFS: its cache in memory (ARC) and the properties of the data sets that are mounted.

The program is asked only where the module is loaded: it may load it. Formats: zfs-get(8), zfsprops(7),
https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Module%20Parameters.html
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Seen, Volatile
from advisor.probes._collected import Collected
from advisor.probes._mountinfo import read_mountinfo

MODULE = "/sys/module/zfs"
ARCSTATS = "/proc/spl/kstat/zfs/arcstats"
_GET = ("zfs", "get", "-Hp", "-o", "name,property,value", "-t", "filesystem")
_PROPERTIES = ("recordsize", "compression", "atime", "sync", "logbias", "primarycache", "xattr")
GET = (*_GET, ",".join(_PROPERTIES))
GET_DIRECT = (*_GET, "direct")
"""Apart from the others: versions before 2.3 do not know it, and then tell nothing."""
_SECONDS = 10.0


class DataSet(Facts):
    """A mounted data set."""

    read_from: ClassVar[str] = "command: zfs get"
    name: str
    record_bytes: Annotated[int | None, "recordsize: largest block of new files"] = None
    compression: Annotated[str | None, "off, lz4, zstd ..."] = None
    access_times: Annotated[bool | None, "atime"] = None
    synchronous: Annotated[str | None, "sync: standard, always or disabled (acknowledges before it is safe)"] = None
    log_bias: Annotated[str | None, "logbias: latency or throughput"] = None
    primary_cache: Annotated[str | None, "what the ARC keeps: all, metadata or none"] = None
    extended_attributes: Annotated[str | None, "xattr: on, sa, dir or off"] = None
    direct: Annotated[str | None, "direct I/O: standard, always or disabled; since 2.3"] = None


class Zfs(Facts):
    """ZFS, where its module is loaded."""

    read_from: ClassVar[str] = "/sys/module/zfs, /proc/spl/kstat/zfs/arcstats"
    seen: ClassVar[Seen | None] = "host"
    loaded: Annotated[bool | None, "the module is in the kernel"] = None
    version: Annotated[str | None, File("version", unknown=("",)), "of the module"] = None
    arc_max_setting_bytes: Annotated[
        int | None, File("parameters/zfs_arc_max"), "most that the ARC may take; 0: chosen by ZFS, see arc_max_bytes"
    ] = None
    arc_min_setting_bytes: Annotated[int | None, File("parameters/zfs_arc_min"), "0: chosen by ZFS"] = None
    arc_max_bytes: Annotated[int | None, "in force (c_max)"] = None
    arc_min_bytes: Annotated[int | None, "in force (c_min)"] = None
    arc_bytes: Annotated[int | None, Volatile(), "in use"] = None
    arc_target_bytes: Annotated[int | None, Volatile(), "what it grows or shrinks to (c)"] = None
    arc_hits: Annotated[int | None, Counter(), "since the module was loaded"] = None
    arc_misses: Annotated[int | None, Counter()] = None
    arc_throttles: Annotated[int | None, Counter(), "writes held back for lack of memory"] = None
    data_sets: Annotated[tuple[DataSet, ...] | None, "those that are mounted, by name"] = None


_ARC = {
    "arc_max_bytes": "c_max",
    "arc_min_bytes": "c_min",
    "arc_bytes": "size",
    "arc_target_bytes": "c",
    "arc_hits": "hits",
    "arc_misses": "misses",
    "arc_throttles": "memory_throttle_count",
}

COLLECTED = Collected(models=((MODULE, Zfs),), files=(ARCSTATS,), there=(MODULE,))


def read(host: Host) -> Zfs:
    """ZFS on ``host``."""
    mounted = {line.source for line in read_mountinfo(host) or () if line.fstype == "zfs"}
    there = host.exists(MODULE)
    if not there and not mounted:
        known = host.gaps.get(MODULE) == "absent"
        return Zfs(origin=MODULE, loaded=False if known else None, data_sets=() if known else None)
    text = host.text(ARCSTATS)
    told = {} if text is None else parse_arcstats(text)
    if text is not None and not told:
        host.missed(ARCSTATS, "unsupported")
    return read_fields(
        host,
        Zfs,
        MODULE,
        loaded=True,
        data_sets=_data_sets(host, mounted),
        **{field: told.get(name) for field, name in _ARC.items()},
        origins={**dict.fromkeys(_ARC, ARCSTATS), "data_sets": command_origin(GET)},
    )


def parse_arcstats(text: str) -> dict[str, int]:
    """The counters of a kstat file by name::

    13 1 0x01 98 26656 4867137341 12345678901
    name                            type data
    hits                            4    8772612
    """
    rows = (line.split() for line in text.split("\n")[2:])
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and re.fullmatch(r"\d{1,20}", row[2], re.ASCII)}


def _data_sets(host: Host, mounted: Iterable[str]) -> tuple[DataSet, ...] | None:
    names = sorted(mounted)
    if not names:
        return ()
    told = _ask(host, GET)
    if told is None:
        return None
    direct = _ask(host, GET_DIRECT) or {}
    return tuple(_data_set(name, {**told.get(name, {}), **direct.get(name, {})}) for name in names)


def _ask(host: Host, command: tuple[str, ...]) -> Mapping[str, Mapping[str, str]] | None:
    output = host.run(command, _SECONDS)
    if output is None:
        return None
    told = parse_properties(output.stdout)
    if not told:
        host.missed(command_origin(command), "denied" if _is_refused(output) else "unsupported")
    return told or None


def _is_refused(output: Output) -> bool:
    return "permission denied" in (output.stderr + output.stdout[:4096]).lower()


def parse_properties(text: str) -> dict[str, dict[str, str]]:
    """Properties by data set. Sample, with tabs: ``tank/data  recordsize  1048576``; ``-`` is not told"""
    found: dict[str, dict[str, str]] = {}
    for line in text.split("\n"):
        words = line.split("\t")
        if len(words) == 3 and words[2] not in ("", "-"):
            found.setdefault(words[0], {})[words[1]] = words[2]
    return found


def _data_set(name: str, told: Mapping[str, str]) -> DataSet:
    size = told.get("recordsize", "")
    values: dict[str, Any] = {
        "record_bytes": int(size) if re.fullmatch(r"\d{1,12}", size, re.ASCII) else None,
        "compression": told.get("compression"),
        "access_times": {"on": True, "off": False}.get(told.get("atime", "")),
        "synchronous": told.get("sync"),
        "log_bias": told.get("logbias"),
        "primary_cache": told.get("primarycache"),
        "extended_attributes": told.get("xattr"),
        "direct": told.get("direct"),
    }
    return DataSet(origin=command_origin(GET), name=name, **values, origins={"direct": command_origin(GET_DIRECT)})
