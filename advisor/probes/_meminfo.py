"""Sizes and counts in /proc/meminfo, a node's meminfo and /proc/vmstat."""

import re

_LINE = re.compile(r"(?:Node\s+\d+\s+)?([\w()]+):\s*(\d{1,19})(?:\s+(kB))?\s*", re.ASCII)
_COUNTER = re.compile(r"(\w+)\s+(\d{1,20})\s*", re.ASCII)
_KIB = 1024


def parse_meminfo(text: str) -> dict[str, int]:
    """Sizes in bytes and counts by name.

    Samples: ``MemTotal:  24683656 kB``, ``HugePages_Total:  0``, ``Node 0 MemTotal:  12150560 kB``
    """
    found = (_LINE.fullmatch(line) for line in text.split("\n"))
    return {line[1]: int(line[2]) * (_KIB if line[3] else 1) for line in found if line}


def parse_vmstat(text: str) -> dict[str, int]:
    """Counters by name. Sample: ``pswpin 0``"""
    found = (_COUNTER.fullmatch(line) for line in text.split("\n"))
    return {line[1]: int(line[2]) for line in found if line}
