"""A capture of ours: a tree that recorded what it looked for, and the answers of commands and system calls.

Layout: see `advisor.host.recording`.
"""

from dataclasses import dataclass

from advisor.host.tree import Store, Tree

MARK = "advisor-capture.json"


@dataclass
class Capture(Tree):
    """A machine as it was recorded."""

    @classmethod
    def of(cls, store: Store, where: str) -> "Capture":
        """The capture in ``store``; ``where`` names it in errors."""
        raise NotImplementedError(where)
