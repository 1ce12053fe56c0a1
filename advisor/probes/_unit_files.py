"""Units of systemd as they lie on disk: which files count, in which order, and what they set.

Format: systemd.syntax(7), systemd.unit(5) (drop-ins, masked units). ``/etc`` counts before ``/run``, that before
``/usr/local/lib`` and ``/usr/lib``; of drop-ins of one name the first so, then all by name behind the unit's own file.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts
from advisor.probes._dropins import LIMIT_BYTES, continued, file_text
from advisor.probes._sysfs import quiet_names

TOPS = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
LISTS = ("CPUAffinity", "NUMAMask", "AllowedCPUs", "ExecStart")
"""Settings that add up; nothing behind the = starts the list anew."""


class UnitLine(Facts):
    """One setting in a file of systemd."""

    read_from: ClassVar[str] = (
        "/etc/systemd/*, /run/systemd/*, /usr/lib/systemd/*, /lib/systemd/*, /usr/local/lib/systemd/*"
    )
    section: Annotated[str, "Service, Manager, Login ..."]
    key: str
    value: Annotated[str, "empty: back to the default"] = ""
    path: str = ""
    line: int | None = None
    counts: Annotated[bool, "nothing later replaces it"] = True


def listings(host: Host) -> dict[str, tuple[str, ...] | None]:
    """What lies in the folders of units; one that is not there leaves no gap, the first tells why none is."""
    folders = {f"{top}/systemd/system": quiet_names(host, f"{top}/systemd/system") for top in TOPS}
    if all(names is None for names in folders.values()):
        host.names(f"{TOPS[0]}/systemd/system")
    return folders


def unit_path(folders: Mapping[str, tuple[str, ...] | None], unit: str) -> str | None:
    """The unit's own file: the one in the first folder that has it."""
    return next((f"{folder}/{unit}" for folder, names in folders.items() if unit in (names or ())), None)


def unit_drop_ins(host: Host, folders: Mapping[str, tuple[str, ...] | None], unit: str) -> tuple[str, ...]:
    """The unit's drop-ins in the order in which they are applied; those for all units of its kind come first."""
    name, _, kind = unit.rpartition(".")
    chosen: dict[str, str] = {}
    # A file for this unit replaces one of the same name for all services, wherever they lie.
    for below in (f"{name}.{kind}.d", *_prefixes(name, kind), f"{kind}.d"):
        for folder, names in folders.items():
            if below in (names or ()):
                for file in host.names(f"{folder}/{below}") or ():
                    if file.endswith(".conf"):
                        chosen.setdefault(file, f"{folder}/{below}/{file}")
    return tuple(chosen[file] for file in sorted(chosen))


def _prefixes(name: str, kind: str) -> Iterator[str]:
    """``nvidia-.service.d`` for nvidia-fabricmanager."""
    while "-" in name:
        name = name.rpartition("-")[0]
        yield f"{name}-.{kind}.d"


def settings_of(host: Host, paths: tuple[str, ...], keys: frozenset[str]) -> tuple[UnitLine, ...]:
    """The lines of these files that set one of ``keys``, in order, each with whether it still counts."""
    found = [line for path in paths for line in parse_unit_lines(file_text(host, path) or "", path, keys)]
    return counting(found)


def parse_unit_lines(text: str, path: str, keys: frozenset[str]) -> tuple[UnitLine, ...]:
    """The settings with one of these names in a file of systemd. Sample: ``[Service]`` + ``LimitMEMLOCK=infinity``"""
    section, found = "", []
    for line in continued(text[:LIMIT_BYTES], path, "#;", " "):
        if line.text.startswith("["):
            section = line.text[1:].partition("]")[0]
            continue
        key, equals, value = line.text.partition("=")
        if equals and key.strip() in keys:
            found.append(
                UnitLine(
                    origin=path,
                    section=section,
                    key=key.strip(),
                    value=value.strip(),
                    path=path,
                    line=line.number,
                )
            )
    return tuple(found)


def counting(lines: list[UnitLine]) -> tuple[UnitLine, ...]:
    """The lines with which of them still count."""
    start: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line.key not in LISTS or line.value == "":
            start[line.key] = number
    return tuple(
        line if number >= start.get(line.key, 0) else line.model_copy(update={"counts": False})
        for number, line in enumerate(lines)
    )
