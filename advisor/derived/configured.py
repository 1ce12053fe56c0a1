"""Who sets a value, and who wins: sysctl keys, module parameters and the limits of services.

For a kernel parameter all that may set it comes in its order at boot: the files of sysctl.d by name, then TuneD, then
those of them that TuneD applies once more. A value in force that is another than the last one was set by hand, by a
program or by a rule of udev later on.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from advisor.model.facts import Facts, GapState, evidence_path
from advisor.probes.modules import ModuleOption, Modules, module_named
from advisor.probes.platform import Platform
from advisor.probes.sysctl import ORIGIN, Sysctl, SysctlLine, key_file, key_name, live_value
from advisor.probes.systemd import Systemd, service_named
from advisor.probes.tuned import Tuned
from advisor.probes.udev import Udev

_SWITCHES = {"Y": "1", "N": "0", "y": "1", "n": "0"}
_REAPPLIED = ("/etc/sysctl.d/", "/run/sysctl.d/", "/etc/sysctl.conf")
"""What TuneD applies once more; it leaves out what packages bring in /usr."""


class Setter(Facts):
    """One line that sets a key."""

    value: str
    path: str
    line: int | None = None
    by: Annotated[str, "sysctl.d, tuned, tuned again (sysctl.d applied once more by it), udev, modprobe.d, cmdline"]
    pattern: Annotated[bool, "it names the key by * or ?"] = False

    def place(self) -> str:
        """Path and line, as in ``/etc/sysctl.d/99-site.conf:4``."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Configured(Facts):
    """One key that files set, with the value in force."""

    key: Annotated[str, "vm.swappiness, nvidia.NVreg_EnableMSI ..."]
    live: Annotated[str | None, "the value in force"] = None
    wins: Annotated[Setter | None, "the line that counts at boot; none when only a rule of udev sets it"] = None
    setters: Annotated[tuple[Setter, ...], "all lines that set it, in their order; the last one wins"] = ()
    drifted: Annotated[bool | None, "the value in force is not the one that the winning line asks for"] = None
    exists: Annotated[bool | None, "this kernel, or the loaded module, knows the key"] = None
    overridden: Annotated[bool | None, "a line in /etc is replaced by a later one with another value"] = None


class Configuration(Facts):
    """Keys that configuration files set, and which file wins."""

    sysctl: Annotated[tuple[Configured, ...] | None, "kernel parameters by key"] = None
    modules: Annotated[tuple[Configured, ...] | None, "parameters of kernel modules by key"] = None
    tuned_active: Annotated[bool | None, "TuneD runs, or starts with the system, and has a profile"] = None


def derive(
    sysctl: Sysctl,
    modules: Modules | None,
    tuned: Tuned | None,
    systemd: Systemd | None,
    udev: Udev | None,
    platform: Platform | None,
    gaps: Mapping[str, GapState],
) -> Configuration:
    """Which line of which file is behind each configured value."""
    active = tuned_active(tuned, systemd)
    own = platform is not None and platform.container is True
    return Configuration(
        origin=sysctl.origin,
        sysctl=_sysctl(sysctl, tuned if active else None, udev, gaps, own),
        modules=_modules(modules, own),
        tuned_active=active,
        origins={
            "sysctl": evidence_path(sysctl, "configured"),
            "modules": evidence_path(modules or Modules(), "options"),
            "tuned_active": evidence_path(tuned or Tuned(), "profile"),
        },
    )


def tuned_active(tuned: Tuned | None, systemd: Systemd | None) -> bool | None:
    """Whether TuneD's profile holds. A profile that is named where TuneD is not installed holds nothing."""
    if tuned is None or tuned.profile is None:
        return None if tuned is None else False
    service = service_named(systemd or Systemd(), "tuned")
    if service is None:
        return None if systemd is None or systemd.services is None else False
    return service.running if service.running is not None else service.enabled and not service.masked


def _sysctl(
    sysctl: Sysctl, tuned: Tuned | None, udev: Udev | None, gaps: Mapping[str, GapState], own: bool
) -> tuple[Configured, ...] | None:
    if sysctl.configured is None:
        return None
    patterns = [line for line in sysctl.configured if line.pattern]
    found: dict[str, list[Setter]] = {}
    live: dict[str, str | None] = {}
    for line in sysctl.configured:
        if not line.pattern:
            found.setdefault(line.key, []).append(_of_line(line))
            live[line.key] = line.live if line.wins else live.get(line.key)
    for key, setters in found.items():
        # A pattern does not change a key that a line names: systemd-sysctl sets the keys that are named last.
        setters[:0] = [_of_line(line) for line in patterns if fnmatchcase(key_file(key), key_file(line.key))]
    by_tuned = _tuned(tuned)
    for setter, key in by_tuned:
        mine = found.setdefault(key, [])
        mine.append(setter)
        live.setdefault(key, shown(sysctl, key))
    if tuned is not None and by_tuned and tuned.reapply_sysctl is not False:
        for setters in found.values():
            again = [
                one for one in setters if one.by == "sysctl.d" and not one.pattern and one.path.startswith(_REAPPLIED)
            ]
            # All of these lines are applied, also where the profile does not set the key.
            if again and setters[-1] is not again[-1]:
                setters.append(again[-1].model_copy(update={"by": "tuned again"}))
    for setter, key in _udev(udev):
        found.setdefault(key, []).append(setter)
        live.setdefault(key, shown(sysctl, key))
    return tuple(_setting(key, setters, live.get(key), gaps, own) for key, setters in sorted(found.items()))


def shown(sysctl: Sysctl, key: str) -> str | None:
    """The value in force of a key that no line of sysctl.d names, where a fact has it."""
    value, _ = live_value(sysctl, key)
    return None if value is None else " ".join(value.split())


def _of_line(line: SysctlLine) -> Setter:
    return Setter(
        origin=line.path, value=line.value, path=line.path, line=line.line, by="sysctl.d", pattern=line.pattern
    )


def _tuned(tuned: Tuned | None) -> list[tuple[Setter, str]]:
    return [
        (Setter(origin=line.path, value=line.value, path=line.path, line=line.line, by="tuned"), key_name(line.key))
        for line in (tuned.lines if tuned else None) or ()
        if line.plugin == "sysctl" and line.counts and line.key not in ("replace", "enabled", "devices", "priority")
    ]


def _udev(udev: Udev | None) -> list[tuple[Setter, str]]:
    """Parameters that rules of udev set for all devices; those with a device's name in them are not looked up."""
    return [
        (Setter(origin=one.path, value=one.value, path=one.path, line=one.line, by="udev"), key_name(one.attribute))
        for one in (udev.settings if udev else None) or ()
        if one.key.startswith("SYSCTL") and one.attribute and not set("$%*") & set(one.attribute)
    ]


def _setting(key: str, setters: list[Setter], live: str | None, gaps: Mapping[str, GapState], own: bool) -> Configured:
    path = f"{ORIGIN}/{key_file(key)}"
    at_boot = [one for one in setters if one.by != "udev"]
    wins = at_boot[-1] if at_boot else None
    exists = True if live is not None else False if gaps.get(path) == "absent" and not own else None
    plain = wins is not None and not set("$<>") & set(wins.value)  # TuneD has variables and "at least" (>)
    return Configured(
        origin=path,
        key=key,
        live=live,
        wins=wins,
        setters=tuple(setters),
        drifted=None if live is None or wins is None or not plain or own else not same(live, wins.value),
        exists=exists,
        overridden=None if wins is None else any(_replaced(one, wins) for one in setters),
        origins=dict.fromkeys(("wins", "setters", "overridden"), setters[-1].path),
    )


def _replaced(one: Setter, wins: Setter) -> bool:
    """Whether an operator's line names the key and does not get its value."""
    return one.by == "sysctl.d" and one.path.startswith("/etc/") and not one.pattern and one.value != wins.value


def same(live: str, asked: str) -> bool:
    """Whether the kernel shows what was asked for: blanks do not matter, and numbers may be written in hex or octal."""
    one, other = live.split(), asked.strip("\"'").split()
    if len(one) != len(other):
        return False
    return all(a == b or _number(a) == _number(b) is not None for a, b in zip(one, other, strict=True))


def _number(word: str) -> int | None:
    try:
        return int(word, 8 if word.startswith("0") and word.isdigit() else 0)
    except ValueError:
        return None


def _modules(modules: Modules | None, own: bool) -> tuple[Configured, ...] | None:
    if modules is None or modules.options is None:
        return None
    found: dict[tuple[str, str], list[ModuleOption]] = {}
    for option in modules.options:
        found.setdefault((option.module, option.parameter), []).append(option)
    return tuple(_module(modules, options, own) for _, options in sorted(found.items()))


def _module(modules: Modules, options: list[ModuleOption], own: bool) -> Configured:
    last = options[-1]
    module = module_named(modules, last.module)
    parameters = (module.parameters if module else None) or ()
    live = next((one.value for one in parameters if one.name == last.parameter), None)
    setters = tuple(
        Setter(
            origin=one.path,
            value="" if one.value is None else one.value,
            path=one.path,
            line=one.line,
            by="cmdline" if one.line is None else "modprobe.d",
        )
        for one in options
    )
    asked = "1" if last.value is None else last.value
    return Configured(
        origin=f"/sys/module/{last.module}/parameters/{last.parameter}",
        key=f"{last.module}.{last.parameter}",
        live=live,
        wins=setters[-1],
        setters=setters,
        drifted=None if live is None or own else not same(_SWITCHES.get(live, live), _SWITCHES.get(asked, asked)),
        exists=last.accepted,
        overridden=any(one.path.startswith("/etc/") and one.value != last.value for one in options),
        origins=dict.fromkeys(("wins", "setters", "overridden"), last.path),
    )


def setting_of(settings: tuple[Configured, ...] | None, key: str) -> Configured | None:
    """The entry of ``key``; ``None`` when no file sets it."""
    return next((one for one in settings or () if one.key == key), None)
