"""How a probe declares what it reads, for a collector that runs where advisor is not installed."""

from dataclasses import dataclass

from advisor.model.facts import Facts


@dataclass(frozen=True)
class Collected:
    """The files, listings and commands that a probe asks for, as shell patterns of absolute paths.

    A probe names it ``COLLECTED``. It may name more than the probe asks for, never less.
    """

    models: tuple[tuple[str, type[Facts]], ...] = ()
    """Folders, each with the fact model whose `File` marks name the files in it."""
    folders: tuple[tuple[str, str], ...] = ()
    """Folders that are listed, each with the names of files and links in it that are kept, by spaces; a name may be a
    pattern. ``*`` keeps all regular files, ``""`` keeps the listing alone."""
    files: tuple[str, ...] = ()
    large_files: tuple[str, ...] = ()
    """Files of more than 64 KiB."""
    there: tuple[str, ...] = ()
    """Paths that are only looked for."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Command lines that are the same on every node."""
    modes: tuple[str, ...] = ()
    """Files whose permission bits are kept."""
