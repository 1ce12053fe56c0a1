"""Words of the kernel command line, only ever suggested: ``suggested/kernel-cmdline.txt``. Key: the parameter.

``iommu=pt``; true for a word alone. https://docs.kernel.org/admin-guide/kernel-parameters.html
"""

import re

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes._cmdline import CMDLINE
from advisor.probes.boot import Boot
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._host import not_seen
from advisor.targets._values import named as named
from advisor.targets._values import plain, raised_numbers

SCOPE: Scope = "host"
SUGGESTED = True
_NAME = re.compile(r"[a-z][A-Za-z0-9_.-]{0,60}", re.ASCII)
# No blank, quote, $ or backslash: the boot loader's file is a shell script.
_VALUE = re.compile(r"[A-Za-z0-9_.,:;/+@=-]{1,200}", re.ASCII)
_SAME = {"iommu": "iommu.passthrough"}
"""Words that say the same; the last of them counts (drivers/iommu/iommu.c, arch/x86/kernel/pci-dma.c)."""


def wrong(key: str, value: Value) -> str | None:
    """What makes this word impossible to write."""
    if not _NAME.fullmatch(key):
        return f"{key!r} is no name of a kernel parameter: letters, digits, _, . and -"
    if value is False:
        return f"{key} cannot be taken off the command line from here: remove it in the boot loader's file"
    if value is True or _VALUE.fullmatch(plain(value)):
        return None
    return f"a kernel parameter may hold letters, digits and _.,:;/+@=- but is {value!r}"


def text(key: str, value: Value) -> str:
    """The value; nothing for a word alone."""
    return "" if value is True else plain(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """The word."""
    value = text(setting.key, setting.value)
    return f"{setting.key}={value}" if value else setting.key


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: true or the text."""
    return True if words == "true" else words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """What the running kernel was told last."""
    boot = snapshot.get(Boot)
    if boot is None or boot.parameters is None:
        return not_seen(snapshot, CMDLINE)
    values = boot.parameters.get(key.replace("-", "_"))
    if values is None:
        return Seen(None, CMDLINE, f"{key} is not on it")
    return Seen(values[-1] if values else "", CMDLINE)


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """``None``: what the running kernel makes of it is for the rule to know."""
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """The command line, when it says something else, in another word too: that is the operator's word."""
    other = _SAME.get(key)
    found = [(name, seen(snapshot, name).text) for name in (key, other) if name is not None]
    told = [(name, text) for name, text in found if text is not None]
    return tuple(SetBy(text if name == key else f"{name}={text}", CMDLINE) for name, text in told)


def same(key: str, seen: str, value: Value) -> bool:
    """Whether the kernel was told this."""
    return seen == text(key, value)


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``, or the larger number that is there."""
    return raised_numbers(seen, plain(value))
