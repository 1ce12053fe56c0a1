"""The command line: one verb for each file of ``commands/``, imported only when it is used."""

import ast
import errno
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from advisor import __version__, discover
from advisor.errors import AdvisorError, InputError
from advisor.inputs import printable

_COMMANDS = Path(__file__).resolve().parent / "commands"
_STREAM_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a standard stream answers that can take no more; so does a file, and not always with its name."""
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_WRITERS = ("click", "rich", __name__, "advisor.commands._progress")
"""Modules that write to standard streams."""


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
        with suppress(OSError):  # as in _tell
            error.show()
        return InputError.exit_status
    except (KeyboardInterrupt, click.exceptions.Abort):
        _tell("interrupted")
        return 130
    except AdvisorError as error:
        _tell(_safe(str(error)))
        return error.exit_status
    except (BrokenPipeError, SystemExit):  # click makes of most broken pipes an exit with 1, which means findings here
        return _reader_gone()
    except OSError as error:
        if error.errno in _STREAM_FULL and _is_of_a_stream(error):
            return _unwritable(error)
        if error.errno in _DISK_FULL:
            return _no_room(error)
        raise


def _tell(message: str) -> None:
    """A message on standard error; where even that cannot be written, the exit status has to say it."""
    with suppress(OSError):
        click.echo(f"advisor: {message}", err=True)


def _safe(message: str) -> str:
    """Lines of a message, each without control characters."""
    return "\n".join(printable(line) for line in message.split("\n"))


def _reader_gone() -> int:
    """The status of a process whose reader (``| head``) has gone; keeps Python quiet about the unwritten rest."""
    _drop_unwritten()
    return 128 + signal.SIGPIPE


def _is_of_a_stream(error: OSError) -> bool:
    """Whether it came of writing to a standard stream: all of that is done in the modules of _WRITERS."""
    *_, (last, _) = traceback.walk_tb(error.__traceback__)
    name = last.f_globals.get("__name__", "")
    return error.filename is None and (name in _WRITERS or name.partition(".")[0] in _WRITERS)


def _no_room(error: OSError) -> int:
    """The status when a file cannot be written for want of space, and nobody nearer to it has told of it."""
    what = printable(error.filename) if error.filename is not None else "a file for temporary use or of the cache"
    _tell(f"cannot write {what}: {error.strerror}; make room there, or name other folders by TMPDIR and XDG_CACHE_HOME")
    return InputError.exit_status


def _unwritable(error: OSError) -> int:
    """The status when standard output takes no more (a full disk)."""
    _drop_unwritten()
    _tell(f"cannot write to standard output: {error.strerror}")
    return InputError.exit_status


def _drop_unwritten() -> None:
    """Lets the rest of standard output go nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """Gives standard streams that the caller closed (``>&-``) to /dev/null; the next file would be taken for them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def main() -> None:
    """The entry point of the ``advisor`` command."""
    _open_closed_streams()
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
    _tell(f"defect, please report it: {_safe(told)}; ADVISOR_TRACEBACK=1 shows more")
    return AdvisorError.exit_status
