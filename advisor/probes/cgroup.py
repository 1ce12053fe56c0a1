"""The control group of this process: how much CPU time, memory and how many tasks it may have.

A limit of any ancestor binds too, so each limit is the smallest on the way up to the mount point.
Formats: https://docs.kernel.org/admin-guide/cgroup-v2.html and https://docs.kernel.org/admin-guide/cgroup-v1/
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, GapState, Seen, Volatile
from advisor.probes._cgroup_folders import CGROUP, CPUSET, Groups, Membership, groups_of, look, parse_cgroup, unseen
from advisor.probes._collected import Collected
from advisor.probes._cpulist import parse_cpulist
from advisor.probes._mountinfo import read_mountinfo

UNLIMITED = 1 << 60
"""v1 prints the largest multiple of the page size for "no limit"; it differs with the page size."""


@dataclass(frozen=True)
class Bound:
    """The smallest value on the way up: ``limited`` false when no group sets one, ``None`` when not known."""

    limited: bool | None
    value: float | None = None
    folder: str = ""
    """The group that binds; else the process's own."""
    path: str = ""
    """The file that says so."""


class Cgroup(Facts):
    """Limits of this process's control group and of all its ancestors."""

    read_from: ClassVar[str] = "/sys/fs/cgroup/*, /proc/self/cgroup"
    seen: ClassVar[Seen | None] = "own"
    version: Annotated[str | None, "v1, v2, or hybrid: some controllers in each"] = None
    user_session: Annotated[
        bool | None, "it belongs to a login of its user (user.slice), which lasts as long as what runs in it"
    ] = None
    cpu_limited: Annotated[bool | None, "whether a CPU quota binds"] = None
    cpu_quota_cpus: Annotated[float | None, "CPU time per time, in CPUs; only when limited"] = None
    cpu_periods: Annotated[int | None, Counter(), "quota periods that had runnable tasks, since creation"] = None
    cpu_throttled_periods: Annotated[int | None, Counter(), "periods in which the quota ran out"] = None
    cpu_throttled_usecs: Annotated[int | None, Counter(), "microseconds that tasks were held back"] = None
    cpuset_cpus: Annotated[tuple[int, ...] | None, "CPUs of the effective cpuset"] = None
    cpuset_mems: Annotated[tuple[int, ...] | None, "NUMA nodes of the effective cpuset"] = None
    memory_high_bytes: Annotated[int | None, "the group is slowed down above this; only when set (v2)"] = None
    memory_limited: Annotated[bool | None, "whether a memory limit binds"] = None
    memory_limit_bytes: Annotated[int | None, "the smallest limit; only when limited"] = None
    memory_used_bytes: Annotated[
        int | None, Volatile(), "memory charged to the group whose limit binds, page cache included"
    ] = None
    memory_headroom_bytes: Annotated[
        int | None, Volatile(), "least of limit minus use without idle page cache; only when limited"
    ] = None
    memory_swap_limited: Annotated[bool | None, "whether a limit of swap binds (v2)"] = None
    memory_swap_limit_bytes: Annotated[int | None, "the smallest limit of swap; only when limited (v2)"] = None
    memory_and_swap_limit_bytes: Annotated[
        int | None, "the smallest limit of memory and swap together; only when limited (v1)"
    ] = None
    memory_shmem_bytes: Annotated[int | None, Volatile(), "shared memory and tmpfs charged to the own group"] = None
    memory_dirty_bytes: Annotated[int | None, Volatile(), "of the own group, waiting to be written to disk"] = None
    memory_limit_hits: Annotated[int | None, Counter(), "times that use reached the own group's limit"] = None
    memory_high_hits: Annotated[int | None, Counter(), "times that the own group was slowed down (v2)"] = None
    memory_ooms: Annotated[int | None, Counter(), "times that a limit left no memory to be had (v2)"] = None
    oom_kills: Annotated[int | None, Counter(), "tasks killed for want of memory, since creation"] = None
    pids_limited: Annotated[bool | None, "whether the number of tasks is limited"] = None
    pids_max: Annotated[int | None, "the smallest limit of tasks; only when limited"] = None
    pids_current: Annotated[int | None, Volatile(), "tasks in the group whose limit binds"] = None


FILES = (
    *("cpu.max", "cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuset.cpus.effective", "cpuset.mems.effective"),
    *("cpuset.effective_cpus", "cpuset.effective_mems", "effective_cpus", "effective_mems", "cpuset.cpus"),
    *("cpuset.mems", "cpus", "mems", "memory.max", "memory.high", "memory.current", "memory.events", "memory.stat"),
    *("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control", "pids.max", "pids.current"),
    *("memory.swap.max", "memory.swap.current", "memory.failcnt", "memory.memsw.limit_in_bytes"),
)
"""The files read in each folder of this process's control groups, which the collector finds by itself."""
COLLECTED = Collected(folders=(("/sys/fs/cgroup", ""),), files=("/proc/self/cpuset",))


def read(host: Host) -> Cgroup:
    """The control group of the reader's process on ``host``."""
    text = host.text(CGROUP)
    if text is None and host.gaps.get(CGROUP) == "absent":
        # A kernel without control groups limits nothing.
        return Cgroup(origin=CGROUP, cpu_limited=False, memory_limited=False, pids_limited=False)
    member = _membership(host, text)
    mounts = read_mountinfo(host)
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for read_part, name in ((_cpu, "cpu"), (_cpuset, "cpuset"), (_memory, "memory"), (_pids, "pids")):
        found = groups_of(host, name, member, mounts or ())
        if found is not None:
            read_part(host, found, values, origins)
        else:
            if text is not None and member.v2 is None and name not in member.v1 and name != "cpuset":
                # No hierarchy has this controller, so nobody can have set a limit.
                values[f"{name}_limited"] = False
                continue
            path = CGROUP if text is None else unseen(host, name, member, mounts)
            origins.update((field, path) for field in Cgroup.model_fields if field.startswith(name + "_"))
    version, session = (None, None) if text is None else (_version(member), in_session(text))
    return Cgroup(origin=CGROUP, version=version, user_session=session, **values, origins=origins)  # type: ignore[arg-type]


def in_session(text: str) -> bool:
    """Whether a ``/proc/PID/cgroup`` is of a login of a user, or of that user's own services.

    Sample: ``0::/user.slice/user-1000.slice/session-3.scope``
    """
    return re.search(r"/user-\d+\.slice/", text, re.ASCII) is not None


def _membership(host: Host, text: str | None) -> Membership:
    """The groups of this process; kernels and dumps without /proc/self/cgroup may have its cpuset."""
    if text is not None:
        return parse_cgroup(text)
    cpuset = host.text(CPUSET)
    return Membership({} if cpuset is None else {"cpuset": cpuset.strip()}, None)


def _version(member: Membership) -> str | None:
    if member.v2 is None:
        return "v1" if member.v1 else None
    return "hybrid" if member.v1 else "v2"


def _least(
    host: Host, groups: Groups, name: str, parse: Callable[[str, str], float | None], at_root: bool = False
) -> Bound:
    """The smallest limit in the files ``name`` of all groups; ``at_root``: also the real root has this file.

    ``parse`` gets a text and its folder, and gives ``None`` for "no limit". Raises ValueError for nonsense.
    """
    known: list[tuple[float, str]] = []
    looked = False
    for folder in groups.folders:
        path = f"{folder}/{name}"
        text, gap = look(host, path)
        if text is None:
            top = folder == groups.folders[-1] and groups.at_root and looked and not at_root
            if gap != "absent" and not (gap == "not captured" and top):
                return _unknown(host, path, gap)
            continue
        looked = True
        try:
            value = parse(text, folder)
        except ValueError:
            return _unknown(host, path, "unsupported")
        if value is not None:
            known.append((value, folder))
    if not known:
        return Bound(False, folder=groups.folders[0], path=groups.folders[-1])
    value, folder = min(known)
    return Bound(True, value, folder, f"{folder}/{name}")


def _unknown(host: Host, path: str, gap: GapState | None) -> Bound:
    host.missed(path, gap or "error")
    return Bound(None, path=path, folder=path.rpartition("/")[0])


def _cpu(host: Host, groups: Groups, values: dict[str, object], origins: dict[str, str]) -> None:
    if groups.v2:
        bound = _least(host, groups, "cpu.max", lambda text, _: parse_cpu_max(text))
    else:
        bound = _least(host, groups, "cpu.cfs_quota_us", lambda text, folder: _v1_quota(host, text, folder))
    stat, _ = look(host, f"{bound.folder}/cpu.stat")
    counters = parse_keyed(stat or "")
    values |= {
        "cpu_limited": bound.limited,
        "cpu_quota_cpus": bound.value,
        "cpu_periods": counters.get("nr_periods"),
        "cpu_throttled_periods": counters.get("nr_throttled"),
        "cpu_throttled_usecs": _throttled(counters),
    }
    origins |= dict.fromkeys(("cpu_limited", "cpu_quota_cpus"), bound.path)
    origins |= dict.fromkeys(
        ("cpu_periods", "cpu_throttled_periods", "cpu_throttled_usecs"), f"{bound.folder}/cpu.stat"
    )


def _throttled(counters: Mapping[str, int]) -> int | None:
    """Microseconds; v1 counts nanoseconds."""
    nanoseconds = counters.get("throttled_time")
    return counters.get("throttled_usec") if nanoseconds is None else nanoseconds // 1000


def _v1_quota(host: Host, text: str, folder: str) -> float | None:
    quota = int(text)
    if quota < 0:
        return None
    period, _ = look(host, f"{folder}/cpu.cfs_period_us")
    return _share(quota, int(period or ""))


def parse_cpu_max(text: str) -> float | None:
    """CPUs that the quota allows, ``None`` for no limit. Raises ValueError.

    Samples: ``max 100000``, ``250000 100000``
    """
    words = text.split()
    if len(words) != 2:
        raise ValueError(f"{text!r} is not a quota and a period")
    return None if words[0] == "max" else _share(int(words[0]), int(words[1]))


def _share(quota: int, period: int) -> float:
    if quota <= 0 or period <= 0:
        raise ValueError("quota and period must be above 0")
    return quota / period


def parse_bytes(text: str) -> int | None:
    """A limit, ``None`` for no limit. Raises ValueError. Samples: ``max``, ``17179869184``, ``9223372036854771712``"""
    text = text.strip()
    value = UNLIMITED if text == "max" else int(text)
    if value < 0:
        raise ValueError(f"{text!r} is no size")
    return None if value >= UNLIMITED else value


def parse_keyed(text: str) -> Mapping[str, int]:
    """Counters by name. Sample: ``nr_throttled 12``"""
    found = (re.fullmatch(r"(\w+) (\d{1,20})", line, re.ASCII) for line in text.split("\n"))
    return {line[1]: int(line[2]) for line in found if line}


def _cpuset(host: Host, groups: Groups, values: dict[str, object], origins: dict[str, str]) -> None:
    """The effective lists of the nearest group that has them: a group without the controller uses its parent's."""
    for field, what in (("cpuset_cpus", "cpus"), ("cpuset_mems", "mems")):
        v1 = (f"cpuset.effective_{what}", f"effective_{what}", f"cpuset.{what}", what)
        names = (f"cpuset.{what}.effective",) if groups.v2 else v1
        path, values[field] = _nearest_list(host, groups, names)
        origins[field] = path


def _nearest_list(host: Host, groups: Groups, names: tuple[str, ...]) -> tuple[str, tuple[int, ...] | None]:
    why: GapState = "absent"
    for folder in groups.folders:
        for name in names:
            path = f"{folder}/{name}"
            text, gap = look(host, path)
            if text is not None:
                try:
                    return path, parse_cpulist(text)
                except ValueError:
                    host.missed(path, "unsupported")
                    return path, None
            if gap not in ("absent", "not captured"):
                host.missed(path, gap or "error")
                return path, None
            why = gap if gap == "not captured" else why
    path = f"{groups.folders[0]}/{names[0]}"
    host.missed(path, why)
    return path, None


def _memory(host: Host, groups: Groups, values: dict[str, object], origins: dict[str, str]) -> None:
    v2 = groups.v2
    limit, usage = ("memory.max", "memory.current") if v2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    bound = _least(host, groups, limit, lambda text, _: parse_bytes(text), at_root=not v2)
    own = parse_keyed(look(host, f"{groups.folders[0]}/memory.stat")[0] or "")
    bound = _with_unseen(bound, own.get("hierarchical_memory_limit"), groups)
    used = _size(host, f"{bound.folder}/{usage}")
    kills = f"{groups.folders[0]}/{'memory.events' if v2 else 'memory.oom_control'}"
    values |= {
        "memory_limited": bound.limited,
        "memory_limit_bytes": None if bound.value is None else int(bound.value),
        "memory_used_bytes": used,
        "oom_kills": parse_keyed(look(host, kills)[0] or "").get("oom_kill"),
    }
    origins |= dict.fromkeys(("memory_limited", "memory_limit_bytes"), bound.path)
    origins |= {"memory_headroom_bytes": bound.path, "memory_high_bytes": bound.path}
    origins |= {"memory_used_bytes": f"{bound.folder}/{usage}", "oom_kills": kills}
    if bound.limited:
        room = _least(host, groups, limit, lambda text, folder: _headroom(host, parse_bytes(text), folder, v2))
        values["memory_headroom_bytes"] = None if room.value is None else int(room.value)
        origins["memory_headroom_bytes"] = room.path
    _memory_use(host, groups, own, values, origins)
    _swap_limits(host, groups, values, origins)
    if v2:
        high = _least(host, groups, "memory.high", lambda text, _: parse_bytes(text))
        values["memory_high_bytes"] = None if high.value is None else int(high.value)
        origins["memory_high_bytes"] = high.path


def _with_unseen(bound: Bound, hierarchical: int | None, groups: Groups) -> Bound:
    """``bound``, or the limit that v1 counts over all ancestors: a container does not see them all."""
    if hierarchical is None or hierarchical >= UNLIMITED or bound.limited is None:
        return bound
    if bound.value is not None and bound.value <= hierarchical:
        return bound
    folder = groups.folders[0]
    return Bound(True, hierarchical, folder, f"{folder}/memory.stat")


def _memory_use(
    host: Host, groups: Groups, stat: Mapping[str, int], values: dict[str, object], origins: dict[str, str]
) -> None:
    """What the own group's memory is used for, and how often it had too little."""
    folder = groups.folders[0]
    names = ("shmem", "file_dirty") if groups.v2 else ("total_shmem", "total_dirty")
    for field, name in zip(("memory_shmem_bytes", "memory_dirty_bytes"), names, strict=True):
        values[field], origins[field] = stat.get(name), f"{folder}/memory.stat"
    if groups.v2:
        path = f"{folder}/memory.events"
        events = parse_keyed(look(host, path)[0] or "")
        values |= {"memory_high_hits": events.get("high"), "memory_ooms": events.get("oom")}
        hits = events.get("max")
    else:
        path = f"{folder}/memory.failcnt"
        hits = _size(host, path)
    values["memory_limit_hits"] = hits
    origins |= dict.fromkeys(("memory_limit_hits", "memory_high_hits", "memory_ooms"), path)


def _swap_limits(host: Host, groups: Groups, values: dict[str, object], origins: dict[str, str]) -> None:
    """Limits of swap; kernels that do not count it have no such files."""
    if not groups.v2:
        both = _least(host, groups, "memory.memsw.limit_in_bytes", lambda text, _: parse_bytes(text), at_root=True)
        values["memory_and_swap_limit_bytes"] = None if both.value is None else int(both.value)
        origins["memory_and_swap_limit_bytes"] = both.path
        return
    swap = _least(host, groups, "memory.swap.max", lambda text, _: parse_bytes(text))
    values |= {
        "memory_swap_limited": swap.limited,
        "memory_swap_limit_bytes": None if swap.value is None else int(swap.value),
    }
    origins |= dict.fromkeys(("memory_swap_limited", "memory_swap_limit_bytes"), swap.path)


def _headroom(host: Host, limit: int | None, folder: str, v2: bool) -> int | None:
    """Bytes that the group may still take. Page cache that nobody used lately gives way and is not counted as use."""
    if limit is None:
        return None
    used = _size(host, f"{folder}/{'memory.current' if v2 else 'memory.usage_in_bytes'}")
    if used is None:
        raise ValueError("use is not known")
    stat = parse_keyed(look(host, f"{folder}/memory.stat")[0] or "")
    idle = stat.get("inactive_file" if v2 else "total_inactive_file", 0)
    return max(0, limit - max(0, used - idle))


def _size(host: Host, path: str) -> int | None:
    text, _ = look(host, path)
    return int(text) if text is not None and re.fullmatch(r"\d{1,20}", text, re.ASCII) else None


def _pids(host: Host, groups: Groups, values: dict[str, object], origins: dict[str, str]) -> None:
    bound = _least(host, groups, "pids.max", lambda text, _: parse_bytes(text))
    values |= {
        "pids_limited": bound.limited,
        "pids_max": None if bound.value is None else int(bound.value),
        "pids_current": _size(host, f"{bound.folder}/pids.current"),
    }
    origins |= dict.fromkeys(("pids_limited", "pids_max"), bound.path)
    origins["pids_current"] = f"{bound.folder}/pids.current"
