"""One variable of the table, and the patterns of values that several share."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["nccl", "removed", "unread", "torch", "torch-old", "cuda", "plugin", "tool", "build"]
"""``removed``: NCCL read it once. ``unread``: folklore, which nothing ever read. ``torch-old``: PyTorch reads it under
a new name too. ``tool``: nccl-tests. ``build``: for building NCCL or finding it."""
Use = Literal["site", "diagnosis", "debugging", "internal", ""]
"""What NVIDIA's guide takes it for: ``site`` may stay on a host, ``debugging`` not; ``internal`` is in no guide."""

ANYTHING = ".+"
INTEGER = r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)"
FLAG = "[01]"
"""Of numbers any other than 0 counts as 1."""
UP_TO_2 = "[012]"
ONE_OR_TWO = "[12]"
UP_TO_7 = "[0-7]"
UP_TO_8 = "[0-8]"
UP_TO_15 = "[0-9]|1[0-5]"
UP_TO_16 = "[0-9]|1[0-6]"
UP_TO_31 = "[0-9]|[12][0-9]|3[01]"
BYTE = "[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5]"
FROM_1_TO_64 = "[1-9]|[1-5][0-9]|6[0-4]"
FROM_1_TO_128 = "[1-9]|[1-9][0-9]|1[01][0-9]|12[0-8]"
TRUTH = "(?i:0|1|T|F|TRUE|FALSE)"
"""As NCCL reads its few booleans."""
YES_NO = "(?i:y|yes|1|t|true|n|no|0|f|false)"
"""As PyTorch reads booleans; for others it raises an error."""
DISTANCE = "LOC|NVL|NVB|C2C|PIX|PXB|P2C|PXN|PHB|SYS|[0-9]+"
FAMILY = "AF_INET|AF_INET6"
NAMES = r"\^?=?[A-Za-z0-9_.-]+(:[0-9]*(:-?[0-9]*(:-?[0-9]*)?)?)?(,[A-Za-z0-9_.-]+(:[0-9]*(:-?[0-9]*(:-?[0-9]*)?)?)?)*"
"""Devices or interfaces with their ports."""
INTERFACES = r"\^?=?[A-Za-z0-9_.@:-]+(,[A-Za-z0-9_.@:-]+)*"
ADDRESS = r"(\[[0-9a-fA-F:%a-z0-9]+\]|[A-Za-z0-9_.-]+):[0-9]+"
_FUNCTION = "(?:Broadcast|Reduce|AllGather|ReduceScatter|AllReduce)"


def _choice(words: str) -> str:
    """The lists that NCCL_ALGO and NCCL_PROTO take. Sample: ``allreduce:tree,ring;broadcast:^ring``"""
    some = rf"\^?(?:{words})(?:,(?:{words}))*"
    return rf"(?i:(?:{_FUNCTION}:)?{some}(?:;{_FUNCTION}:{some})*)"


ALGORITHMS = _choice("Ring|Tree|CollNetDirect|CollNetChain|NVLS|NVLSTree|PAT")
PROTOCOLS = _choice("LL|LL128|Simple")
LEVELS = "(?i:VERSION|WARN|ATTN|INFO|ABORT|TRACE)"
LEVEL_LIST = rf"\^?(?:{LEVELS}|(?i:ALL))?(?:,(?:{LEVELS}|(?i:ALL)))*"
_PART = (
    "(?i:INIT|COLL|P2P|SHM|NET|GRAPH|TUNING|ENV|ALLOC|ALLOC_HOST|CALL|PROXY|NVLS|BOOTSTRAP|REG|PROFILE|RAS|DESTROY|ALL)"
)
PARTS = rf"\^?{_PART}(,{_PART})*"


@dataclass(frozen=True)
class Knob:
    """One variable. Releases are those of what reads it, as far as they are known."""

    name: str
    kind: Kind
    use: Use = ""
    values: str = ANYTHING
    """What the whole value must match to be taken as it stands."""
    number: bool = False
    """Read as an integer in C's notation; text without digits counts as 0."""
    since: str = ""
    deprecated: str = ""
    """Release that deprecated it."""
    removed: str = ""
    """``2.5``: without it since; ``after 2.12.12``: this is the last that has it."""
    instead: str = ""
    """What to use in its place."""
    leftover: str = ""
    """Values that only help to find a fault and cost time or safety while they stay; empty: none."""
