"""How a probe declares what it reads, for a collector that runs where advisor is not installed."""

from dataclasses import dataclass

from advisor.model.facts import Facts


@dataclass(frozen=True)
class Tool:
    """Vendors' programs for controllers on the PCI bus, asked as root where one with such a driver is.

    The first program that is there is asked all ``commands``; one that shares all its ``drivers`` with a tool that
    answered is not asked.
    """

    drivers: tuple[str, ...]
    programs: tuple[str, ...]
    """Names or absolute paths."""
    commands: tuple[tuple[str, ...], ...]
    """The words after the program, of each command."""


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
    config_spaces: tuple[str, ...] = ()
    """Folders of PCI devices whose configuration space, a binary file, is kept if `_pci_codes.kind_of` has a kind for
    their class and they do not sleep."""
    there: tuple[str, ...] = ()
    """Paths that are only looked for."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Command lines that are the same on every node."""
    tools: tuple[Tool, ...] = ()
    """What hardware RAID controllers are asked with."""
    modes: tuple[str, ...] = ()
    """Files whose permission bits are kept."""
