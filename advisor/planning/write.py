"""Writing OUT: whole files or none, only what changed, never over an edit of the user's, never outside OUT."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """Paths below OUT, each list sorted."""

    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
