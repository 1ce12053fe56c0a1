"""TuneD: the profile that it applies, and what that profile and those it includes set.

A profile is read after those that it includes and replaces what they set (tuned/profiles/loader.py, merger.py). TuneD
starts behind systemd-sysctl, so its values win over sysctl.d, but for ``reapply_sysctl`` (on unless switched off):
then it applies ``/etc/sysctl.d``, ``/run/sysctl.d`` and ``/etc/sysctl.conf`` once more (plugins/plugin_sysctl.py).
"""

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.boot_words import shown_word
from advisor.host.secret_names import names_secret
from advisor.model.facts import Facts, File, Seen
from advisor.probes._collected import Collected
from advisor.probes._dropins import LINE_LIMIT, file_text
from advisor.probes._sysfs import quiet_text

ORIGIN = "/etc/tuned"
MAIN = f"{ORIGIN}/tuned-main.conf"
FOLDERS = (f"{ORIGIN}/profiles", ORIGIN, "/usr/lib/tuned/profiles", "/usr/lib/tuned")
"""Where profiles lie, the operator's first; the folders named profiles came with TuneD 2.23."""
SECTIONS = (
    "audio", "bootloader", "cpu", "disk", "irqbalance", "modules", "net", "scheduler", "selinux", "service", "sysctl",
    "sysfs", "systemd", "vm",
)  # fmt: skip
"""Plugins whose settings are kept, and the names of the units that are called so."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_MOST_FILES = 40
"""Profiles in one chain; real ones have five."""


class TunedLine(Facts):
    """One setting of a profile."""

    read_from: ClassVar[str] = "/etc/tuned/*/tuned.conf"
    section: Annotated[str, "sysctl, vm, cpu ...: the plugin, or the unit's own name"]
    plugin: Annotated[str, "what reads it: the section's type=, else the section's name"]
    key: str
    value: Annotated[str, "as written, ${variables} not filled in; ... for what may be a credential"]
    path: str = ""
    line: int | None = None
    counts: Annotated[bool, "no profile that is read later sets it"] = True


class Tuned(Facts):
    """TuneD's choice and what it means. Whether it runs says the section systemd."""

    read_from: ClassVar[str] = "/etc/tuned"
    seen: ClassVar[Seen | None] = "masked"

    profile: Annotated[str | None, File("active_profile"), "profiles that are applied, with blanks between"] = None
    mode: Annotated[str | None, File("profile_mode"), "auto: TuneD chose it; manual: an operator did"] = None
    reapply_sysctl: Annotated[
        bool | None, "after its own values it applies sysctl.d in /etc and /run, and sysctl.conf, once more"
    ] = None
    files: Annotated[tuple[str, ...] | None, "files of the profiles, in the order in which they are read"] = None
    missing: Annotated[tuple[str, ...] | None, "profiles that are asked for and were not found"] = None
    lines: Annotated[tuple[TunedLine, ...] | None, "their settings, in the order in which they are read"] = None


COLLECTED = Collected(
    models=((ORIGIN, Tuned),),
    folders=tuple((f"{folder}/*", "tuned.conf") for folder in FOLDERS),
    files=(MAIN,),
)


def read(host: Host) -> Tuned:
    """What TuneD is told to do on ``host``."""
    profile = host.text(f"{ORIGIN}/active_profile")
    mode = host.text(f"{ORIGIN}/profile_mode")
    if profile is None:
        return Tuned(origin=ORIGIN, mode=mode, origins=_where())
    files: list[str] = []
    missing: list[str] = []
    lines = [line for name in profile.split() for line in _profile(host, name, files, missing)]
    return Tuned(
        origin=ORIGIN,
        profile=profile or None,
        mode=mode,
        reapply_sysctl=_reapplies(host),
        files=tuple(files),
        missing=tuple(missing),
        lines=counting(lines),
        origins=_where(),
    )


def _where() -> dict[str, str]:
    chain = dict.fromkeys(("files", "missing", "lines"), f"{ORIGIN}/active_profile")
    return {"reapply_sysctl": MAIN} | chain


def _reapplies(host: Host) -> bool | None:
    """Whether operators' sysctl.d wins again; TuneD's own default where its file does not say."""
    text = host.text(MAIN)
    if text is None:
        return True if host.gaps.get(MAIN) == "absent" else None
    found = [line.partition("=") for line in text.split("\n") if line.strip()[:1] not in ("", "#", ";")]
    told = [value.partition("#")[0].strip().lower() for key, _, value in found if key.strip() == "reapply_sysctl"]
    return {"0": False, "false": False, "no": False, "off": False}.get(told[-1], True) if told else True


def _profile(host: Host, name: str, files: list[str], missing: list[str]) -> Iterator[TunedLine]:
    """The settings of one profile behind those of the profiles that it includes.

    A file that was read is not read again: a profile in /etc that includes the one of its own name gets the package's.
    """
    if len(missing) >= _MOST_FILES:
        return
    if not _NAME.fullmatch(name):
        missing.append(name[:100])
        return
    for folder in FOLDERS:
        path = f"{folder}/{name}/tuned.conf"
        if path in files:
            continue
        if len(files) < _MOST_FILES and (text := _profile_text(host, path)) is not None:
            break
    else:
        missing.append(name)
        return
    files.append(path)
    place = len(files) - 1
    lines, includes = parse_profile(text, path)
    for include in includes:
        yield from _profile(host, include, files, missing)
    files.append(files.pop(place))  # it counts behind what it includes
    yield from lines


def _profile_text(host: Host, path: str) -> str | None:
    text = quiet_text(host, path)
    return text if text is None else file_text(host, path)


def parse_profile(text: str, path: str) -> tuple[tuple[TunedLine, ...], tuple[str, ...]]:
    """The settings in a profile's file and the profiles that it includes.

    Sample: ``[main]`` + ``include=throughput-performance`` + ``[sysctl]`` + ``net.core.busy_poll=50``
    """
    section, found, types = "", [], {}
    includes: tuple[str, ...] = ()
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.split(r"(?:^|\s)#", raw[:LINE_LIMIT], maxsplit=1)[0].strip()
        if line.startswith("["):
            section = line[1:].partition("]")[0]
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not key or key.startswith(";"):
            continue
        if section == "main":
            includes = tuple(re.split(r"\s*[,;]\s*", value)) if key == "include" else includes
        elif key == "type":
            types[section] = value
        else:
            found.append((section, key, _shown(key, value.strip("\"'")), number))
    return tuple(
        TunedLine(
            origin=path,
            section=section,
            plugin=types.get(section, section),
            key=key,
            value=value,
            path=path,
            line=number,
        )
        for section, key, value, number in found
        if types.get(section, section) in SECTIONS
    ), includes


def _shown(key: str, value: str) -> str:
    """The value as far as others may read it."""
    if key.startswith("cmdline"):
        return " ".join(map(shown_word, value.split()))
    return "..." if names_secret(key) or key.endswith("hostname") else value


def counting(lines: list[TunedLine]) -> tuple[TunedLine, ...]:
    """The lines with which of them count: of one unit's key the last, none that stands before a ``replace``, and none
    that a later profile's ``drop`` names."""
    last: dict[tuple[str, str], int] = {}
    start: dict[str, int] = {}
    dropped: set[int] = set()
    for number, line in enumerate(lines):
        last[line.section, line.key] = number
        if line.key == "replace" and line.value.lower() in ("1", "true"):
            start[line.section] = min(n for n, other in enumerate(lines) if _together(other, line))
        if line.key == "drop":
            names = re.split(r"\s*[,;]\s*", line.value)
            dropped |= {n for n, one in enumerate(lines[:number]) if one.key in names and _replaced(one, line)}
    return tuple(
        line
        if last[line.section, line.key] == number and number >= start.get(line.section, 0) and number not in dropped
        else line.model_copy(update={"counts": False})
        for number, line in enumerate(lines)
    )


def _replaced(one: TunedLine, by: TunedLine) -> bool:
    return one.section == by.section and one.path != by.path


def _together(one: TunedLine, other: TunedLine) -> bool:
    return (one.path, one.section) == (other.path, other.section)
