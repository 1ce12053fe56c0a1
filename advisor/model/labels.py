"""What an item of a list of facts is called: by its own identity, not by its place."""

from typing import Any

from advisor.model.facts import Facts, marks

_IDENTITY = (
    "address",
    "index",
    "name",
    "mount_point",
    "point",
    "key",
    "parameter",
    "path",
    "number",
    "pci_address",
    "cpu",
    "program",
)
"""Fields that name an item of a list, the first that it has."""


def identity_of(item: Any) -> str | None:
    """The address, name or number of an item of a list, ``None`` when it has none that may be shown."""
    if not isinstance(item, Facts):
        return None
    known = marks(type(item))
    public = (name for name in _IDENTITY if name in known and not known[name].private)
    values = (getattr(item, name) for name in public)
    return next((str(value) for value in values if value not in (None, "")), None)


def label_of(item: Any, number: int) -> str:
    """What an item of a list is called: its identity when it has one, else its place."""
    return identity_of(item) or str(number)
