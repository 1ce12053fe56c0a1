"""What limits.conf and limits.d ask for. They reach login sessions alone: no service, no container, no slurmd.

All files count as one, limits.conf first, then limits.d by name in the C locale: limits.conf(5), pam_limits(8). A line
for a user counts more than one for a group, that more than ``*``, wherever they stand; of lines of the same kind the
last one counts (Linux-PAM, modules/pam_limits/pam_limits.c, process_limit).
"""

import re
from typing import Annotated, ClassVar, Literal

from advisor.host.base import Host
from advisor.model.facts import Facts, Private, Seen
from advisor.probes._collected import Collected
from advisor.probes._dropins import LINE_LIMIT, drop_ins, file_text
from advisor.probes._sysfs import quiet_names

ORIGIN = "/etc/security"
CONF = f"{ORIGIN}/limits.conf"
FOLDERS = (f"{ORIGIN}/limits.d", "/usr/etc/security/limits.d")
"""The second is where SUSE keeps what packages bring (the vendordir of Linux-PAM)."""
PAM = "/etc/pam.d"
SERVICES = (
    "common-session", "common-session-noninteractive", "cron", "crond", "login", "password-auth", "runuser", "slurm",
    "sshd", "su", "su-l", "sudo", "system-auth", "systemd-user",
)  # fmt: skip
"""PAM services (and the files that they include) through which sessions start that may become jobs."""
Kind = Literal["user", "group", "everyone", "uids", "gids", "logins"]
_UNLIMITED = ("-1", "-", "unlimited", "infinity")
_NOT_UNLIMITED = ("priority", "nice", "nonewprivs")
_KIB = 1024
_IN_KIB = ("as", "core", "data", "fsize", "memlock", "rss", "stack")
_ITEMS = (
    *_IN_KIB, "chroot", "cpu", "locks", "maxlogins", "maxsyslogins", "msgqueue", "nice", "nofile", "nonewprivs",
    "nproc", "priority", "rtprio", "sigpending",
)  # fmt: skip
_TYPES: dict[str, tuple[str, ...]] = {"soft": ("soft",), "hard": ("hard",), "-": ("soft", "hard")}
_MOST = 2**63 // _KIB
"""KiB from which on pam_limits takes a number for unlimited."""
_LIMIT_MODULE = re.compile(r"-?session\s+(?:\[[^\]]*\]|\S+)\s+(?:\S*/)?pam_limits\.so(?:\s|$)(.*)", re.ASCII)


class PamLimit(Facts):
    """One line of limits.conf or limits.d."""

    read_from: ClassVar[str] = "/etc/security/limits.d/*.conf"
    kind: Annotated[
        Kind,
        "whom it is for: a user, a group (@), everyone (*), ranges of numbers of users or groups, logins at once (%)",
    ]
    domain: Annotated[str | None, Private(), "whom it is for, as written"] = None
    root: Annotated[bool, "it names root, whom Debian and its kin leave out of groups and of *"] = False
    item: Annotated[str, "memlock, nofile, stack, nproc ..."]
    type: Annotated[str, "soft, hard or - for both"]
    value: Annotated[str, "as written, in small letters"]
    unlimited: Annotated[bool | None, "no limit; for nofile that is fs.nr_open"] = None
    number: Annotated[int | None, "the limit when there is one: bytes of memory and files, else a count"] = None
    path: str
    line: int
    counts_for: Annotated[tuple[str, ...], "soft, hard: where no later line for the same people says otherwise"] = ()


class PamService(Facts):
    """One file of ``/etc/pam.d`` that has sessions take these limits."""

    read_from: ClassVar[str] = "/etc/pam.d/*"
    name: Annotated[str, "sshd, login, common-session ..."]
    line: int
    conf: Annotated[str | None, "another file than limits.conf and limits.d, which then do not count"] = None


class PamLimits(Facts):
    """Resource limits of login sessions, as configured."""

    read_from: ClassVar[str] = "/etc/security"
    seen: ClassVar[Seen | None] = "own"

    lines: Annotated[tuple[PamLimit, ...] | None, "in the order in which they are read"] = None
    exempt: Annotated[tuple[str, ...] | None, "PATH:LINE of lines that lift all limits of somebody (`domain -`)"] = None
    skipped: Annotated[tuple[str, ...] | None, "PATH:LINE of lines that pam_limits cannot read and skips"] = None
    services: Annotated[
        tuple[PamService, ...] | None, "files of the usual PAM services that call pam_limits; none: nothing takes them"
    ] = None


COLLECTED = Collected(
    folders=(*((folder, "*.conf") for folder in FOLDERS), (PAM, " ".join(SERVICES))),
    files=(CONF,),
)


def read(host: Host) -> PamLimits:
    """The limits that login sessions on ``host`` get."""
    lines, exempt, skipped = _lines(host)
    return PamLimits(
        origin=ORIGIN,
        lines=lines,
        exempt=exempt,
        skipped=skipped,
        services=_services(host),
        origins={"lines": CONF, "exempt": CONF, "skipped": CONF, "services": PAM},
    )


def _lines(host: Host) -> tuple[tuple[PamLimit, ...] | None, tuple[str, ...] | None, tuple[str, ...] | None]:
    main = host.text(CONF)
    known = [folder for folder in FOLDERS[1:] if quiet_names(host, folder) is not None]
    files = drop_ins(host, (FOLDERS[0], *known))
    if main is None and host.gaps.get(CONF) != "absent" and not files:
        return None, None, None
    texts = [(CONF, main or "")] + [(path, file_text(host, path) or "") for path in files or ()]
    lines: list[PamLimit] = []
    exempt: list[str] = []
    skipped: list[str] = []
    for path, text in texts:
        found = parse_limits(text, path)
        lines += found[0]
        exempt += found[1]
        skipped += found[2]
    return counting(lines), tuple(exempt), tuple(skipped)


def parse_limits(text: str, path: str) -> tuple[list[PamLimit], list[str], list[str]]:
    """The limits in a file, the places of lines without any, and those of lines that are wrong.

    Samples: ``*  soft  memlock  unlimited``, ``@hpc - nofile 1048576``, ``guest -``
    """
    lines: list[PamLimit] = []
    exempt: list[str] = []
    skipped: list[str] = []
    for number, raw in enumerate(text.split("\n"), 1):
        words = raw[:LINE_LIMIT].partition("#")[0].split(None, 3)
        if not words:
            continue
        limit = _limit(words, path, number) if len(words) == 4 else None
        if limit is not None:
            lines.append(limit)
        elif len(words) == 2 and words[1].startswith("-"):
            exempt.append(f"{path}:{number}")
        else:
            skipped.append(f"{path}:{number}")
    return lines, exempt, skipped


def _limit(words: list[str], path: str, number: int) -> PamLimit | None:
    domain, type_, item, value = words[0], words[1].lower(), words[2].lower(), words[3].strip().lower()
    kind = kind_of(domain)
    if kind is None or item not in _ITEMS or type_ not in _TYPES or (kind == "logins" and item != "maxlogins"):
        return None
    unlimited = value in _UNLIMITED and item not in _NOT_UNLIMITED
    amount = None if unlimited else _amount(value, item)
    if not unlimited and amount is None and item != "chroot":
        return None
    if amount is not None and item in _IN_KIB and amount >= _MOST:
        unlimited, amount = True, None
    return PamLimit(
        origin=path,
        kind=kind,
        domain=domain,
        root=domain == "root",
        item=item,
        type=type_,
        value=value,
        unlimited=unlimited,
        number=amount * _KIB if amount is not None and item in _IN_KIB else amount,
        path=path,
        line=number,
    )


def kind_of(domain: str) -> Kind | None:
    """Whom a line is for. Samples: ``*``, ``root``, ``@hpc``, ``%``, ``1000:``, ``:123``, ``@500:600``"""
    if ":" in domain:
        range_ = re.fullmatch(r"([@%]?)(\d{1,10}:\d{0,10}|:\d{1,10})", domain, re.ASCII)
        kinds: dict[str, Kind] = {"": "uids", "@": "gids", "%": "logins"}
        return None if range_ is None else kinds[range_[1]]
    if domain == "*":
        return "everyone"
    starts: dict[str, Kind] = {"@": "group", "%": "logins"}
    return starts.get(domain[0], "user")


def _amount(value: str, item: str) -> int | None:
    """The number that a value begins with, as strtoul reads it."""
    signed = item in _NOT_UNLIMITED or item in ("maxlogins", "maxsyslogins")
    found = re.match(r"[+-]?\d{1,20}" if signed else r"\+?\d{1,20}", value, re.ASCII)
    return None if found is None else int(found[0])


def counting(lines: list[PamLimit]) -> tuple[PamLimit, ...]:
    """The lines with what each still says after those behind it. ``Domain`` decides, so ``*`` and a user stay apart."""
    last: dict[tuple[str | None, str, str], int] = {}
    for number, line in enumerate(lines):
        for half in _TYPES[line.type]:
            last[line.domain, line.item, half] = number
    return tuple(
        line.model_copy(
            update={"counts_for": tuple(h for h in _TYPES[line.type] if last[line.domain, line.item, h] == number)}
        )
        for number, line in enumerate(lines)
    )


def _services(host: Host) -> tuple[PamService, ...] | None:
    names = host.names(PAM)
    if names is None:
        return None
    found = []
    for name in SERVICES:
        if name in names and (text := host.text(f"{PAM}/{name}")) is not None:
            found += [service for service in [parse_service(text, name)] if service is not None]
    return tuple(found)


def parse_service(text: str, name: str) -> PamService | None:
    """The line of a PAM service that calls pam_limits. Sample: ``session    required   pam_limits.so``"""
    for number, line in enumerate(text.split("\n"), 1):
        found = _LIMIT_MODULE.match(line.strip()[:LINE_LIMIT])
        if found is not None:
            words = found[1].split()
            conf = next((word[5:] for word in words if word.startswith("conf=")), None)
            return PamService(origin=f"{PAM}/{name}", name=name, line=number, conf=conf)
    return None
