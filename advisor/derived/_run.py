"""Deriving all sections in the order that their inputs ask for."""

import typing
from collections.abc import Mapping
from graphlib import TopologicalSorter
from types import ModuleType

from advisor.model.facts import Facts
from advisor.model.job import Job
from advisor.model.snapshot import Snapshot


def derive_all(snapshot: Snapshot, units: Mapping[str, ModuleType], job: Job | None = None) -> Snapshot:
    """The Snapshot with every derived section of ``units`` (by name) and the section ``job``.

    A unit's ``derive`` takes facts by annotation (``cpu: cpu.Cpu``), each ``Model`` or ``Model | None``; a unit
    whose required input is missing is left out. An argument annotated ``Mapping[str, GapState]`` gets the gaps.
    """
    known: dict[type, Facts] = {type(facts): facts for facts in snapshot.facts.values()}
    done: dict[str, Facts] = {"job": job or Job(origin="not told")}
    known[Job] = done["job"]
    hints = {name: typing.get_type_hints(module.derive) for name, module in units.items()}
    made_by = {hint["return"]: name for name, hint in hints.items()}
    needs = {name: _inputs(hint) for name, hint in hints.items()}
    graph = {
        name: {made_by[model] for model, _ in inputs.values() if model in made_by} for name, inputs in needs.items()
    }
    for name in TopologicalSorter(dict(sorted(graph.items()))).static_order():
        arguments: dict[str, object] = {}
        for argument, (model, required) in needs[name].items():
            arguments[argument] = snapshot.gaps if model is Mapping else known.get(model)
            if arguments[argument] is None and required:
                break
        else:
            done[name] = units[name].derive(**arguments)
            known[hints[name]["return"]] = done[name]
    return snapshot.with_derived(done)


def _inputs(hint: Mapping[str, object]) -> dict[str, tuple[type, bool]]:
    """Argument name to its model and whether it is required."""
    found: dict[str, tuple[type, bool]] = {}
    for argument, annotation in hint.items():
        if argument == "return":
            continue
        options = typing.get_args(annotation)
        if type(None) in options:
            model = next(option for option in options if option is not type(None))
            found[argument] = (model, False)
        elif typing.get_origin(annotation) is not None:
            found[argument] = (Mapping, True)
        else:
            assert isinstance(annotation, type)
            found[argument] = (annotation, True)
    return found
