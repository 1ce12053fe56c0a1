"""Where temporary files go, and one sentence for when they cannot."""

import contextlib
import tempfile
from collections.abc import Iterator

from advisor.errors import InputError
from advisor.inputs import printable


def temporary_base() -> str:
    """The folder for temporary files. Raises InputError where there is none that can be written."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise InputError(f"{error.strerror}: set TMPDIR to a folder that can be written and has room") from None


@contextlib.contextmanager
def written_in(folder: str) -> Iterator[None]:
    """Turns what the system says of temporary files in ``folder`` into InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write in {printable(folder)}, the folder for temporary files: {error.strerror}; "
            "make room there or set TMPDIR to another folder"
        ) from None
