"""The Snapshot that a command works on: probed live, from a captured root, or read from facts.json."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from advisor.commands._given import refuse_given_with
from advisor.derived._run import derive_all
from advisor.discover import derived_models, probe_models, units
from advisor.errors import InputError
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.inputs import printable, read_text
from advisor.model.job import Job
from advisor.model.snapshot import Snapshot, parse_snapshot
from advisor.probes._run import Defect, run_probes


def snapshot_from(
    root: str | None, facts: str | None, given: Mapping[str, str], job: Job | None = None
) -> tuple[Snapshot, tuple[Defect, ...]]:
    """The Snapshot of ``--root`` (default: this machine) or ``--facts``, with everything derived from it.

    ``given``: files about the machine that add to it, kind to text.
    """
    if root is not None and facts is not None:
        raise InputError("--root and --facts exclude each other: give the one that the facts are to come from")
    if facts is not None:
        refuse_given_with("--facts", given)
        snapshot = parse_snapshot(read_text(facts), probe_models(), printable(facts))
        return derive(snapshot, job), ()
    return probe_host(open_root(root or "/"), job, given)


def probe_host(
    host: Host, job: Job | None = None, given: Mapping[str, str] | None = None
) -> tuple[Snapshot, tuple[Defect, ...]]:
    """The Snapshot of a Host, with everything derived from it, and the defects. ``given``: files about it."""
    host.given = given or {}
    with _no_collecting():
        snapshot, defects = run_probes(host, units("probes"))
        return derive(snapshot, job), defects


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
