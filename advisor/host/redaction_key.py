"""The secret that tokens of a redacted capture hang on."""

import os
from hashlib import blake2b

_MACHINE_ID = "/etc/machine-id"
_LEAST_CHARACTERS = 16


def redaction_key() -> bytes:
    """A secret of the machine that redacts, the same every time, which no capture holds; else one for this once."""
    try:
        with open(_MACHINE_ID, "rb") as file:
            identifier = file.read(4096).strip()
    except OSError:
        identifier = b""
    if len(identifier) < _LEAST_CHARACTERS:
        return os.urandom(32)
    return blake2b(identifier, digest_size=32, person=b"advisor capture").digest()
