"""The command line: one verb for each file of ``commands/``, imported only when it is used."""

import ast
import os
import signal
import sys
import traceback
from pathlib import Path

import click

from advisor import __version__, discover
from advisor.errors import AdvisorError, InputError
from advisor.inputs import printable

_COMMANDS = Path(__file__).resolve().parent / "commands"


class Verbs(click.Group):
    """Commands found by folder; help texts are the first lines of the files, read without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, sorted."""
        return [name.replace("_", "-") for name in discover.unit_names("commands")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one verb; an unknown one is answered with the nearest."""
        if cmd_name not in self.list_commands(ctx):
            if ctx.resilient_parsing:
                return None
            raise click.exceptions.NoSuchCommand(cmd_name, possibilities=self.list_commands(ctx), ctx=ctx)
        command = discover.unit("commands", cmd_name.replace("-", "_")).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs with what each does."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(name)) for name in self.list_commands(ctx)])


def _summary(verb: str) -> str:
    source = (_COMMANDS / f"{verb.replace('-', '_')}.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="advisor")
def advisor() -> None:
    """Tells how to set up this GPU training node, proves it, and writes the configuration.

    On a new node: advisor probe && advisor tune. Then commit what it wrote and review report.md.
    """


def run(arguments: list[str]) -> int:
    """Runs one command line in this process and returns its exit status; nothing but defects raises."""
    try:
        status = advisor.main(arguments, prog_name="advisor", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return InputError.exit_status
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("advisor: interrupted", err=True)
        return 130
    except AdvisorError as error:
        click.echo(f"advisor: {_safe(str(error))}", err=True)
        return error.exit_status
    except BrokenPipeError:
        return _reader_gone()


def _safe(message: str) -> str:
    """Lines of a message, each without control characters."""
    return "\n".join(printable(line) for line in message.split("\n"))


def _reader_gone() -> int:
    """The status of a process whose reader (``| head``) has gone; keeps Python quiet about the unwritten rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 128 + signal.SIGPIPE


def main() -> None:
    """The entry point of the ``advisor`` command."""
    for stream in (sys.stdout, sys.stderr):
        # A locale without UTF-8 must not turn an odd device name into a traceback.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        status = run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 - a mistake of ours, told as such instead of as a traceback
        status = _defect(error)
    sys.exit(status)


def _defect(error: Exception) -> int:
    """Tells of a mistake in advisor itself, with the place to look at, and returns the exit status."""
    if os.environ.get("ADVISOR_TRACEBACK"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    told = f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"
    click.echo(f"advisor: defect, please report it: {_safe(told)}; ADVISOR_TRACEBACK=1 shows more", err=True)
    return AdvisorError.exit_status
