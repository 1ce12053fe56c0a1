"""CPUs: which there are, how they share cores and packages, which this process may use, how they are clocked.

Formats: https://docs.kernel.org/admin-guide/cputopology.html and https://docs.kernel.org/admin-guide/pm/cpufreq.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File

ORIGIN = "/sys/devices/system/cpu"


class LogicalCpu(Facts):
    """One logical CPU, from its folder ``cpuN``."""

    number: int
    online: Annotated[bool | None, File("online"), "whether the kernel runs tasks on it"] = None
    package: Annotated[int | None, File("topology/physical_package_id", unknown=("-1",)), "socket id, as is"] = None
    die: Annotated[int | None, File("topology/die_id", unknown=("-1",)), "die id within the socket"] = None
    core: Annotated[int | None, File("topology/core_id", unknown=("-1",)), "core id, unique within its die"] = None
    siblings: Annotated[
        tuple[int, ...] | None, File("topology/thread_siblings_list"), "online CPUs of its core, itself included"
    ] = None


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
    max_hertz: Annotated[int | None, File("cpuinfo_max_freq", scale=1000), "what the hardware can do"] = None
    allowed_max_hertz: Annotated[int | None, File("scaling_max_freq", scale=1000), "what policy allows"] = None


class Cpu(Facts):
    """All CPUs of the host and the share of them that this process may use."""

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
    affinity: Annotated[tuple[int, ...] | None, "CPUs that this process may run on"] = None
    policies: Annotated[tuple[Policy, ...] | None, "frequency domains; none in most VMs"] = None
    intel_pstate_status: Annotated[str | None, File("intel_pstate/status"), "active, passive or off"] = None
    amd_pstate_status: Annotated[str | None, File("amd_pstate/status"), "active, passive, guided or disable"] = None
    no_turbo: Annotated[bool | None, File("intel_pstate/no_turbo"), "true: turbo is switched OFF"] = None
    boost: Annotated[bool | None, File("cpufreq/boost"), "true: boost is switched ON"] = None
    idle_driver: Annotated[str | None, File("cpuidle/current_driver"), "none in most VMs"] = None
    model: Annotated[str | None, "the maker's name of the CPU"] = None
    vendor: Annotated[str | None, "GenuineIntel, AuthenticAMD, or ARM's implementer code"] = None
    architecture: Annotated[str | None, "x86_64, aarch64, ppc64le ..."] = None
    hypervisor_flag: Annotated[bool | None, "x86: the CPU says that it is virtual"] = None


def read(host: Host) -> Cpu:
    """The CPUs of ``host``."""
    return Cpu(origin=ORIGIN)
