"""How CPUs are clocked: frequency domains, and the clock that a few of them have now.

Format: https://docs.kernel.org/admin-guide/pm/cpufreq.html and https://docs.kernel.org/admin-guide/pm/intel_pstate.html
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, Volatile
from advisor.probes._cpulist import numbered
from advisor.probes._sampled_cpus import SAMPLED, sampled
from advisor.probes._sysfs import not_offered

CPUS = "/sys/devices/system/cpu"


class Policy(Facts):
    """One frequency domain, from its folder ``cpufreq/policyN``."""

    number: int
    driver: Annotated[str | None, File("scaling_driver")] = None
    governor: Annotated[str | None, File("scaling_governor")] = None
    available_governors: Annotated[tuple[str, ...] | None, File("scaling_available_governors")] = None
    energy_preference: Annotated[
        str | None, File("energy_performance_preference"), "hint to the hardware (EPP): a word or 0..255"
    ] = None
    available_energy_preferences: Annotated[
        tuple[str, ...] | None, File("energy_performance_available_preferences")
    ] = None
    min_hertz: Annotated[int | None, File("cpuinfo_min_freq", scale=1000), "the slowest the hardware can do"] = None
    max_hertz: Annotated[int | None, File("cpuinfo_max_freq", scale=1000), "what the hardware can do"] = None
    allowed_min_hertz: Annotated[int | None, File("scaling_min_freq", scale=1000), "the slowest policy allows"] = None
    allowed_max_hertz: Annotated[int | None, File("scaling_max_freq", scale=1000), "what policy allows"] = None


class Clock(Facts):
    """The clock of one frequency domain now."""

    read_from: ClassVar[str] = "/sys/devices/system/cpu/cpufreq/policy*"
    number: int
    hertz: Annotated[int | None, File("scaling_cur_freq", scale=1000), Volatile(), "now; idle CPUs clock low"] = None


CLOCK_FILES = tuple(f"{CPUS}/cpufreq/policy{number}/scaling_cur_freq" for number in SAMPLED)


def read_policies(host: Host, numbers: tuple[int, ...]) -> tuple[Policy, ...] | None:
    """The frequency domains; kernels before 4.3 keep them in the folders of the CPUs."""
    names = host.names(f"{CPUS}/cpufreq")
    folders = [(n, f"{CPUS}/cpufreq/policy{n}") for n in numbered(names or (), "policy")]
    if not folders and numbers and "cpufreq" in (host.names(f"{CPUS}/cpu{numbers[0]}") or ()):
        folders = [(n, f"{CPUS}/cpu{n}/cpufreq") for n in numbers]
    if not folders and names is None and not (numbers and host.gaps.get(f"{CPUS}/cpufreq") == "absent"):
        return None
    return tuple(_policy(host, number, folder) for number, folder in folders)


def _policy(host: Host, number: int, folder: str) -> Policy:
    """One domain, read only from the files that its driver offers."""
    offered = set(host.names(folder) or ())
    given = not_offered(Policy, offered)
    given["available_governors"] = _words(host, folder, offered, "scaling_available_governors")
    given["available_energy_preferences"] = _words(host, folder, offered, "energy_performance_available_preferences")
    return read_fields(host, Policy, folder, number=number, **given)


def _words(host: Host, folder: str, offered: set[str], name: str) -> tuple[str, ...] | None:
    text = host.text(f"{folder}/{name}") if name in offered else None
    return None if text is None else tuple(text.split())


def read_clocks(host: Host, policies: tuple[Policy, ...] | None) -> tuple[Clock, ...] | None:
    """The clocks of a few domains: some drivers measure for 10 milliseconds each time the file is read."""
    if policies is None:
        return None
    folders = {policy.number: policy.origin for policy in policies if policy.origin.startswith(f"{CPUS}/cpufreq/")}
    return tuple(read_fields(host, Clock, folders[n], number=n) for n in sampled(folders))
