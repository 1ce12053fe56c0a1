"""What the CPUs were busy with since boot, and how many tasks want them.

Formats: https://docs.kernel.org/filesystems/proc.html (stat, loadavg), proc_stat(5).
"""

import re
from collections.abc import Callable
from typing import Annotated, ClassVar, TypeVar

from advisor.host.base import Host
from advisor.model.facts import Counter, Facts, Seen, Volatile
from advisor.probes._collected import Collected

N = TypeVar("N", int, float)
ORIGIN = "/proc/stat"
LOADAVG = "/proc/loadavg"
_FIRST_LINE_BYTES = 4096
_TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")


class Load(Facts):
    """Sums over all CPUs since boot, in ticks of 1/100 second. Their growth over some seconds is what counts."""

    read_from: ClassVar[str] = "/proc/stat"
    seen: ClassVar[Seen | None] = "host"
    user_ticks: Annotated[int | None, Counter(), "programs, guests included"] = None
    nice_ticks: Annotated[int | None, Counter(), "programs of low priority"] = None
    system_ticks: Annotated[int | None, Counter(), "the kernel"] = None
    idle_ticks: Annotated[int | None, Counter(), "nothing"] = None
    iowait_ticks: Annotated[int | None, Counter(), "nothing while some task waited for a disk; not reliable"] = None
    irq_ticks: Annotated[int | None, Counter(), "interrupts"] = None
    softirq_ticks: Annotated[int | None, Counter(), "what interrupts put off, as packets"] = None
    steal_ticks: Annotated[int | None, Counter(), "wanted to run and the hypervisor ran others; 0 on hardware"] = None
    guest_ticks: Annotated[int | None, Counter(), "guests, counted in user too"] = None
    guest_nice_ticks: Annotated[int | None, Counter(), "guests of low priority, counted in nice too"] = None
    load_1_minute: Annotated[float | None, Volatile(), "tasks that run or wait for CPU or disk, on average"] = None
    load_5_minutes: Annotated[float | None, Volatile(), "likewise"] = None
    load_15_minutes: Annotated[float | None, Volatile(), "likewise"] = None
    runnable_tasks: Annotated[int | None, Volatile(), "tasks that run or wait for CPU now"] = None
    tasks: Annotated[int | None, Volatile(), "threads that exist"] = None


COLLECTED = Collected(files=(LOADAVG,), large_files=(ORIGIN,))


def read(host: Host) -> Load:
    """What the CPUs of ``host`` were busy with."""
    times = _parsed(host, ORIGIN, parse_times)
    averages = _parsed(host, LOADAVG, parse_loadavg)
    names = ("load_1_minute", "load_5_minutes", "load_15_minutes", "runnable_tasks", "tasks")
    return Load(
        origin=ORIGIN,
        **{f"{name}_ticks": value for name, value in times.items()},
        **averages,  # type: ignore[arg-type]
        origins=dict.fromkeys(names, LOADAVG),
    )


def _parsed(host: Host, path: str, parse: Callable[[str], dict[str, N]]) -> dict[str, N]:
    """What is in a file; nothing of it is a gap."""
    text = host.text(path, _FIRST_LINE_BYTES)
    values = {} if text is None else parse(text)
    if text is not None and not values:
        host.missed(path, "unsupported")
    return values


def parse_times(text: str) -> dict[str, int]:
    """Ticks by name, from the first line of ``/proc/stat``; old kernels have fewer columns.

    Sample: ``cpu  633359 0 176644 1667042 15723 0 2959 888 0 0``
    """
    words = text.partition("\n")[0].split()
    if len(words) < 5 or words[0] != "cpu" or not all(re.fullmatch(r"\d{1,20}", w, re.ASCII) for w in words[1:]):
        return {}
    return dict(zip(_TIMES, map(int, words[1:]), strict=False))


def parse_loadavg(text: str) -> dict[str, float | int]:
    """Averages and tasks. Sample: ``0.69 0.53 0.30 2/187 4711``"""
    number = r"(\d{1,9}\.\d\d)"
    found = re.match(rf"{number} {number} {number} (\d{{1,9}})/(\d{{1,9}}) ", text, re.ASCII)
    if found is None:
        return {}
    averages = map(float, found.group(1, 2, 3))
    return {
        **dict(zip(("load_1_minute", "load_5_minutes", "load_15_minutes"), averages, strict=True)),
        "runnable_tasks": int(found[4]),
        "tasks": int(found[5]),
    }
