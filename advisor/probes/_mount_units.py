"""What systemd's mount units ask for, besides those that it makes of /etc/fstab itself. Format: systemd.mount(5)."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.model.facts import Facts, Private
from advisor.probes._filesystems import is_remote, kept_options, kind_of
from advisor.probes._sysfs import quiet_names

FOLDERS = tuple(f"{top}/systemd/system" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"))
"""The first that has a unit of a name wins."""
SUFFIX = ".mount"


class MountUnit(Facts):
    """One mount unit that may hold data."""

    read_from: ClassVar[str] = ", ".join(f"{folder}/*{SUFFIX}" for folder in FOLDERS)
    name: str
    point: Annotated[str | None, "where it is mounted"] = None
    fstype: str | None = None
    kind: Annotated[str | None, "as of mounts; none: the type is not told"] = None
    source: str | None = None
    remote: Annotated[str | None, Private(), "server and path of a network file system"] = None
    options: Annotated[dict[str, str] | None, "flags have an empty value; credentials left out"] = None
    masked: Annotated[bool | None, "turned off: a link to /dev/null or an empty file"] = None


def read_units(host: Host) -> tuple[MountUnit, ...] | None:
    """The mount units of a host, by name, without those of kernel interfaces; ``None`` when they are not known."""
    first = host.names(FOLDERS[0])
    listed = {FOLDERS[0]: first, **{folder: quiet_names(host, folder) for folder in FOLDERS[1:]}}
    if all(names is None for names in listed.values()) and host.gaps.get(FOLDERS[0]) != "absent":
        return None
    paths: dict[str, str] = {}
    for folder, names in listed.items():
        for name in names or ():
            if name.endswith(SUFFIX):
                paths.setdefault(name, f"{folder}/{name}")
    units = (_unit(host, name, path) for name, path in sorted(paths.items()))
    return tuple(unit for unit in units if unit is not None)


def _unit(host: Host, name: str, path: str) -> MountUnit | None:
    if host.real(path) == "/dev/null":
        return MountUnit(origin=path, name=name, masked=True)
    text = host.text(path)
    if text is None:
        return MountUnit(origin=path, name=name)
    if not text.strip():
        return MountUnit(origin=path, name=name, masked=True)
    told = parse_unit(text)
    fstype = told.get("Type")
    if fstype is not None and kind_of(fstype) is None:
        return None
    source = told.get("What")
    far = source is not None and is_remote(source, kind_of(fstype or ""))
    return MountUnit(
        origin=path,
        name=name,
        point=told.get("Where"),
        fstype=fstype,
        kind=None if fstype is None else kind_of(fstype),
        source=None if far else source,
        remote=source if far else None,
        options=kept_options(word.strip() for word in told.get("Options", "").split(",")),
        masked=False,
    )


def parse_unit(text: str) -> Mapping[str, str]:
    """What the section Mount of a unit says; the last line of a name counts. Sample: ``[Mount]\\nWhere=/data``"""
    told: dict[str, str] = {}
    section = ""
    for line in text.replace("\\\n", " ").split("\n"):
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line
        elif section == "[Mount]" and "=" in line and line[0] not in "#;":
            name, _, value = line.partition("=")
            told[name.strip()] = value.strip()
    return {name: value for name, value in told.items() if value}
