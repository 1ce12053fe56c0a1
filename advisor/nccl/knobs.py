"""The knob database: what reads a variable of NCCL or of PyTorch's process groups, which values it takes, since when.

NCCL itself says nothing of a variable that it does not know, and before 2.32 nothing of a number that is none: text
without digits counts as 0 (src/misc/param.cc). Complete up to NCCL 2.32.3.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal

from advisor.nccl._documented import DOCUMENTED
from advisor.nccl._gone import GONE
from advisor.nccl._internal import INTERNAL
from advisor.nccl._knob import FLAG, Knob
from advisor.nccl._others import OTHERS
from advisor.nccl._torch import TORCH

KNOBS: Mapping[str, Knob] = {knob.name: knob for knob in (*DOCUMENTED, *INTERNAL, *GONE, *TORCH, *OTHERS)}
NEWEST = (2, 32, 3)
"""The last release of NCCL whose names are in the table."""
Fault = Literal["none", "no number", "out of range", "unknown word"]
_ALIKE = 0.86
"""Of difflib: names that differ in a letter or two, or in a prefix."""
_LONGEST_SLIP = 80
"""More characters than any name in the table has."""
_WHOLE = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)\s*", re.ASCII)
_START = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_AUTOMATIC = (-2, -1)
"""What NCCL's own defaults are where it decides by itself; setting them is no fault."""
_MOST_DIGITS = 40


def number_taken(text: str) -> int:
    """The number that C's strtoll makes of a text in any base: 0 where it starts with none."""
    found = _START.match(text[:_MOST_DIGITS])
    if found is None:
        return 0
    digits = found[2].lower()
    number = int(digits, 16 if digits.startswith("0x") else 8 if digits.startswith("0") else 10)
    return -number if found[1] == "-" else number


def fault_of(knob: Knob, value: str) -> Fault:
    """What is wrong with a value. An empty one counts as not set."""
    if not value or re.fullmatch(knob.values, value):
        return "none"
    if not knob.number:
        return "unknown word"
    if not _WHOLE.fullmatch(value):
        return "no number"
    number = number_taken(value)
    fits = knob.values == FLAG or number in _AUTOMATIC or re.fullmatch(knob.values, str(number))
    return "none" if fits else "out of range"


def nearest_name(name: str) -> str:
    """The name that was probably meant, of those that something reads; empty when none is like it."""
    if len(name) > _LONGEST_SLIP:
        return ""
    live = [one.name for one in KNOBS.values() if one.kind not in ("removed", "unread", "torch-old")]
    return next(iter(get_close_matches(name, live, 1, _ALIKE)), "")
