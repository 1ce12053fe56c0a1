"""Clock and distribution: whether the time is kept in step, by what, and which system this is.

Ranks on several nodes compare time stamps (logs, leases, checkpoints); the kernel's own clock source decides what a
time stamp costs: reading hpet or acpi_pm is hundreds of times slower than tsc.
https://docs.kernel.org/admin-guide/sysfs-rules.html, https://docs.kernel.org/admin-guide/tainted-kernels.html
"""

from typing import Annotated, ClassVar

from advisor.host.base import Host, command_origin
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File, HostName, ReadFrom, Seen, SeenAs
from advisor.probes._collected import Collected
from advisor.probes._sysfs import quiet_text

ORIGIN = "/"
SYNCHRONIZED = "/run/systemd/timesync/synchronized"
TIMEDATECTL = ("timedatectl", "show", "-p", "NTPSynchronized", "--value")
"""Whether the kernel holds its clock for kept in step (adjtimex(2)), whichever program does it."""
OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
TAINTED = "/proc/sys/kernel/tainted"
_LONGEST_NAME = 253
HOST_NAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
"""The name in force and the one that is set at boot; nobody misses a name that is not there."""
SOURCES = "/sys/devices/system/clocksource/clocksource0"
TAINTS = (
    "proprietary module", "module forced in", "kernel out of specification", "module forced out", "machine check",
    "bad page", "requested by user", "oops or bug", "ACPI table overridden", "warning", "staging driver",
    "firmware workaround", "module from outside the kernel", "unsigned module", "soft lockup", "live patched",
    "auxiliary", "randomized structs", "in-kernel test",
)  # fmt: skip
"""Meaning of the bits of kernel.tainted, from bit 0 on."""


class System(Facts):
    """Time keeping, and what system this is."""

    read_from: ClassVar[str] = "/"
    seen: ClassVar[Seen | None] = "host"

    timesyncd_synchronized: Annotated[
        bool | None,
        ReadFrom("/run/systemd/timesync/synchronized"),
        SeenAs("masked"),
        "systemd-timesyncd has set the clock; false says nothing where another one does",
    ] = None
    clock_synchronized: Annotated[
        bool | None,
        ReadFrom("command: timedatectl show"),
        SeenAs("masked"),
        "something keeps the kernel's clock in step: chrony, ntpd, timesyncd, PTP ...",
    ] = None
    source: Annotated[
        str | None,
        File("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "tsc, kvm-clock, hyperv_clocksource_tsc_page, arch_sys_counter; hpet and acpi_pm are slow",
    ] = None
    sources: Annotated[
        str | None,
        File("sys/devices/system/clocksource/clocksource0/available_clocksource"),
        "clock sources with blanks between, the best one first",
    ] = None
    os_id: Annotated[
        str | None, ReadFrom("/etc/os-release"), SeenAs("own"), "ID of os-release: ubuntu, rhel, sles ..."
    ] = None
    os_version: Annotated[str | None, ReadFrom("/etc/os-release"), SeenAs("own"), "VERSION_ID of os-release"] = None
    os_like: Annotated[
        tuple[str, ...] | None,
        ReadFrom("/etc/os-release"),
        SeenAs("own"),
        "ID_LIKE of os-release: what it descends from",
    ] = None
    taints: Annotated[
        tuple[str, ...] | None,
        ReadFrom("/proc/sys/kernel/tainted"),
        "why the kernel calls itself tainted, in words; () for clean",
    ] = None
    host_name: Annotated[
        str | None, ReadFrom("/proc/sys/kernel/hostname"), SeenAs("own"), HostName(), "as the kernel has it"
    ] = None
    boot_name: Annotated[
        str | None, ReadFrom("/etc/hostname"), SeenAs("own"), HostName(), "the name that is set at boot"
    ] = None


COLLECTED = Collected(
    models=((ORIGIN, System),),
    files=(*OS_RELEASE, TAINTED, *HOST_NAMES),
    there=(SYNCHRONIZED,),
    commands=(TIMEDATECTL,),
)


def read(host: Host) -> System:
    """The clock and the distribution of ``host``."""
    path, text = _os_release(host)
    values = parse_os_release(text or "")
    tainted = host.text(TAINTED)
    taints = None if tainted is None else taints_of(tainted)
    if tainted is not None and taints is None:
        host.missed(TAINTED, "unsupported")
    return read_fields(
        host,
        System,
        ORIGIN,
        timesyncd_synchronized=host.exists(SYNCHRONIZED),
        clock_synchronized=_synchronized(host),
        os_id=values.get("ID"),
        os_version=values.get("VERSION_ID"),
        os_like=None if text is None else tuple(values.get("ID_LIKE", "").split()),
        taints=taints,
        host_name=_name(host, HOST_NAMES[0]),
        boot_name=_name(host, HOST_NAMES[1]),
        origins={
            **dict(zip(("host_name", "boot_name"), HOST_NAMES, strict=True)),
            "timesyncd_synchronized": SYNCHRONIZED,
            "clock_synchronized": command_origin(TIMEDATECTL),
            "taints": TAINTED,
            **dict.fromkeys(("os_id", "os_version", "os_like"), path),
        },
    )


def _name(host: Host, path: str) -> str | None:
    return (quiet_text(host, path) or "").split("\n")[0].strip()[:_LONGEST_NAME] or None


def _synchronized(host: Host) -> bool | None:
    """What timedatectl prints: ``yes`` or ``no``; older ones have no ``show``, and a container has no such service."""
    output = host.run(TIMEDATECTL)
    told = None if output is None or output.returncode != 0 else {"yes": True, "no": False}.get(output.stdout.strip())
    if output is not None and told is None:
        host.missed(command_origin(TIMEDATECTL), "unsupported")
    return told


def _os_release(host: Host) -> tuple[str, str | None]:
    for path in OS_RELEASE:
        known = path in host.gaps
        text = host.text(path)
        if text is not None:
            return path, text
        if path != OS_RELEASE[0] and not known:
            host.gaps.pop(path, None)
    return OS_RELEASE[0], None


def parse_os_release(text: str) -> dict[str, str]:
    """The variables of an os-release file. Samples: ``ID=ubuntu``, ``VERSION_ID="22.04"``"""
    pairs = (line.strip().partition("=") for line in text.split("\n"))
    return {name: value.strip("\"'")[:100] for name, equals, value in pairs if equals and not name.startswith("#")}


def taints_of(text: str) -> tuple[str, ...] | None:
    """The reasons behind kernel.tainted; bits without a known meaning by number. Sample: ``12289``"""
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        return None
    bits = [bit for bit in range(64) if int(text) >> bit & 1]
    return tuple(TAINTS[bit] if bit < len(TAINTS) else f"bit {bit}" for bit in bits)
