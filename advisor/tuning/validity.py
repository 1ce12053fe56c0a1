"""The validity key: when it is the same, a measurement still holds; when a part of it differs, measure again.

Nothing volatile may be part of it, or no measurement would ever be reused.
"""

import hashlib
import json
from collections.abc import Mapping

Part = str | int | float | bool | None
KEY_DIGITS = 16


def validity_key(parts: Mapping[str, Part]) -> str:
    """A short name for all ``parts`` together."""
    text = json.dumps(dict(parts), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def differences(ours: Mapping[str, Part], theirs: Mapping[str, Part]) -> tuple[str, ...]:
    """The names of the parts that differ, sorted."""
    return tuple(sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)))
