"""Running every probe once, and those that hold counters a second time."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType

from advisor.discover import probe_model
from advisor.host.base import Host
from advisor.model.facts import Facts
from advisor.model.sample import holds_counters, sample_of
from advisor.model.snapshot import Snapshot, Source


@dataclass(frozen=True)
class Defect:
    """A probe that raised: a mistake of ours, never the host's fault."""

    probe: str
    error: str


@dataclass(frozen=True)
class Reading:
    """What probes read, and when each began, in seconds of the monotonic clock."""

    snapshot: Snapshot
    defects: tuple[Defect, ...]
    began: Mapping[str, float]


def run_probes(host: Host, probes: Mapping[str, ModuleType]) -> tuple[Snapshot, tuple[Defect, ...]]:
    """A Snapshot of what all ``probes`` (by name) read, and the probes that failed; the others go on."""
    reading = read_all(host, probes)
    return reading.snapshot, reading.defects


def counting(probes: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    """Those of ``probes`` whose facts hold counters."""
    return {name: module for name, module in probes.items() if holds_counters(probe_model(module))}


def between(first: Reading, second: Reading) -> dict[str, float]:
    """Seconds from one reading to the other, of the sections that are in both."""
    both = [name for name in second.snapshot.facts if name in first.snapshot.facts]
    return {name: second.began[name] - first.began[name] for name in both}


def sampled(first: Snapshot, second: Snapshot, seconds: Mapping[str, float]) -> Snapshot:
    """``first`` with what grew until ``second``."""
    return replace(first, sample=sample_of(first.facts, second.facts, seconds))


def read_all(host: Host, probes: Mapping[str, ModuleType]) -> Reading:
    """What all ``probes`` read, with the time at which each began."""
    facts: dict[str, Facts] = {}
    began: dict[str, float] = {}
    defects = []
    for name, module in probes.items():
        began[name] = time.monotonic()
        try:
            facts[name] = module.read(host)
        except Exception as error:  # noqa: BLE001 - the one place that catches a defective probe
            defects.append(Defect(name, f"{type(error).__name__}: {error}"))
    source = Source(kind=host.kind, root_user=host.root_user)
    return Reading(Snapshot(source=source, facts=facts, gaps=dict(host.gaps)), tuple(defects), began)
