"""``--amp``: what the training step is measured in too."""

from collections.abc import Callable
from typing import TypeVar

import click

from advisor.commands._measured import Described
from advisor.errors import InputError
from advisor.inputs import printable
from advisor.model.trial import AutocastType

_Command = TypeVar("_Command", bound=Callable[..., object])


class Autocast(click.ParamType[AutocastType]):
    """A type that ``torch.autocast`` runs a step in without more ado."""

    name = "type"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> AutocastType:
        """The type's name."""
        if value == "float16":
            self.fail("float16 needs loss scaling, which is in the job's own step; give bfloat16", param, ctx)
        if value != "bfloat16":
            self.fail(f"{value!r} is not a type that can be measured; give bfloat16", param, ctx)
        return "bfloat16"


def amp_option(command: _Command) -> _Command:
    """Adds ``--amp``."""
    told = "Also measure the training step in autocast to bfloat16. It changes numerics: never chosen unasked."
    return click.option("--amp", type=Autocast(), help=told)(command)


def refuse_without_a_step(amp: AutocastType | None, described: Described) -> None:
    """Raises InputError where there is nothing to run in autocast."""
    if amp is not None and not described.declared.has_step:
        raise InputError(
            f"--amp {amp}: {printable(described.title)} has no training step to run in autocast; "
            "give an advisor.Workload with a step, or leave --amp out"
        )
