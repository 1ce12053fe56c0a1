"""Who sets the limits of sessions and of services, and which line wins.

A session gets what limits.conf and limits.d say for its user; what they leave open, and all that a service starts
(containers, Slurm jobs, pods), comes from systemd: the unit's own ``Limit...``, else ``DefaultLimit...``.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from advisor.model.facts import Facts
from advisor.probes._unit_files import UnitLine
from advisor.probes.pam_limits import PamLimit, PamLimits
from advisor.probes.system import System
from advisor.probes.systemd import Service, Systemd

ITEMS = ("memlock", "nofile", "nproc", "stack")
_BYTES = ("memlock", "stack")
_ROOT_APART = ("debian", "ubuntu")
"""Their pam_limits leaves root out of ``*`` and of groups (Debian's limits.conf(5)); the original does not."""
_FACTOR = {"": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5, "E": 1024**6}
_SIZE = re.compile(r"(\d{1,20})([BKMGTPE]?)", re.ASCII)


class LimitSource(Facts):
    """One half of one limit, as the files leave it."""

    whose: Annotated[str, "sessions (of users without lines of their own), sessions of root, or a service's name"]
    item: Annotated[str, "memlock, nofile, nproc or stack"]
    half: Annotated[str, "soft or hard"]
    unlimited: bool | None = None
    number: Annotated[int | None, "bytes of memlock and stack, else a count; none when unlimited"] = None
    path: str
    line: int | None = None


class LimitSources(Facts):
    """Limits by whom they are for. One that is not listed is the default of systemd or of the kernel."""

    limits: tuple[LimitSource, ...] | None = None
    services: Annotated[tuple[str, ...] | None, "services that are installed and start jobs, whose limits count"] = None


STARTERS = ("containerd", "crio", "docker", "k3s", "kubelet", "podman", "rke2-agent", "slurmd", "ssh", "sshd")
"""Services whose processes become jobs."""


def derive(pam: PamLimits | None, systemd: Systemd | None, system: System | None) -> LimitSources:
    """The limits that files set, for sessions and for the services that start jobs."""
    services = systemd.services if systemd is not None else None
    starters = [one for one in services or () if one.name.removesuffix(".service") in STARTERS and one.path is not None]
    found = _sessions(pam, system)
    for service in starters:
        found += _of_service(service, (systemd.manager if systemd else None) or ())
    known = pam is not None and pam.lines is not None and services is not None
    return LimitSources(
        origin=pam.origin if pam is not None else "",
        limits=tuple(found) if known else None,
        services=None if services is None else tuple(one.name for one in starters),
        origins={"services": systemd.origin if systemd is not None else ""},
    )


def _sessions(pam: PamLimits | None, system: System | None) -> list[LimitSource]:
    lines = (pam.lines if pam is not None else None) or ()
    found = _of_lines([line for line in lines if line.kind == "everyone"], "sessions")
    for_root = [line for line in lines if line.root]
    named = {(line.item, half) for line in for_root for half in line.counts_for}
    if system is not None and system.os_id is not None and not apart(system):
        for_root += [line for line in lines if line.kind == "everyone"]
    mine = _of_lines([line for line in for_root if line.root], "sessions of root")
    rest = _of_lines([line for line in for_root if not line.root], "sessions of root")
    return found + mine + [one for one in rest if (one.item, one.half) not in named]


def apart(system: System) -> bool:
    """Whether this distribution's pam_limits leaves root out of ``*``."""
    return any(name in _ROOT_APART for name in (system.os_id, *(system.os_like or ())))


def _of_lines(lines: Sequence[PamLimit], whose: str) -> list[LimitSource]:
    return [
        LimitSource(
            origin=line.path,
            whose=whose,
            item=line.item,
            half=half,
            unlimited=line.unlimited,
            number=line.number,
            path=line.path,
            line=line.line,
        )
        for line in lines
        if line.item in ITEMS
        for half in line.counts_for
    ]


def _of_service(service: Service, manager: Sequence[UnitLine]) -> list[LimitSource]:
    found = []
    for item in ITEMS:
        own = [line for line in service.settings or () if line.key == f"Limit{item.upper()}" and line.counts]
        default = [line for line in manager if line.key == f"DefaultLimit{item.upper()}" and line.counts]
        line = next((line for line in (*own[-1:], *default[-1:]) if line.value), None)
        halves = None if line is None else parse_limit_value(line.value, item in _BYTES)
        if line is None or halves is None:
            continue
        found += [
            LimitSource(
                origin=line.path,
                whose=service.name.removesuffix(".service"),
                item=item,
                half=half,
                unlimited=number is None,
                number=number,
                path=line.path,
                line=line.line,
            )
            for half, number in zip(("soft", "hard"), halves, strict=True)
        ]
    return found


def parse_limit_value(text: str, is_size: bool) -> tuple[int | None, int | None] | None:
    """Soft and hard limit of a ``Limit...`` setting, ``None`` for no limit. Samples: ``infinity``, ``64M:1G``"""
    parts = text.split(":")
    if len(parts) > 2:
        return None
    numbers: list[int | None] = []
    for part in (parts[0], parts[-1]):
        found = _SIZE.fullmatch(part.strip())
        if part.strip() == "infinity":
            numbers.append(None)
        elif found is not None and (is_size or not found[2]):
            numbers.append(int(found[1]) * _FACTOR[found[2]])
        else:
            return None
    return numbers[0], numbers[1]
