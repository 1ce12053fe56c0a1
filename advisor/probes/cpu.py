"""CPUs: which there are, how they share cores and packages, which this process may use, how they are clocked.

Formats: https://docs.kernel.org/admin-guide/cputopology.html and https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from typing import Annotated, ClassVar

from advisor.host.base import AFFINITY, Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Seen, SeenAs
from advisor.probes._caches import FILES as CACHE_FILES
from advisor.probes._caches import Cache, read_caches, read_last_level
from advisor.probes._collected import Collected
from advisor.probes._cpuinfo import (
    CPUINFO,
    UNAME,
    hypervisor_flag,
    read_architecture,
    read_first_cpu,
    read_processors,
)
from advisor.probes._cpulist import numbered, parse_cpulist, parse_cpumask, read_cpulist
from advisor.probes._frequency import CLOCK_FILES, Clock, Policy, read_clocks, read_policies
from advisor.probes._idle import IdleState, read_idle_states
from advisor.probes._sampled_cpus import SAMPLED, sampled
from advisor.probes._throttle import COUNTERS, Throttles, read_throttles

ORIGIN = "/sys/devices/system/cpu"
VULNERABILITIES = f"{ORIGIN}/vulnerabilities"
STATUS = "/proc/self/status"
_LISTS = ("present", "possible", "isolated", "nohz_full")
SIBLINGS = ("thread_siblings_list", "core_cpus_list", "thread_siblings")
"""The CPUs of one core: its name in all kernels since 2.6.30, its new name, and the mask that older kernels have."""
PACKAGE_CPUS = ("core_siblings_list", "package_cpus_list", "core_siblings")


class LogicalCpu(Facts):
    """One logical CPU, from its folder ``cpuN``."""

    number: int
    online: Annotated[bool | None, "whether the kernel runs tasks on it"] = None
    package: Annotated[int | None, File("topology/physical_package_id", unknown=("-1",)), "socket id, as is"] = None
    die: Annotated[int | None, File("topology/die_id", unknown=("-1",)), "die id within the socket"] = None
    core: Annotated[int | None, File("topology/core_id", unknown=("-1",)), "core id, unique within its die"] = None
    siblings: Annotated[
        tuple[int, ...] | None, File("topology/thread_siblings_list"), "online CPUs of its core, itself included"
    ] = None


class Vulnerability(Facts):
    """What the kernel says about one flaw of CPUs, from its file in ``vulnerabilities``."""

    read_from: ClassVar[str] = "/sys/devices/system/cpu/vulnerabilities/*"
    name: str
    status: Annotated[str | None, "the kernel's words: Not affected, Mitigation: ..., Vulnerable ..."] = None


class Cpu(Facts):
    """All CPUs of the host and the share of them that this process may use."""

    seen: ClassVar[Seen | None] = "host"
    online: Annotated[tuple[int, ...] | None, File("online"), "CPUs that run tasks"] = None
    present: Annotated[tuple[int, ...] | None, File("present"), "CPUs that are plugged in"] = None
    possible: Annotated[tuple[int, ...] | None, File("possible"), "CPUs that could be plugged in"] = None
    offline: Annotated[
        tuple[int, ...] | None, File("offline"), "CPUs that exist and are switched off; empty slots are not counted"
    ] = None
    isolated: Annotated[
        tuple[int, ...] | None, File("isolated"), "CPUs taken from the scheduler by isolcpus= or a partition"
    ] = None
    nohz_full: Annotated[tuple[int, ...] | None, File("nohz_full"), "CPUs that run without a tick"] = None
    cpus: Annotated[tuple[LogicalCpu, ...] | None, "every CPU that has a folder, online or not, by number"] = None
    packages: Annotated[int | None, "sockets with an online CPU"] = None
    cores: Annotated[int | None, "physical cores with an online CPU"] = None
    smt_active: Annotated[bool | None, File("smt/active"), "whether a core runs several threads now"] = None
    smt_control: Annotated[str | None, File("smt/control"), "on, off, forceoff, notsupported ..."] = None
    affinity: Annotated[tuple[int, ...] | None, SeenAs("own"), "CPUs that this process may run on"] = None
    caches: Annotated[tuple[Cache, ...] | None, "caches of one CPU that stands for all, by level"] = None
    last_level_caches: Annotated[
        tuple[Cache, ...] | None, "every cache of that CPU's highest level; CPUs without one are in none"
    ] = None
    policies: Annotated[tuple[Policy, ...] | None, "frequency domains; none in most VMs"] = None
    clocks: Annotated[tuple[Clock, ...] | None, "clocks of a few frequency domains"] = None
    intel_pstate_status: Annotated[str | None, File("intel_pstate/status"), "active, passive or off"] = None
    amd_pstate_status: Annotated[str | None, File("amd_pstate/status"), "active, passive, guided or disable"] = None
    min_performance_percent: Annotated[int | None, File("intel_pstate/min_perf_pct"), "of the highest clock"] = None
    max_performance_percent: Annotated[int | None, File("intel_pstate/max_perf_pct"), "of the highest clock"] = None
    no_turbo: Annotated[bool | None, File("intel_pstate/no_turbo"), "true: turbo is switched OFF"] = None
    boost: Annotated[bool | None, File("cpufreq/boost"), "true: boost is switched ON"] = None
    idle_driver: Annotated[str | None, File("cpuidle/current_driver"), "none in most VMs"] = None
    idle_governor: Annotated[str | None, File("cpuidle/current_governor_ro"), "menu, teo, ladder, haltpoll"] = None
    idle_states: Annotated[tuple[IdleState, ...] | None, "states of one CPU that stands for all; none in VMs"] = None
    idle_states_differ: Annotated[bool | None, "among a few CPUs not all have the same states switched off"] = None
    throttles: Annotated[Throttles | None, "how often heat slowed CPUs down"] = None
    vulnerabilities: Annotated[tuple[Vulnerability, ...] | None, "flaws that the kernel knows of"] = None
    model: Annotated[str | None, "the maker's name of the CPU"] = None
    vendor: Annotated[str | None, "GenuineIntel, AuthenticAMD, or ARM's implementer code"] = None
    architecture: Annotated[str | None, "x86_64, aarch64, ppc64le ..."] = None
    hypervisor_flag: Annotated[bool | None, "x86: the CPU says that it is virtual"] = None


COLLECTED = Collected(
    models=(
        (ORIGIN, Cpu),
        (f"{ORIGIN}/cpu[0-9]*", LogicalCpu),
        (f"{ORIGIN}/cpufreq/policy*", Policy),
        (f"{ORIGIN}/cpu[0-9]*/cpufreq", Policy),
        *((f"{ORIGIN}/cpu{number}/cpuidle/state[0-9]*", IdleState) for number in SAMPLED),
    ),
    folders=(
        (f"{ORIGIN}/cpu[0-9]*", "online"),
        (f"{ORIGIN}/cpu[0-9]*/topology", " ".join(["core_id", *SIBLINGS, *PACKAGE_CPUS])),
        (f"{ORIGIN}/cpufreq", ""),
        *((f"{ORIGIN}/cpu{number}/cpuidle", "") for number in SAMPLED),
        (f"{ORIGIN}/cpu[0-9]*/cache", ""),
        (f"{ORIGIN}/cpu[0-9]*/cache/index[2-9]", CACHE_FILES),
        *((f"{ORIGIN}/cpu{number}/cache/index[01]", CACHE_FILES) for number in SAMPLED),
        (f"{ORIGIN}/cpu[0-9]*/thermal_throttle", " ".join(COUNTERS)),
        (VULNERABILITIES, "*"),
    ),
    files=CLOCK_FILES,
    large_files=("/proc/cpuinfo", "/proc/self/status"),
    commands=(UNAME,),
)


def read(host: Host) -> Cpu:
    """The CPUs of ``host``."""
    numbers = numbered(host.names(ORIGIN) or (), "cpu")
    lists: dict[str, tuple[int, ...] | None] = {name: read_cpulist(host, f"{ORIGIN}/{name}") for name in _LISTS}
    origins: dict[str, str] = {}
    online = _online(host, numbers, origins)
    folders = _topology_files(host, online or numbers)
    cpus = tuple(_logical_cpu(host, number, folders, _is_online(number, online)) for number in numbers) or None
    fields = read_first_cpu(host)
    architecture, origins["architecture"] = read_architecture(host, fields)
    origins.update(dict.fromkeys(("model", "vendor", "hypervisor_flag"), CPUINFO))
    affinity, origins["affinity"] = _affinity(host)
    running = tuple(cpu for cpu in cpus or () if cpu.online is not False)
    origins |= _places(sampled(cpu.number for cpu in running))
    policies = read_policies(host, numbers)
    return read_fields(
        host,
        Cpu,
        ORIGIN,
        **lists,
        online=online,
        offline=_offline(host, numbers, online),
        cpus=cpus,
        packages=_packages(host, running, folders),
        cores=_cores(running),
        **_smt(host, running, origins),
        affinity=affinity,
        policies=policies,
        clocks=read_clocks(host, policies),
        **_caches(host, running),
        **_idle(host, running),
        throttles=read_throttles(host, [(cpu.number, core_of(cpu), cpu.package) for cpu in running]),
        vulnerabilities=_vulnerabilities(host),
        architecture=architecture,
        **_identity(fields),
        origins=origins,
    )


def _online(host: Host, numbers: tuple[int, ...], origins: dict[str, str]) -> tuple[int, ...] | None:
    """The online CPUs: the kernel's list, else each CPU's own file, else all that have a folder or are in cpuinfo."""
    listed = read_cpulist(host, f"{ORIGIN}/online")
    if listed is not None:
        return listed
    if not numbers:
        origins["online"] = CPUINFO
        return read_processors(host)
    # A CPU that cannot be switched off (cpu0, or any on a kernel without hotplug) has no such file and is online.
    origins["online"] = ORIGIN
    return tuple(n for n in numbers if _text_if_there(host, f"{ORIGIN}/cpu{n}", "online") != "0")


def _text_if_there(host: Host, folder: str, name: str) -> str | None:
    """The text of a file; asked for only when its folder lists it, so that it leaves no gap."""
    return host.text(f"{folder}/{name}") if name in (host.names(folder) or ()) else None


def _is_online(number: int, online: tuple[int, ...] | None) -> bool | None:
    return None if online is None else number in online


def _offline(host: Host, numbers: tuple[int, ...], online: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The CPUs that have a folder and are not online: the kernel's own list names empty slots too."""
    if not numbers or online is None:
        return None
    return tuple(n for n in numbers if n not in set(online))


def _topology_files(host: Host, numbers: tuple[int, ...]) -> frozenset[str]:
    """Names of the files that this kernel has in ``cpuN/topology``; the first and last CPU stand for all."""
    names: set[str] = set()
    for number in {*numbers[:1], *numbers[-1:]}:
        names.update(host.names(f"{ORIGIN}/cpu{number}/topology") or ())
    return frozenset(names)


def _logical_cpu(host: Host, number: int, files: frozenset[str], online: bool | None) -> LogicalCpu:
    """One CPU. Its topology is read only while it is online, and only from files that this kernel has."""
    folder = f"{ORIGIN}/cpu{number}"
    given: dict[str, object] = {"number": number, "online": online}
    if online is False or not files:
        return LogicalCpu(origin=folder, **given)  # type: ignore[arg-type]
    for name, file in (("package", "physical_package_id"), ("die", "die_id"), ("core", "core_id")):
        if file not in files:
            given[name] = None
    source, given["siblings"] = _cpus_in(host, f"{folder}/topology", SIBLINGS, files)
    if source not in (None, SIBLINGS[0]):
        given["origins"] = {"siblings": f"{folder}/topology/{source}"}
    return read_fields(host, LogicalCpu, folder, **given)


def _cpus_in(
    host: Host, folder: str, names: tuple[str, ...], files: frozenset[str]
) -> tuple[str | None, tuple[int, ...] | None]:
    """The first of the files ``names`` that this kernel has, and the CPUs it lists (the last name is a mask)."""
    name = next((name for name in names if name in files), None)
    if name is None:
        return None, None
    return name, read_cpulist(host, f"{folder}/{name}", parse_cpumask if name == names[-1] else None)


def _packages(host: Host, cpus: tuple[LogicalCpu, ...], files: frozenset[str]) -> int | None:
    """Sockets, counted as lscpu does: different sets of CPUs in a package; by package id without such sets."""
    seen: set[int] = set()
    count = 0
    for cpu in cpus:
        if cpu.number in seen:
            continue
        _, together = _cpus_in(host, f"{cpu.origin}/topology", PACKAGE_CPUS, files)
        if not together:
            break
        seen.update((cpu.number, *together))
        count += 1
    else:
        return count or None
    return len({cpu.package for cpu in cpus if cpu.package is not None}) or None


def _cores(cpus: tuple[LogicalCpu, ...]) -> int | None:
    """Physical cores that run at least one CPU; ``None`` when the kernel does not tell."""
    if not cpus or any(core_of(cpu) is None for cpu in cpus):
        return None
    return len({core_of(cpu) for cpu in cpus})


def core_of(cpu: LogicalCpu) -> tuple[int | None, ...] | None:
    """A key that CPUs of one core share and others do not; ``None`` when it is not known."""
    if cpu.siblings:
        return (min(cpu.siblings),)
    return None if cpu.core is None else (cpu.package, cpu.die, cpu.core)


def _smt(host: Host, cpus: tuple[LogicalCpu, ...], origins: dict[str, str]) -> dict[str, bool | None]:
    """Whether SMT is in use; read off the siblings where the kernel has no switch for it."""
    if "smt" in (host.names(ORIGIN) or ()):
        return {}
    origins["smt_active"] = ORIGIN
    if not cpus or any(cpu.siblings is None for cpu in cpus):
        return {"smt_active": None}
    return {"smt_active": any(len(cpu.siblings or ()) > 1 for cpu in cpus)}


def _affinity(host: Host) -> tuple[tuple[int, ...] | None, str]:
    """The CPUs that this process may run on, and where that was read."""
    if (allowed := host.affinity()) is not None:
        return tuple(sorted(allowed)), AFFINITY
    return read_cpulist(host, STATUS, parse_allowed_cpus), STATUS


def parse_allowed_cpus(text: str) -> tuple[int, ...]:
    r"""The CPUs in a ``/proc/PID/status``. Raises ValueError. Sample line: ``Cpus_allowed_list:\t0-3``"""
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        if name == "Cpus_allowed_list":
            return parse_cpulist(value)
    raise ValueError("no line Cpus_allowed_list")


def _places(few: tuple[int, ...]) -> dict[str, str]:
    """Where is looked for what CPUs have in folders of their own."""
    folder = f"{ORIGIN}/cpu{few[0] if few else 0}"
    origins = {"caches": f"{folder}/cache", "last_level_caches": f"{folder}/cache", "idle_states": f"{folder}/cpuidle"}
    origins |= {"idle_states_differ": f"{folder}/cpuidle", "throttles": f"{folder}/thermal_throttle"}
    return origins | {
        "policies": f"{ORIGIN}/cpufreq",
        "clocks": f"{ORIGIN}/cpufreq",
        "vulnerabilities": VULNERABILITIES,
    }


def _caches(host: Host, running: tuple[LogicalCpu, ...]) -> dict[str, tuple[Cache, ...] | None]:
    numbers = [cpu.number for cpu in running]
    few = sampled(numbers)
    caches = read_caches(host, few[0]) if few else None
    return {"caches": caches, "last_level_caches": caches and read_last_level(host, caches, numbers)}


def _idle(host: Host, running: tuple[LogicalCpu, ...]) -> dict[str, object]:
    states, differ = read_idle_states(host, [cpu.number for cpu in running])
    return {"idle_states": states, "idle_states_differ": differ}


def _vulnerabilities(host: Host) -> tuple[Vulnerability, ...] | None:
    names = host.names(VULNERABILITIES)
    if names is None:
        return None
    found = ((name, f"{VULNERABILITIES}/{name}") for name in names)
    return tuple(Vulnerability(origin=path, name=name, status=host.text(path)) for name, path in found)


def _identity(fields: dict[str, str] | None) -> dict[str, object]:
    """Maker, model and the virtual flag out of cpuinfo's fields."""
    if fields is None:
        return {}
    return {
        "model": fields.get("model name") or fields.get("cpu model") or fields.get("cpu") or None,
        "vendor": fields.get("vendor_id") or fields.get("cpu implementer") or None,
        "hypervisor_flag": hypervisor_flag(fields),
    }
