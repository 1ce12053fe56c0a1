"""The script that makes a capture on a node with nothing installed: its parts, joined and filled in."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from advisor import __version__
from advisor.host.nvml import LIBRARY_FOLDERS
from advisor.host.recording import KEPT_ENVIRONMENT, NO_SECRETS, SECRET_WORDS

_PARTS = Path(__file__).with_name("collector_parts")
_PLACE = re.compile(r"@([A-Z_]+)@")
_RULE = re.compile(r"[\w@./*?\[\]\-: \t]+")


def collector_script(rules: Sequence[str], values: Mapping[str, str]) -> str:
    """The text of the script. ``rules`` are lines of kind, path pattern and names with tabs between."""
    assert all(map(_RULE.fullmatch, rules)), "a rule holds what a here-document or a pattern would take apart"
    filled = {
        "VERSION": __version__,
        "RULES": "\n".join(rules),
        "KEPT": "|".join(f"{name}*" for name in KEPT_ENVIRONMENT),
        "NO_SECRETS": "|".join(NO_SECRETS),
        "SECRET": "|".join(f"*{word}*" for word in SECRET_WORDS),
        "NVML_FOLDERS": " ".join(LIBRARY_FOLDERS),
        **values,
    }
    template = "\n".join(part.read_text("utf-8") for part in sorted(_PARTS.glob("*.sh")))
    return _PLACE.sub(lambda found: filled[found[1]], template)
