"""Settings of NCCL and its kin that are in place before a job starts: files, environment, and the vendor's image.

NCCL sets the variables of ``$NCCL_CONF_FILE`` (or else ``~/.nccl.conf``) and then of ``/etc/nccl.conf``, each unless it
is set already, so the environment wins and of two lines in one file the first. A line is ``NAME=VALUE`` from its first
column on, and the value is all that follows: blanks, quotes and a # behind it are part of it (src/misc/param.cc,
measured on 2.32.3).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from advisor.host.base import ENVIRONMENT, Host
from advisor.model.facts import Facts, Private, Seen
from advisor.probes._collected import Collected
from advisor.probes._dropins import LIMIT_BYTES, LINE_LIMIT
from advisor.probes._nccl_shown import shown
from advisor.probes._sysfs import quiet_names, quiet_text

ORIGIN = "/etc/nccl.conf"
HOME = "/root/.nccl.conf"
TOLD = "$NCCL_CONF_FILE"
"""Stands for the path of the file that this variable names."""
PROFILES = "/etc/profile.d"
MICROSOFT = "/opt/microsoft"
KEPT = (
    *("NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_DEBUG", "TORCH_FR_", "GLOO_"),
    *("UCX_", "FI_", "OMP_", "CUDA_", "RCCL_", "OFI_NCCL_"),
)
FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
"""Variables that name a file which must be there already."""
_MOST_FILES = 16
_REAL = "the path of a file that must be there, where the value lost a name"
_EXPORT = re.compile(r"\s*(?:export\s+)?([A-Z][A-Z0-9_]{2,80})=(\"[^\"]*\"|'[^']*'|[^\s;&|#]*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_VALUE_LIMIT = 1000
Vendor = Literal["aws-efa", "azure", "gcp-tcpxo", "gcp-gib"]
SIGNS: tuple[tuple[Vendor, str], ...] = (
    ("aws-efa", "/opt/amazon/efa"),
    ("aws-efa", "/opt/amazon/ofi-nccl"),
    ("aws-efa", "/opt/aws-ofi-nccl"),
    ("gcp-gib", "/usr/local/gib/scripts/set_nccl_env.sh"),
    ("gcp-tcpxo", "/var/lib/tcpxo/lib64/nccl-env-profile.sh"),
    ("gcp-tcpxo", "/usr/local/nvidia/lib64/nccl-env-profile.sh"),
)
"""What the vendors' images bring; Azure's is told by its topology files, ``ndv5/topo.xml`` or ``ndv5-topo.xml``."""


class NcclLine(Facts):
    """One line of a configuration file of NCCL that is no comment."""

    read_from: ClassVar[str] = "/etc/nccl.conf"
    name: Annotated[str | None, "what NCCL takes for the name; none for a line that it cannot split"] = None
    value: Annotated[
        str | None, "all behind the =, blanks, quotes and comments too; addresses, hosts and homes replaced by examples"
    ] = None
    real: Annotated[str | None, Private(), _REAL] = None
    path: str = ""
    line: int | None = None
    defects: Annotated[
        tuple[str, ...],
        "why it does not do what it looks like: no =, blank before, export, blank around =, quotes, comment behind",
    ] = ()
    counts: Annotated[bool, "nothing that NCCL reads before sets the same name"] = True


class ShellLine(Facts):
    """One variable that a file of ``/etc/profile.d`` or ``/etc/environment`` gives to logins."""

    read_from: ClassVar[str] = "/etc/profile.d/*.sh"
    name: str
    value: Annotated[str | None, "without its quotes; none for what may be secret; else as of lines"] = None
    real: Annotated[str | None, Private(), _REAL] = None
    path: str = ""
    line: int | None = None


class Variable(Facts):
    """One variable in the environment of the reader."""

    read_from: ClassVar[str] = "environment"
    name: str
    value: Annotated[str | None, "none for what may be secret, names a host or a single card; else as of lines"] = None
    real: Annotated[str | None, Private(), _REAL] = None


class NcclConf(Facts):
    """What the host, its vendor and this session tell NCCL and the libraries around it."""

    read_from: ClassVar[str] = "/etc/nccl.conf"
    seen: ClassVar[Seen | None] = "own"

    lines: Annotated[tuple[NcclLine, ...] | None, "in the order in which NCCL reads the files"] = None
    user_file: Annotated[
        str | None, Private(), "the file that is read before /etc/nccl.conf: $NCCL_CONF_FILE or ~/.nccl.conf"
    ] = None
    user_file_read: Annotated[
        bool | None, "that file was there; unknown for users other than root who have no $NCCL_CONF_FILE"
    ] = None
    environment: Annotated[
        tuple[Variable, ...] | None, "NCCL_, TORCH_NCCL_, GLOO_, UCX_, OMP_, CUDA_ ... of this session"
    ] = None
    logins: Annotated[tuple[ShellLine, ...] | None, "the same names in /etc/environment and /etc/profile.d"] = None
    absent_files: Annotated[
        tuple[str, ...] | None, "files that NCCL_TOPO_FILE and NCCL_GRAPH_FILE name anywhere and that are not there"
    ] = None
    vendor: Annotated[
        Vendor | None, "whose profile for NCCL lies on this host: it knows best, and advice must not override it"
    ] = None
    vendor_paths: Annotated[tuple[str, ...] | None, "what tells so"] = None


COLLECTED = Collected(
    folders=((PROFILES, "*.sh"), (MICROSOFT, ""), (f"{MICROSOFT}/n[cd]*", "")),
    files=(ORIGIN, HOME, "/etc/environment"),
    there=tuple(path for _, path in SIGNS),
)


def read(host: Host) -> NcclConf:
    """What is set for NCCL on ``host``."""
    environment = host.environment()
    told = (environment or {}).get("NCCL_CONF_FILE")
    first = told if told else HOME if host.root_user else None
    own, user_file_read = _own(host, first)
    # The path that a variable tells may name a user; what it is called does not.
    lines = _lines(host, TOLD if told else HOME, own)
    vendor, paths = _vendor(host)
    variables = None if environment is None else tuple(_variables(environment))
    logins = _logins(host)
    return NcclConf(
        origin=ORIGIN,
        lines=lines,
        user_file=first,
        user_file_read=user_file_read,
        environment=variables,
        logins=logins,
        absent_files=_absent(host, (*(variables or ()), *(lines or ()), *(logins or ()))),
        vendor=vendor,
        vendor_paths=paths,
        origins={
            "user_file": ENVIRONMENT,
            "user_file_read": ENVIRONMENT,
            "environment": ENVIRONMENT,
            "logins": PROFILES,
            "absent_files": ENVIRONMENT if variables is not None else ORIGIN,
            **dict.fromkeys(("vendor", "vendor_paths"), paths[0] if paths else SIGNS[0][1]),
        },
    )


def _own(host: Host, path: str | None) -> tuple[str | None, bool | None]:
    """The text of the user's file and whether there is one. Its path may name a user, so it leaves no gap."""
    if path is None or not path.startswith("/"):
        return None, None
    known = path in host.gaps
    text = host.text(path, LIMIT_BYTES)
    if text is not None:
        return text, True
    why = host.gaps[path]
    if not known:
        del host.gaps[path]
    return None, False if why == "absent" else None


def _lines(host: Host, user_file: str, own: str | None) -> tuple[NcclLine, ...] | None:
    text = host.text(ORIGIN, LIMIT_BYTES)
    if text is None and host.gaps.get(ORIGIN) != "absent" and own is None:
        return None
    return counting([*parse_nccl_conf(own or "", user_file), *parse_nccl_conf(text or "", ORIGIN)])


def parse_nccl_conf(text: str, path: str) -> tuple[NcclLine, ...]:
    """The lines of a configuration file of NCCL. Sample: ``NCCL_IB_PCI_RELAXED_ORDERING=1``"""
    return tuple(
        _line(raw, path, number)
        for number, raw in enumerate(text.split("\n"), 1)
        if raw.strip() and not raw.startswith("#") and len(raw) < LINE_LIMIT
    )


def _line(raw: str, path: str, number: int) -> NcclLine:
    name, equals, value = raw.partition("=")
    defects = [] if equals else ["no ="]
    defects += ["blank before"] if raw[0].isspace() else []
    defects += ["export"] if name.split()[:1] == ["export"] else []
    defects += ["blank around ="] if equals and (name != name.rstrip() or value != value.lstrip()) else []
    defects += ["quotes"] if value.strip()[:1] in ("'", '"') and value.strip() else []
    defects += ["comment behind"] if re.search(r"\s#", value) else []
    return NcclLine(
        origin=ENVIRONMENT if path == TOLD else path,
        name=name[:_VALUE_LIMIT] if equals else None,
        value=shown(name.split()[-1] if name.strip() else "", value) if equals else None,
        real=_real(name, value),
        path=path,
        line=number,
        defects=tuple(defects),
    )


def counting(lines: list[NcclLine]) -> tuple[NcclLine, ...]:
    """The lines with which of them NCCL takes: the first of each name."""
    first: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line.name is not None:
            first.setdefault(line.name, number)
    return tuple(
        line if line.name is not None and first[line.name] == number else line.model_copy(update={"counts": False})
        for number, line in enumerate(lines)
    )


def _variables(environment: Mapping[str, str]) -> list[Variable]:
    return [
        Variable(origin=ENVIRONMENT, name=name, value=shown(name, value), real=_real(name, value))
        for name, value in sorted(environment.items())
        if name.startswith(KEPT) and _NAME.fullmatch(name)
    ]


def _logins(host: Host) -> tuple[ShellLine, ...] | None:
    names = host.names(PROFILES)
    if names is None and host.gaps.get(PROFILES) != "absent":
        return None
    paths = ["/etc/environment", *(f"{PROFILES}/{name}" for name in names or () if name.endswith(".sh"))]
    return tuple(line for path in paths for line in parse_exports(quiet_text(host, path) or "", path))


def parse_exports(text: str, path: str) -> tuple[ShellLine, ...]:
    """The plain assignments of known names in a file of shell. Sample: ``export NCCL_NET=gIB``"""
    found = []
    for number, raw in enumerate(text.split("\n"), 1):
        match = _EXPORT.match(raw[:LINE_LIMIT])
        if match is not None and match[1].startswith(KEPT):
            name, value = match[1], match[2].strip("\"'")
            told, real = shown(name, value), _real(name, value)
            found.append(ShellLine(origin=path, name=name, value=told, real=real, path=path, line=number))
    return tuple(found)


def _real(name: str, value: str) -> str | None:
    """The value where it is a path to look up and `shown` changes it."""
    value = value[:_VALUE_LIMIT]
    return value if name in FILES and shown(name, value) != value else None


def _absent(host: Host, told: Sequence[Variable | NcclLine | ShellLine]) -> tuple[str, ...] | None:
    """The named files that are not there, as values show them; paths may name a user, so they leave no gaps."""
    paths = {
        one.real or one.value: one.value for one in told if one.name in FILES and (one.value or "").startswith("/")
    }
    there: dict[str, bool | None] = {}
    for path, said in list(paths.items())[:_MOST_FILES]:
        assert path is not None
        assert said is not None
        known = path in host.gaps
        found = host.exists(path)
        there[said] = found if there.get(said, True) else False
        if not known:
            host.gaps.pop(path, None)
    return None if None in there.values() else tuple(path for path, is_there in there.items() if not is_there)


def _vendor(host: Host) -> tuple[Vendor | None, tuple[str, ...] | None]:
    """Whose image this is, and what tells; nothing known where it could not be looked for."""
    topologies = tuple(
        f"{MICROSOFT}/{name}"
        for entry in quiet_names(host, MICROSOFT) or ()
        if re.match(r"n[cd]", entry)
        for name in [entry if entry.endswith("-topo.xml") else f"{entry}/topo.xml"]
        if name == entry or "topo.xml" in (quiet_names(host, f"{MICROSOFT}/{entry}") or ())
    )
    if topologies:
        return "azure", topologies
    there = {path: host.exists(path) for _, path in SIGNS}
    for vendor, path in SIGNS:
        if there[path]:
            return vendor, tuple(one for other, one in SIGNS if other == vendor and there[one])
    # Nothing there: known where looking was possible, which False says.
    return None, () if all(one is False for one in there.values()) else None
