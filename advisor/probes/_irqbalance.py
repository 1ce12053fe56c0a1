"""irqbalance: whether it runs, and what it was told.

Format of its file: irqbalance(1); it is an EnvironmentFile of systemd.exec(5).
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts, Seen
from advisor.probes._cmdline import split_words
from advisor.probes._cpulist import parse_cpulist, parse_cpumask
from advisor.probes._sysfs import quiet_names, quiet_text

UNIT = "irqbalance.service"
SLICES = tuple(f"/sys/fs/cgroup{top}/system.slice" for top in ("", "/systemd", "/unified"))
"""Where systemd keeps its services' control groups: version 2, version 1 and both together."""
WANTS = f"/etc/systemd/system/multi-user.target.wants/{UNIT}"
FILES = ("/etc/sysconfig/irqbalance", "/etc/default/irqbalance")
"""Where distributions keep its settings: Red Hat's and SUSE's, Debian's."""


class Irqbalance(Facts):
    """The daemon that moves interrupts between CPUs, as systemd and its settings show it."""

    seen: ClassVar[Seen | None] = "masked"
    read_from: ClassVar[str] = "/etc/default/irqbalance, /etc/sysconfig/irqbalance, /sys/fs/cgroup"
    running: Annotated[bool | None, "its service has processes; a container cannot tell"] = None
    enabled: Annotated[bool | None, "starts with the system"] = None
    settings_file: Annotated[str | None, "the file of its settings"] = None
    banned_cpus: Annotated[tuple[int, ...] | None, "CPUs that the file keeps it from"] = None
    oneshot: Annotated[bool | None, "the file has it place interrupts once and end"] = None
    arguments: Annotated[tuple[str, ...] | None, "further arguments in the file"] = None


def read_irqbalance(host: Host) -> Irqbalance:
    """The state of irqbalance on ``host``."""
    group = _group(host)
    running = _running(host, group)
    settings_file, text = _settings(host)
    values = parse_settings(text or "")
    told = text is not None
    return Irqbalance(
        origin=settings_file or FILES[0],
        running=running,
        enabled=_enabled(host),
        settings_file=settings_file,
        banned_cpus=_banned(host, settings_file, values) if settings_file else None,
        oneshot=values.get("IRQBALANCE_ONESHOT", "no").lower() in ("1", "yes", "true") if told else None,
        arguments=split_words(values.get("IRQBALANCE_ARGS", "")) if told else None,
        origins={"running": group, "enabled": WANTS},
    )


def _group(host: Host) -> str:
    """The folder of the service's processes, there or not."""
    found = [folder for folder in SLICES if quiet_names(host, folder) is not None]
    return f"{found[0] if found else SLICES[0]}/{UNIT}"


def _running(host: Host, group: str) -> bool | None:
    """Whether the service has processes; where there are no services at all, that it has none says nothing."""
    folder = group.rpartition("/")[0]
    names = host.names(folder)
    if names is None:
        return None
    if UNIT not in names:
        return False if host.exists(group) is False else None
    processes = host.text(f"{group}/cgroup.procs")
    if processes is None:
        host.missed(group, host.gaps[f"{group}/cgroup.procs"])
    return None if processes is None else bool(processes.strip())


def _enabled(host: Host) -> bool | None:
    if host.link(WANTS) is not None:
        return True
    return False if host.gaps.get(WANTS) == "absent" else None


def _settings(host: Host) -> tuple[str | None, str | None]:
    for path in FILES:
        text = quiet_text(host, path)
        if text is not None:
            return path, text
    host.text(FILES[0])  # leaves the gap that says why
    return None, None


def parse_settings(text: str) -> Mapping[str, str]:
    """The variables in the file. Sample: ``IRQBALANCE_BANNED_CPULIST=0-3``, ``IRQBALANCE_ARGS="--deepestcache=2"``"""
    values = {}
    for line in text.split("\n"):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith(("#", ";")):
            values[name.strip()] = value.strip().strip("\"'")
    return values


def _banned(host: Host, path: str, values: Mapping[str, str]) -> tuple[int, ...] | None:
    """CPUs by list or, for older versions, by mask; the list counts where both are given."""
    try:
        if values.get("IRQBALANCE_BANNED_CPULIST"):
            return parse_cpulist(values["IRQBALANCE_BANNED_CPULIST"])
        mask = values.get("IRQBALANCE_BANNED_CPUS")
        return parse_cpumask(mask.lower().removeprefix("0x")) if mask else ()
    except ValueError:
        host.missed(path, "unsupported")
        return None
