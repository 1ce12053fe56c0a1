"""The options that name files about the machine, as sources beside the machine itself."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])
_OPTIONS = {
    "nvidia-smi-xml": "Output of `nvidia-smi -q -x` (or without -x): fills in what the host does not tell of its GPUs.",
    "topo-m": "Output of `nvidia-smi topo -m`: fills in how near GPUs and network cards are.",
    "nccl-topo": "What NCCL_TOPO_DUMP_FILE wrote: fills in how near GPUs and network cards are.",
}


def given_options(command: _Command) -> _Command:
    """Adds ``--nvidia-smi-xml``, ``--topo-m`` and ``--nccl-topo``; the command gets ``given``: kind to text."""

    @functools.wraps(command)
    def with_given(*arguments: Any, **options: Any) -> object:
        paths = {kind: options.pop(kind.replace("-", "_")) for kind in _OPTIONS}
        return command(*arguments, given=read_given(paths), **options)

    for kind, about in reversed(_OPTIONS.items()):
        click.option(f"--{kind}", metavar="FILE", help=about)(with_given)
    return with_given  # type: ignore[return-value]


def no_given_options(command: _Command) -> _Command:
    """Answers the same options, of a command that has no use for them, with what to do instead."""

    def refuse(_: click.Context, option: click.Parameter, path: str | None) -> None:
        from advisor.errors import InputError

        if path is not None:
            raise InputError(
                f"a capture holds what the host says itself: keep the file of {option.opts[0]} beside it, and give it "
                f"to advisor check --root CAPTURE {option.opts[0]} FILE"
            )

    for kind in _OPTIONS:
        click.option(f"--{kind}", hidden=True, expose_value=False, callback=refuse)(command)
    return command


def read_given(paths: Mapping[str, str | None]) -> Mapping[str, str]:
    """The text of each file that was given, by kind. Raises SourceError for one that is not what it should be."""
    given = {kind: path for kind, path in paths.items() if path is not None}
    return {kind: _read(kind, path) for kind, path in given.items()}


def _read(kind: str, path: str) -> str:
    from advisor.errors import SourceError
    from advisor.inputs import printable, read_text
    from advisor.probes._given import KINDS
    from advisor.probes._xml import NotReadable

    known = KINDS[kind]
    text = read_text(path, known.limit_bytes)
    try:
        known.parse(text)
    except NotReadable as error:
        raise SourceError(
            f"--{kind} {printable(path)} {printable(error)}; such a file comes from: {known.made_by}"
        ) from None
    return text


def refuse_given_with(option: str, given: Mapping[str, str]) -> None:
    """Raises InputError when files were given beside an option that they cannot add to."""
    from advisor.errors import InputError

    if given:
        kind = next(iter(given))
        raise InputError(
            f"{option} and --{kind} exclude each other: facts that were read already are not mixed with a file; "
            f"give --{kind} to the advisor probe that reads them"
        )
