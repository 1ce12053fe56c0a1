"""Running every probe once."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from advisor.host.base import Host
from advisor.model.facts import Facts
from advisor.model.snapshot import Snapshot, Source


@dataclass(frozen=True)
class Defect:
    """A probe that raised: a mistake of ours, never the host's fault."""

    probe: str
    error: str


def run_probes(host: Host, probes: Mapping[str, ModuleType]) -> tuple[Snapshot, tuple[Defect, ...]]:
    """A Snapshot of what all ``probes`` (by name) read, and the probes that failed; the others go on."""
    facts: dict[str, Facts] = {}
    defects = []
    for name, module in probes.items():
        try:
            facts[name] = module.read(host)
        except Exception as error:  # noqa: BLE001 - the one place that catches a defective probe
            defects.append(Defect(name, f"{type(error).__name__}: {error}"))
    source = Source(kind=host.kind, root_user=host.root_user)
    return Snapshot(source=source, facts=facts, gaps=dict(host.gaps)), tuple(defects)
