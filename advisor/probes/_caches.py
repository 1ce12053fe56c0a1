"""Caches: those of one CPU, and which CPUs share each cache of the last level.

Format: Documentation/ABI/testing/sysfs-devices-system-cpu (cpuN/cache/indexK).
"""

import re
from collections.abc import Iterable
from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File
from advisor.probes._cpulist import numbered, parse_cpumask, read_cpulist
from advisor.probes._sysfs import not_offered

CPUS = "/sys/devices/system/cpu"
FILES = "level type size shared_cpu_list shared_cpu_map"
_SIZE = re.compile(r"(\d{1,12})([KMG]?)", re.ASCII)


class Cache(Facts):
    """One cache, from a folder ``cpuN/cache/indexK``."""

    level: Annotated[int | None, File("level"), "1 is next to the core"] = None
    kind: Annotated[str | None, File("type"), "Data, Instruction or Unified"] = None
    size_bytes: Annotated[int | None, File("size"), "of this cache, which its CPUs share"] = None
    cpus: Annotated[tuple[int, ...] | None, File("shared_cpu_list"), "online CPUs that share it"] = None


def read_caches(host: Host, number: int) -> tuple[Cache, ...] | None:
    """The caches of one CPU by level; ``None`` where the kernel does not tell, as on many virtual machines."""
    folder = f"{CPUS}/cpu{number}/cache"
    names = host.names(folder)
    if names is None:
        return None
    found = [_cache(host, f"{folder}/index{index}") for index in numbered(names, "index")]
    return tuple(sorted(found, key=lambda cache: (cache.level or 0, cache.kind or "")))


def read_last_level(host: Host, first: tuple[Cache, ...], online: Iterable[int]) -> tuple[Cache, ...] | None:
    """Every cache of the highest level that ``first``, the caches of one of the ``online`` CPUs, has; each read once.

    CPUs that have no cache of that level, as small cores of some kinds, are in none of them.
    """
    last = max(first, key=lambda cache: cache.level or 0, default=None)
    if last is None or last.level is None or last.cpus is None:
        return None
    found, seen, sets = [last], set(last.cpus), {last.cpus}
    index = last.origin.rpartition("/")[2]
    for number in online:
        if number in seen:
            continue
        folder = f"{CPUS}/cpu{number}/cache"
        if index not in (host.names(folder) or ()):
            continue
        cache = _cache(host, f"{folder}/{index}")
        if cache.cpus is None:
            return None
        seen.update((number, *cache.cpus))
        if cache.level == last.level and cache.cpus not in sets:
            sets.add(cache.cpus)
            found.append(cache)
    return tuple(found)


def _cache(host: Host, folder: str) -> Cache:
    """One cache, read only from the files that this kernel has."""
    offered = set(host.names(folder) or ())
    given = not_offered(Cache, offered)
    if "size" in offered:
        given["size_bytes"] = _parsed(host, f"{folder}/size")
    listed = "shared_cpu_list" in offered
    path = f"{folder}/{'shared_cpu_list' if listed else 'shared_cpu_map'}"
    cpus = (
        read_cpulist(host, path, None if listed else parse_cpumask) if listed or "shared_cpu_map" in offered else None
    )
    if cpus == ():
        # Kernels that do not know leave it empty; a cache of nobody there is not.
        host.missed(path, "unsupported")
    given["cpus"] = cpus or None
    if not listed:
        given["origins"] = {"cpus": path}
    return read_fields(host, Cache, folder, **given)


def _parsed(host: Host, path: str) -> int | None:
    """The size in a file."""
    text = host.text(path)
    if text is None:
        return None
    try:
        size = parse_size(text)
    except ValueError:
        size = None
    if size is None:
        host.missed(path, "unsupported")
    return size


def parse_size(text: str) -> int | None:
    """Bytes; ``None`` for 0, which firmware says when it does not know. Raises ValueError. Sample: ``32768K``"""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:20]!r} is no size of a cache")
    return int(found[1]) * 1024 ** " KMG".index(found[2] or " ") or None
