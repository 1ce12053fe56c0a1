"""What is set for NCCL and PyTorch's process groups: every variable held against the knob database.

Three places set variables: the environment, which wins; the files of NCCL; and what logins get from /etc/profile.d.
Each is judged where it stands, since services see no profile and other sessions have another environment.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from advisor.derived._nccl_choices import Named, NcclChoice, choices
from advisor.model.facts import Facts
from advisor.nccl.knobs import KNOBS, Fault, fault_of, nearest_name, number_taken
from advisor.probes.nccl_conf import FILES, NcclConf
from advisor.probes.net import Net
from advisor.probes.python import Python
from advisor.probes.rdma import Rdma

Place = Literal["environment", "file", "login"]
Family = Literal["nccl", "removed", "unread", "torch", "torch-old", "cuda", "plugin", "tool", "build", "unknown"]
_JUDGED = ("NCCL_", "TORCH_NCCL_")
"""Prefixes whose every name is in the table; of others only some are."""
MOST_SETTINGS = 500
"""More than any host sets; the rest is not judged."""
MOST_SLIPS = 100
"""Unknown names for which one that is like them is looked for; it takes milliseconds each."""


class NcclSetting(Facts):
    """One variable in one place."""

    name: str
    value: Annotated[str | None, "none for what may be secret, names a host or a single card"] = None
    where: Annotated[str, "the environment, or file and line"]
    place: Annotated[Place, "environment of this session, file of NCCL, login"]
    family: Annotated[Family, "who reads it; unknown: nobody that is known"]
    use: Annotated[str, "site, diagnosis, debugging or internal, as NVIDIA's guide has it; empty for all others"] = ""
    number: Annotated[int | None, "what NCCL makes of the value of one that it reads as a number"] = None
    fault: Annotated[Fault | None, "what is wrong with the value"] = None
    file_there: Annotated[bool | None, "the file that it names is there; of those whose file must be"] = None
    leftover: Annotated[bool | None, "a value that only helps to find a fault, and costs while it stays"] = None
    meant: Annotated[str, "of an unknown one, the name that is like it; empty: none is"] = ""
    instead: Annotated[str, "what to use in its place; empty: nothing"] = ""
    since: Annotated[str, "release that first read it; empty: all since 2.3, or not known"] = ""
    deprecated: Annotated[str, "release that deprecated it; empty: none"] = ""
    removed: Annotated[str, "release without it, or 'after' the last with it; empty: it is read"] = ""


class Nccl(Facts):
    """The variables of the operator, of the site and of its vendor."""

    settings: Annotated[tuple[NcclSetting, ...] | None, "NCCL_, and what PyTorch reads, as far as it is known"] = None
    names: Annotated[tuple[str, ...] | None, "what is set anywhere; unknown where one place could not be read"] = None
    choices: Annotated[tuple[NcclChoice, ...] | None, "variables that name interfaces or RDMA devices"] = None
    vendor_profile: Annotated[bool | None, "the vendor's own profile lies on this host, and knows best"] = None
    too_new: Annotated[tuple[str, ...] | None, "variables that the NCCL beside PyTorch does not read yet"] = None


def derive(nccl_conf: NcclConf, python: Python | None, net: Net | None, rdma: Rdma | None) -> Nccl:
    """The settings of ``nccl_conf``, judged."""
    placed = list(_placed(nccl_conf))
    unknown = dict.fromkeys(one.name for one in placed if one.name not in KNOBS)
    meant = {name: nearest_name(name) for name in list(unknown)[:MOST_SLIPS]}
    parts = (nccl_conf.environment, nccl_conf.lines, nccl_conf.logins)
    settings = (
        None
        if all(part is None for part in parts)
        else tuple(_judged(one, meant, nccl_conf.absent_files) for one in placed[:MOST_SETTINGS])
    )
    paths = nccl_conf.vendor_paths
    return Nccl(
        origin=nccl_conf.origin,
        settings=settings,
        names=None if any(part is None for part in parts) else tuple(sorted({one.name for one in placed})),
        choices=None if settings is None else choices(placed[:MOST_SETTINGS], net, rdma),
        vendor_profile=None if paths is None else bool(paths),
        too_new=_too_new(settings, python.nccl_version if python is not None else None),
        origins={
            "names": _missing_place(nccl_conf),
            "vendor_profile": nccl_conf.origins.get("vendor_paths", nccl_conf.origin),
            "too_new": python.origins.get("nccl_version", python.origin) if python is not None else "",
        },
    )


def _placed(conf: NcclConf) -> Iterator[Named]:
    """Every variable that somebody here may read, with where it stands; an empty value counts as not set.

    Of one that the environment has from a login's file, the file is told: there it must be changed.
    """
    from_logins = {(login.name, login.value) for login in conf.logins or ()}
    for one in conf.environment or ():
        if (one.name, one.value) in from_logins:
            continue
        if one.value != "" and _is_ours(one.name):
            yield Named(one.name, one.value, "the environment", "environment", one.origin)
    for line in conf.lines or ():
        # A line that NCCL cannot read as it was meant is told of as a line.
        if line.name is not None and line.counts and line.value != "" and _is_ours(line.name):
            yield Named(line.name, line.value, f"{line.path}:{line.line}", "file", line.path)
    for login in conf.logins or ():
        if login.value != "" and _is_ours(login.name):
            yield Named(login.name, login.value, f"{login.path}:{login.line}", "login", login.path)


def _is_ours(name: str) -> bool:
    return (name.startswith(_JUDGED) and not name[-1].isspace()) or name in KNOBS


def _missing_place(conf: NcclConf) -> str:
    """Where the first list that could not be read should have come from."""
    if conf.environment is None:
        return conf.origins.get("environment", conf.origin)
    return conf.origins.get("logins", conf.origin) if conf.lines is not None else conf.origin


def _judged(one: Named, meant: Mapping[str, str], absent: tuple[str, ...] | None) -> NcclSetting:
    knob = KNOBS.get(one.name)
    told: Mapping[str, object] = {
        "family": "unknown",
        "fault": "none",
        "leftover": False,
        "meant": meant.get(one.name, ""),
    }
    if knob is not None:
        told = {
            "family": knob.kind,
            "use": knob.use,
            "number": number_taken(one.value) if knob.number and one.value is not None else None,
            "fault": None if one.value is None else fault_of(knob, one.value),
            "leftover": None if one.value is None else bool(re.fullmatch(knob.leftover, one.value)),
            "file_there": one.value not in absent if one.name in FILES and absent is not None else None,
            "instead": knob.instead,
            "since": knob.since,
            "deprecated": knob.deprecated,
            "removed": knob.removed,
        }
    return NcclSetting.model_validate(
        {"origin": one.origin, "name": one.name, "value": one.value, "where": one.where, "place": one.place, **told}
    )


def _too_new(settings: tuple[NcclSetting, ...] | None, installed: str | None) -> tuple[str, ...] | None:
    have = _release(installed or "")
    if settings is None or have is None:
        return None
    newer = {one.name for one in settings if one.family == "nccl" and (_release(one.since) or have) > have}
    return tuple(sorted(newer))


def _release(text: str) -> tuple[int, ...] | None:
    """The numbers of a release. Sample: ``2.27.3``"""
    return tuple(map(int, text.split("."))) if re.fullmatch(r"\d{1,5}(\.\d{1,5}){0,4}", text, re.ASCII) else None
