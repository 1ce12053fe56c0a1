"""Idle states: how deep CPUs sleep and how long they take to wake up.

Format: https://docs.kernel.org/admin-guide/pm/cpuidle.html
"""

from collections.abc import Iterable
from typing import Annotated

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Facts, File
from advisor.probes._cpulist import numbered
from advisor.probes._sampled_cpus import sampled
from advisor.probes._sysfs import not_offered

CPUS = "/sys/devices/system/cpu"


class IdleState(Facts):
    """One idle state of one CPU, from its folder ``cpuN/cpuidle/stateK``."""

    number: int
    name: Annotated[str | None, File("name"), "POLL, C1, C1E, C6 ... as the driver calls it"] = None
    latency_usecs: Annotated[int | None, File("latency"), "microseconds that waking up takes"] = None
    residency_usecs: Annotated[int | None, File("residency"), "microseconds of sleep from which it pays"] = None
    disabled: Annotated[bool | None, File("disable"), "true: somebody switched it OFF"] = None
    default: Annotated[str | None, File("default_status"), "enabled or disabled, when nobody says otherwise"] = None


def read_idle_states(host: Host, numbers: Iterable[int]) -> tuple[tuple[IdleState, ...] | None, bool | None]:
    """The states of the first CPU of a few, and whether others of them have other states switched off."""
    few = sampled(numbers)
    if not few:
        return None, None
    folder = f"{CPUS}/cpu{few[0]}/cpuidle"
    names = host.names(folder)
    if names is None:
        return () if host.gaps.get(folder) == "absent" else None, None
    states = tuple(_state(host, level, f"{folder}/state{level}") for level in numbered(names, "state"))
    off = {tuple(state.disabled for state in states)}
    off.update(tuple(_disabled(host, number, state.number) for state in states) for number in few[1:])
    return states, None if not states or any(None in one for one in off) else len(off) > 1


def _state(host: Host, number: int, folder: str) -> IdleState:
    given = not_offered(IdleState, host.names(folder) or ())
    return read_fields(host, IdleState, folder, number=number, **given)


def _disabled(host: Host, cpu: int, level: int) -> bool | None:
    return {"0": False, "1": True}.get(host.text(f"{CPUS}/cpu{cpu}/cpuidle/state{level}/disable") or "")
