"""Words of the kernel command line and of module options, which the kernel splits by the same rule."""

import re

from advisor.host.base import Host

CMDLINE = "/proc/cmdline"
_WORD = re.compile(r'(?:"[^"]*"?|[^"\s])+')


def read_cmdline(host: Host) -> tuple[str, ...] | None:
    """The words of the kernel command line, those for init after ``--`` left out."""
    text = host.text(CMDLINE)
    return None if text is None else parse_cmdline(text)


def parse_cmdline(text: str) -> tuple[str, ...]:
    """The words for the kernel. Sample: ``root=/dev/sda1 ro quiet dyndbg="file a.c +p" -- single``"""
    words = split_words(text)
    return words[: words.index("--")] if "--" in words else words


def split_words(text: str) -> tuple[str, ...]:
    """``text`` split at blanks outside double quotes; the quotes are dropped."""
    return tuple(word.replace('"', "") for word in _WORD.findall(text))
