"""udev rules that set what training depends on: queues of disks and NICs, read-ahead, power states.

A rule runs when its device appears, behind all that set the same at boot: it wins over them. Files count by name, as
in `advisor.probes._dropins.drop_ins`; of rules that match the same device the last one counts. Which devices a rule
matches is not worked out here: its conditions are kept as text, those of an earlier GOTO are not. Format: udev(7).
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.udev_conditions import is_private
from advisor.model.facts import Facts, Seen
from advisor.probes._collected import Collected
from advisor.probes._dropins import Line, continued, drop_ins, file_text

FOLDERS = tuple(f"{top}/udev/rules.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
_EXPRESSION = re.compile(
    r"""([A-Z_]+)(?:\{([^}"]{1,200})\})?\s*(==|!=|\+=|-=|:=|=)\s*(?:e|i)?"((?:[^"\\]|\\.)*)"[,\s]*""", re.ASCII
)
_MATCHES = ("==", "!=")
_TUNES = re.compile(
    r"(?:queue/|bdi/|power/|queues/|device/)|read_ahead_kb$|nr_requests$|mtu$|tx_queue_len$|gro_flush_timeout$"
    r"|napi_defer_hard_irqs$|threaded$|trust_mode$|cache_type$|numa_node$|current_driver$|link/"
)
"""Attributes of a device that change how fast it is or whether it sleeps."""
_PROGRAMS = re.compile(
    r"\b(?:blockdev|hdparm|ethtool|nvidia-\w+|mlnx_\w+|tuned-adm|setpci|cpupower|cma_roce_\w+|ip\s+link|tc\s)"
    r"|/sys/\S+|/proc/sys/\S+"
)
"""Programs that change the same by another way, and files that a shell writes to."""


class UdevSetting(Facts):
    """One assignment of a udev rule."""

    read_from: ClassVar[str] = (
        "/etc/udev/rules.d/*.rules, /run/udev/rules.d/*.rules, /usr/lib/udev/rules.d/*.rules, /lib/udev/rules.d/*.rules"
    )
    key: Annotated[str, "ATTR{queue/scheduler}, SYSCTL{vm.swappiness}, RUN ..."]
    attribute: Annotated[str | None, "of ATTR and SYSCTL: the file below the device, or the kernel parameter"] = None
    value: Annotated[str, "as written; the command line of RUN"]
    final: Annotated[bool, "set by :=, which forbids later rules to change it"] = False
    conditions: Annotated[
        tuple[str, ...],
        'of the same rule: SUBSYSTEM=="block"; without what tells a single device: ATTRS{serial}=="..."',
    ] = ()
    path: str = ""
    line: int | None = None


class Udev(Facts):
    """Assignments of udev rules that tune devices."""

    read_from: ClassVar[str] = "/etc/udev/rules.d"
    seen: ClassVar[Seen | None] = "own"

    settings: Annotated[tuple[UdevSetting, ...] | None, "in the order in which the rules are gone through"] = None


COLLECTED = Collected(folders=tuple((folder, "*.rules") for folder in FOLDERS))


def read(host: Host) -> Udev:
    """What the udev rules of ``host`` set."""
    files = drop_ins(host, FOLDERS, ".rules")
    if files is None:
        return Udev(origin=FOLDERS[0])
    found = [one for path in files for one in parse_rules(file_text(host, path) or "", path)]
    return Udev(origin=FOLDERS[0], settings=tuple(found))


def parse_rules(text: str, path: str) -> tuple[UdevSetting, ...]:
    """The assignments in a rules file that tune devices.

    Sample: ``ACTION=="add|change", KERNEL=="nvme[0-9]*n[0-9]*", ATTR{queue/scheduler}="none"``
    """
    if not any(word in text for word in ("ATTR{", "SYSCTL{", "RUN")):
        return ()
    return tuple(one for line in continued(text, path, "#", "") for one in _of_rule(line))


def _of_rule(line: Line) -> list[UdevSetting]:
    """The tuning assignments of one rule; none of one that udev would refuse."""
    if not any(word in line.text for word in ("ATTR{", "SYSCTL{", "RUN")):
        return []
    parts, at = [], 0
    while at < len(line.text):
        found = _EXPRESSION.match(line.text, at)
        if found is None:
            return []
        parts.append(found)
        at = found.end()
    conditions = tuple(_shown(part) for part in parts if part[3] in _MATCHES)
    return [
        UdevSetting(
            origin=line.path,
            key=part[1] if part[2] is None else f"{part[1]}{{{part[2]}}}",
            attribute=part[2] if part[1] in ("ATTR", "SYSCTL") else None,
            value=part[4].replace('\\"', '"'),
            final=part[3] == ":=",
            conditions=conditions,
            path=line.path,
            line=line.number,
        )
        for part in parts
        if part[3] not in _MATCHES and _tunes(part)
    ]


def _shown(part: re.Match[str]) -> str:
    """A condition as written, without what tells one device from others of its make."""
    text = part[0].rstrip(", \t")
    return f'{text[: part.start(4) - part.start()]}..."' if is_private(part[1], part[2], part[4]) else text


def _tunes(part: re.Match[str]) -> bool:
    if part[1] == "RUN":
        return part[2] in (None, "program") and _PROGRAMS.search(part[4]) is not None
    return part[1] == "SYSCTL" or (part[1] == "ATTR" and _TUNES.search(part[2] or "") is not None)
