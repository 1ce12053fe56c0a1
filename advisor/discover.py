"""Units of a package, found by folder: one file is one unit, names starting with ``_`` are not units."""

import importlib
import typing
from pathlib import Path
from types import ModuleType

from advisor.model.facts import Facts

_ROOT = Path(__file__).resolve().parent


def unit_names(package: str) -> tuple[str, ...]:
    """Names of the units in ``advisor.<package>``, sorted, without importing any."""
    found = {p.stem for p in (_ROOT / package).glob("*.py") if not p.name.startswith("_")}
    return tuple(sorted(found))


def unit(package: str, name: str) -> ModuleType:
    """The module of one unit."""
    return importlib.import_module(f"advisor.{package}.{name}")


def units(package: str) -> dict[str, ModuleType]:
    """All units of ``advisor.<package>`` by name."""
    return {name: unit(package, name) for name in unit_names(package)}


def probe_models() -> dict[str, type[Facts]]:
    """The fact model of each probe, by section name, read off the return annotation of its ``read``."""
    return {name: probe_model(module) for name, module in units("probes").items()}


def probe_model(module: ModuleType) -> type[Facts]:
    """The fact model of one probe."""
    return _returned(module, "read")


def derived_models() -> dict[str, type[Facts]]:
    """The fact model of each derived section, read off the return annotation of its ``derive``."""
    return {name: _returned(module, "derive") for name, module in units("derived").items()}


def _returned(module: ModuleType, function: str) -> type[Facts]:
    model: type = typing.get_type_hints(getattr(module, function))["return"]
    assert issubclass(model, Facts), f"{module.__name__}.{function} must return Facts"
    return model
