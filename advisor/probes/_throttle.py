"""How often CPUs of x86 were slowed down because they, or their socket, grew too hot.

Format: arch/x86/kernel/cpu/mce/therm_throt.c (cpuN/thermal_throttle).
"""

from collections.abc import Hashable, Iterable
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts

CPUS = "/sys/devices/system/cpu"
COUNTERS = ("core_throttle_count", "package_throttle_count", "count")
"""The last is the name that kernels before 2.6.32 have for the first."""


class Throttles(Facts):
    """Sums over the cores and the sockets since boot. Their growth under load is what counts."""

    read_from: ClassVar[str] = "/sys/devices/system/cpu/cpu*/thermal_throttle"
    cores: Annotated[int | None, Counter(), "times that a core was too hot, over all cores"] = None
    packages: Annotated[int | None, Counter(), "times that a socket was too hot, over all sockets"] = None


def read_throttles(host: Host, cpus: Iterable[tuple[int, Hashable, int | None]]) -> Throttles | None:
    """The sums for the CPUs, each given with its core and its socket; ``None`` where CPUs have no such counters."""
    cores: dict[Hashable, int] = {}
    packages: dict[Hashable, int] = {}
    for number, core, package in cpus:
        cores.setdefault(number if core is None else core, number)
        if package is not None:
            packages.setdefault(package, number)
    first = next(iter(cores.values()), None)
    folder = f"{CPUS}/cpu{first}/thermal_throttle"
    names = None if first is None else host.names(folder)
    if names is None:
        return None
    of_core = COUNTERS[2] if COUNTERS[2] in names else COUNTERS[0]
    return Throttles(
        origin=folder,
        cores=_sum(host, cores.values(), of_core),
        packages=_sum(host, packages.values(), COUNTERS[1]),
        origins={"cores": f"{folder}/{of_core}", "packages": f"{folder}/{COUNTERS[1]}"},
    )


def _sum(host: Host, numbers: Iterable[int], name: str) -> int | None:
    """The sum of one counter; ``None`` when one is not known, or there is no CPU to ask."""
    counts = []
    for number in numbers:
        path = f"{CPUS}/cpu{number}/thermal_throttle/{name}"
        text = host.text(path)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            host.missed(path, "unsupported")
            return None
        counts.append(int(text))
    return sum(counts) if counts else None
