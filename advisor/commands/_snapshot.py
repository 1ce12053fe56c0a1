"""The Snapshot that a command works on: probed live, from a captured root, or read from facts.json."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from advisor.commands._given import refuse_given_with
from advisor.derived._run import derive_all
from advisor.discover import derived_models, probe_models, units
from advisor.errors import InputError
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.inputs import printable, read_text
from advisor.model.job import Job
from advisor.model.snapshot import Snapshot, parse_snapshot
from advisor.probes._run import Defect, Reading, between, counting, read_all, sampled


def snapshot_from(
    root: str | None,
    facts: str | None,
    given: Mapping[str, str],
    job: Job | None = None,
    sample: float | None = None,
) -> tuple[Snapshot, tuple[Defect, ...]]:
    """The Snapshot of ``--root`` (default: this machine) or ``--facts``, with everything derived from it.

    ``given``: files about the machine that add to it, kind to text. ``sample``: seconds after which a live host's
    counters are read again.
    """
    if root is not None and facts is not None:
        raise InputError("--root and --facts exclude each other: give the one that the facts are to come from")
    if facts is not None and sample is not None:
        raise InputError("--facts and --sample exclude each other: facts from a file cannot be read a second time")
    if facts is not None:
        refuse_given_with("--facts", given)
        snapshot = parse_snapshot(read_text(facts), probe_models(), printable(facts))
        return derive(snapshot, job), ()
    return probe_host(open_root(root or "/"), job, sample, given)


def probe_host(
    host: Host, job: Job | None = None, sample: float | None = None, given: Mapping[str, str] | None = None
) -> tuple[Snapshot, tuple[Defect, ...]]:
    """The Snapshot of a Host, with everything derived from it, and the probes that failed. ``given``: files about it.

    With a ``sample`` of so many seconds, or a second reading in a capture, it tells what grew meanwhile.
    """
    host.given = given or {}
    with _no_collecting():
        probes = units("probes")
        first = read_all(host, probes)
        snapshot, second = first.snapshot, read_again(host, first, probes, sample)
        if second is not None:
            snapshot = sampled(snapshot, second.reading.snapshot, second.seconds)
        defects = (*first.defects, *(second.reading.defects if second is not None else ()))
        return derive(snapshot, job), tuple(dict.fromkeys(defects))


@dataclass(frozen=True)
class Second:
    """A second reading of the probes that hold counters: of what host, and how long after the first by section."""

    host: Host
    reading: Reading
    seconds: dict[str, float]


def read_again(
    host: Host,
    first: Reading,
    probes: Mapping[str, ModuleType],
    sample: float | None,
    wrapped: Callable[[Host], Host] = lambda host: host,
) -> Second | None:
    """The second reading: that in a capture, or of a live host ``sample`` seconds after the first; else ``None``.

    ``wrapped``: what the probes are to ask in the host's place.
    """
    again = host.again()
    if again is None and (sample is None or host.kind != "live"):
        return None
    if again is None and sample is not None:
        time.sleep(sample)
    asked = wrapped(host if again is None else again.host)
    asked.given = host.given
    reading = read_all(asked, counting(probes))
    seconds = between(first, reading) if again is None else again.after(reading.snapshot.facts)
    return Second(asked, reading, seconds)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Pauses the search for garbage: probing makes thousands of objects and throws hardly any away. What is there at
    the end is left out of later searches too, the first of which would walk through all of it (a tenth of the time of
    ``advisor probe``)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()
            gc.enable()


def derive(snapshot: Snapshot, job: Job | None = None) -> Snapshot:
    """``snapshot`` with all derived sections."""
    return derive_all(snapshot, units("derived"), job)


def schema() -> dict[str, type]:
    """Every section that rules may name and its model: probed, derived and the job."""
    return {**probe_models(), **derived_models(), "job": Job}
