"""Names of settings whose values are credentials or name the host."""

import re

_SECRET = re.compile(
    r"(?:^|[._-])(?:pass(?:word|wd|phrase)?|secret|token|credentials?|psk|(?:api|auth|access)_?key|key)(?:$|[._-])"
    r"|(?:^|[._-])pwd?$|unique_id$",
    re.IGNORECASE,
)


def names_secret(name: str) -> bool:
    """Whether the value of a setting with this name is to be kept back. Sample: ``api_token``"""
    return _SECRET.search(name) is not None
