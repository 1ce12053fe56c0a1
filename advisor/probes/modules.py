"""Kernel modules that matter for training, their parameters, and what modprobe.d and the command line ask for.

An option that the module does not know is only warned of by the kernel, so a line of modprobe.d proves nothing:
compare with ``accepts``. Format: modprobe.d(5), https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

from typing import Annotated

from advisor.host.base import Host
from advisor.model.facts import Facts, File

ORIGIN = "/sys/module"


class Parameter(Facts):
    """The present value of a module's parameter."""

    name: str
    value: Annotated[str | None, "as the kernel prints it"] = None


class Module(Facts):
    """One module of interest, from its folder below ``/sys/module``."""

    name: Annotated[str, "with underscores"]
    loaded: Annotated[bool | None, "loaded, or built in and shown in /sys/module"] = None
    built_in: Annotated[bool | None, "part of the kernel image (it has no initstate)"] = None
    version: Annotated[str | None, File("version"), "drivers from outside the kernel have one, most others not"] = None
    parameters: Annotated[tuple[Parameter, ...] | None, File("parameters"), "readable parameters by name"] = None
    accepts: Annotated[tuple[str, ...] | None, "every parameter that it knows; none known is unknown"] = None


class ModuleOption(Facts):
    """One ``parameter=value`` that a configuration file or the kernel command line asks for."""

    module: Annotated[str, "with underscores"]
    parameter: str
    value: Annotated[str | None, "none for a parameter without ="] = None
    path: str = ""
    line: int | None = None
    wins: Annotated[bool | None, "no later line sets the same parameter"] = None


class Modules(Facts):
    """Modules of interest that are loaded or configured, and all options that are asked for."""

    modules: Annotated[tuple[Module, ...] | None, "by name"] = None
    options: Annotated[tuple[ModuleOption, ...] | None, "in the order in which modprobe adds them up"] = None


def read(host: Host) -> Modules:
    """The kernel modules of ``host``."""
    return Modules(origin=ORIGIN)


def module_named(modules: Modules, name: str) -> Module | None:
    """The module of this name, ``-`` and ``_`` being the same; ``None`` when it is not listed."""
    wanted = name.replace("-", "_")
    return next((module for module in modules.modules or () if module.name == wanted), None)
