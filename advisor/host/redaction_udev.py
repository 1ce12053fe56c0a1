"""udev rules without names, numbers of single devices and what they run for other ends."""

import re

from advisor.host.redaction_words import Words
from advisor.host.udev_conditions import is_private

_EXPRESSION = re.compile(
    r"""(?P<key>[A-Z_]+)(?:\{(?P<attribute>[^}"]{1,200})\})?\s*(?P<does>==|!=|\+=|-=|:=|=)\s*"""
    r"""(?P<type>[ei]?)"(?P<value>(?:[^"\\]|\\.)*)\"""",
    re.ASCII,
)
_MATCHES = ("==", "!=")
_DONE = ("ATTR", "GOTO", "LABEL", "MODE", "OPTIONS", "SYSCTL", "TAG")
_TUNING = re.compile(
    r"\b(?:blockdev|hdparm|ethtool|nvidia-\w+|mlnx_\w+|tuned-adm|setpci|cpupower|cma_roce_\w+|ip\s+link|tc\s)"
    r"|/sys/\S+|/proc/sys/\S+"
)
"""What a program that tunes has in its command line."""
_SECRET_ARGUMENT = re.compile(r"(?i)((?:pass\w*|secret|token|\bkey|cred\w*|auth\w*|bearer)[ =:]+)([^\s\"']+)")


def udev_rules(words: Words, text: str) -> str:
    """Rules, line by line; a line that is no list of expressions is emptied."""
    return "\n".join(_rule(words, line) for line in text.split("\n"))


def _rule(words: Words, line: str) -> str:
    if line.lstrip().startswith("#"):
        return "#"
    if re.fullmatch(r"[\s,\\]*", _EXPRESSION.sub("", line)) is None:
        return "\\" if line.rstrip().endswith("\\") else ""
    return _EXPRESSION.sub(lambda found: _expression(words, found), line)


def _expression(words: Words, found: re.Match[str]) -> str:
    start = found[0][: found.start("value") - found.start()]
    return f'{start}{_value(words, found)}"'


def _value(words: Words, found: re.Match[str]) -> str:
    key, attribute, value = found["key"], found["attribute"], found["value"]
    if found["does"] in _MATCHES:
        return words.secret(value) if is_private(key, attribute, value) else value
    if key in _DONE:
        return value
    if key == "RUN" and _TUNING.search(value):
        return _SECRET_ARGUMENT.sub(lambda secret: secret[1] + words.secret(secret[2]), value)
    return ""
