"""advisor.lock: versions, what the result rests on, and the hash of each generated file. No time, no host name."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor import __version__
from advisor.errors import InputError

LOCK_NAME = "advisor.lock"
_VERSION = 1
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Lock:
    """What the last run wrote."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Path below OUT to hash."""
    pending: Mapping[str, str] = field(default_factory=dict)
    """Hashes of files that were about to be written: there only after a run that was cut off."""
    validity: Mapping[str, object] = field(default_factory=dict)

    def knows(self, path: str, hashed: str) -> bool:
        """Whether a file with this hash is one that advisor wrote."""
        return hashed in (self.files.get(path), self.pending.get(path))


def content_hash(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def lock_text(lock: Lock) -> str:
    """The text of advisor.lock: JSON with sorted keys."""
    document: dict[str, object] = {
        "advisor": __version__,
        "files": dict(lock.files),
        "schema_version": _VERSION,
        "validity": dict(lock.validity),
    }
    if lock.pending:
        document["pending"] = dict(lock.pending)
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def parse_lock(text: str, where: str) -> Lock:
    """The Lock that `lock_text` wrote. Raises InputError for anything else: it may come from anybody's repository."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise _wrong(f"{where}:{line}", f"it is not JSON ({getattr(error, 'msg', 'nested too deep')})") from None
    if not isinstance(document, dict) or document.get("schema_version") != _VERSION:
        raise _wrong(where, f"it is no lock of version {_VERSION}")
    validity = document.get("validity", {})
    if not isinstance(validity, dict):
        raise _wrong(where, "validity must be an object")
    return Lock(_hashes(document, "files", where), _hashes(document, "pending", where), validity)


def safe_path(path: str) -> bool:
    """Whether ``path`` is a plain relative path of a file below OUT."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and not any(part in ("", ".", "..") for part in parts)


def _hashes(document: Mapping[str, object], name: str, where: str) -> dict[str, str]:
    hashes = document.get(name, {})
    if not isinstance(hashes, dict):
        raise _wrong(where, f"{name} must be an object")
    for path, hashed in hashes.items():
        if not safe_path(path):
            raise _wrong(where, f"{path!r} is no path below the folder")
        if not isinstance(hashed, str) or not _HASH.fullmatch(hashed):
            raise _wrong(where, f"the hash of {path!r} is no sha256")
    return hashes


def _wrong(where: str, what: str) -> InputError:
    return InputError(
        f"{where} cannot be used: {what}; restore it from git, or delete it together with the files beside it"
    )
