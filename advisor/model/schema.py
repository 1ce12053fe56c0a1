"""The JSON Schema of facts.json and observations.json, made from the fact models."""

from collections.abc import Mapping
from typing import Any, get_args

from advisor.model.facts import Facts, GapState, marks
from advisor.model.snapshot import SCHEMA_VERSION, SampleTold, Source


def facts_schema(models: Mapping[str, type[Facts]]) -> dict[str, Any]:
    """The schema (draft 2020-12) of a snapshot whose sections have these models.

    ``x-file`` is the file below the model's ``origin`` that a field is read from; ``x-volatile`` fields are left out
    of facts.json, ``x-private`` ones of every file.
    """
    definitions: dict[str, Any] = {}
    sections = {name: _reference(model, definitions) for name, model in sorted(models.items())}
    source = Source.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "advisor facts",
        "type": "object",
        "additionalProperties": False,
        "required": ["facts", "gaps", "schema_version", "source"],
        "properties": {
            "schema_version": {"const": SCHEMA_VERSION},
            "source": {key: source[key] for key in ("type", "properties", "additionalProperties")},
            "facts": {"type": "object", "additionalProperties": False, "properties": sections},
            "gaps": {"type": "object", "additionalProperties": {"enum": list(get_args(GapState))}},
            "sample": SampleTold.model_json_schema(),
        },
        "$defs": dict(sorted(definitions.items())),
    }


def _reference(model: type[Facts], definitions: dict[str, Any]) -> dict[str, Any]:
    """A reference to ``model``, whose definition and those it needs are added to ``definitions``."""
    schema = model.model_json_schema(ref_template="#/$defs/{model}")
    definitions.update(schema.pop("$defs", {}))
    definitions[model.__name__] = schema
    for one in _models_in(model):
        _describe(one, definitions[one.__name__])
    return {"$ref": f"#/$defs/{model.__name__}"}


def _models_in(model: type[Facts]) -> list[type[Facts]]:
    """``model`` and the fact models of its fields."""
    found = [model]
    for info in model.model_fields.values():
        todo: list[Any] = [info.annotation]
        while todo:
            kind = todo.pop()
            if isinstance(kind, type) and issubclass(kind, Facts) and kind not in found:
                found += _models_in(kind)
            todo += get_args(kind)
    return found


def _describe(model: type[Facts], schema: dict[str, Any]) -> None:
    """Adds what the marks of the fields say; takes out what never reaches a file."""
    schema.pop("description", None)
    for name, mark in marks(model).items():
        if mark.private:
            del schema["properties"][name]
            continue
        entry = schema["properties"][name]
        entry.pop("title", None)
        entry.pop("default", None)
        entry.update({"description": mark.about} if mark.about else {})
        entry.update({"x-file": mark.file.name} if mark.file is not None else {})
        entry.update({"x-volatile": True} if mark.volatile else {})
        entry.update({"x-counter": True} if mark.counter is not None else {})
