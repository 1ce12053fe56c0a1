"""Memory errors that the memory controllers counted (EDAC).

Without a driver for the controllers, or with firmware that keeps the errors to itself, nothing is known of errors:
that is not the same as none.
Format: https://docs.kernel.org/admin-guide/RAS/main.html
"""

import re
from typing import Annotated, ClassVar

from advisor.host.base import Host
from advisor.host.fields import read_fields
from advisor.model.facts import Counter, Facts, File, Seen
from advisor.probes._collected import Collected
from advisor.probes._cpulist import numbered
from advisor.probes._sysfs import not_offered

ORIGIN = "/sys/devices/system/edac/mc"
_MIB = 1024 * 1024
_MODULE = re.compile(r"(?:dimm|rank)\d{1,4}", re.ASCII)


class MemoryModule(Facts):
    """One memory module or rank of it, from a folder ``dimmN`` or ``rankN``."""

    name: str
    label: Annotated[str | None, File("dimm_label"), "its slot, as the driver or the administrator calls it"] = None
    location: Annotated[str | None, File("dimm_location"), "its place by channel and slot"] = None
    kind: Annotated[str | None, File("dimm_mem_type"), "Registered-DDR4 ..."] = None
    size_bytes: Annotated[int | None, File("size", scale=_MIB)] = None
    corrected: Annotated[int | None, File("dimm_ce_count"), Counter(), "corrected errors since the count began"] = None
    uncorrected: Annotated[int | None, File("dimm_ue_count"), Counter(), "errors that were not corrected"] = None


class MemoryController(Facts):
    """One memory controller, from its folder ``mcN``. Counts begin when its driver is loaded."""

    number: int
    name: Annotated[str | None, File("mc_name"), "the driver's name of it"] = None
    size_bytes: Annotated[int | None, File("size_mb", scale=_MIB), "memory behind it"] = None
    corrected: Annotated[int | None, File("ce_count"), Counter(), "corrected errors"] = None
    uncorrected: Annotated[int | None, File("ue_count"), Counter(), "errors that were not corrected"] = None
    corrected_unplaced: Annotated[
        int | None, File("ce_noinfo_count"), Counter(), "corrected errors of no known module"
    ] = None
    modules: Annotated[tuple[MemoryModule, ...] | None, "its modules; old kernels show none"] = None


class Edac(Facts):
    """The memory controllers whose errors are counted; none: nothing is known of errors."""

    read_from: ClassVar[str] = "/sys/devices/system/edac/mc"
    seen: ClassVar[Seen | None] = "host"
    controllers: Annotated[tuple[MemoryController, ...] | None, "by number"] = None
    corrected: Annotated[int | None, Counter(sum_of="controllers"), "corrected errors over all controllers"] = None
    uncorrected: Annotated[
        int | None, Counter(sum_of="controllers"), "errors that were not corrected, over all controllers"
    ] = None


COLLECTED = Collected(
    models=(
        (f"{ORIGIN}/mc[0-9]*", MemoryController),
        (f"{ORIGIN}/mc[0-9]*/dimm[0-9]*", MemoryModule),
        (f"{ORIGIN}/mc[0-9]*/rank[0-9]*", MemoryModule),
    ),
    folders=((ORIGIN, ""),),
)


def read(host: Host) -> Edac:
    """The memory controllers of ``host``."""
    names = host.names(ORIGIN)
    if names is None:
        return Edac(origin=ORIGIN)
    controllers = tuple(_controller(host, number) for number in numbered(names, "mc"))
    if not controllers:
        # The folder is there without any driver.
        host.missed(f"{ORIGIN}/mc0", "absent")
    origins = dict.fromkeys(("corrected", "uncorrected"), f"{ORIGIN}/mc0")
    return Edac(
        origin=ORIGIN,
        controllers=controllers,
        corrected=_sum([one.corrected for one in controllers]),
        uncorrected=_sum([one.uncorrected for one in controllers]),
        origins=origins,
    )


def _controller(host: Host, number: int) -> MemoryController:
    folder = f"{ORIGIN}/mc{number}"
    names = host.names(folder)
    modules = None if names is None else tuple(_module(host, folder, n) for n in names if _MODULE.fullmatch(n))
    return read_fields(host, MemoryController, folder, number=number, modules=modules)


def _module(host: Host, controller: str, name: str) -> MemoryModule:
    folder = f"{controller}/{name}"
    return read_fields(host, MemoryModule, folder, name=name, **not_offered(MemoryModule, host.names(folder) or ()))


def _sum(counts: list[int | None]) -> int | None:
    """The sum; ``None`` when a count is not known, or nobody counts."""
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
