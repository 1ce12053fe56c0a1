"""Where queues of network cards interrupt: a script and its unit. Key: ``nic-queues``; value: ``near``.

``host/usr/local/libexec/advisor/irq-affinity`` finds cards, queues and CPUs on the node that it runs on, so it is the
same on all. https://docs.kernel.org/core-api/irq/irq-affinity.html
"""

import hashlib

from advisor.model.setting import Scope, Setting, Value
from advisor.model.snapshot import Snapshot
from advisor.probes.irq import Irq
from advisor.probes.systemd import Systemd, service_named
from advisor.targets._base import Seen, SetBy
from advisor.targets._host import from_inside as from_inside
from advisor.targets._installed import FILE_MODE, Line, LiveFile
from advisor.targets._values import named as named

SCOPE: Scope = "host"
SUGGESTED = False
SCRIPT = "/usr/local/libexec/advisor/irq-affinity"
UNIT_NAME = "advisor-irq-affinity"
UNIT = f"/etc/systemd/system/{UNIT_NAME}.service"
PLACES = (SCRIPT, UNIT)
MODE = FILE_MODE
WHEN = "with: systemctl daemon-reload && systemctl enable --now advisor-irq-affinity.service"
KEY, NEAR = "nic-queues", "near"
SCRIPT_HASH = "8db4c6cced035cd723c967d73f4d8a88cec687d6a82a0b37d3aeaa0801abd85b"
UNIT_HASH = "ece9002b5f6649fd7b5071728df179507e938230391c926dd7be0281f2ff437b"
"""sha256 of the script, and of the unit without its comments: root runs them, so nothing else passes for them."""


def wrong(key: str, value: Value) -> str | None:
    """What the script does not do."""
    if key != KEY:
        return f"{key!r} is not {KEY}"
    return None if value == NEAR else f"{key} can only be {NEAR!r} but is {value!r}"


def text(key: str, value: Value) -> str:
    """``near``"""
    return str(value)


def line(setting: Setting, snapshot: Snapshot) -> str:
    """``nic-queues=near``"""
    return f"{setting.key}={setting.value}"


def parsed(key: str, words: str) -> Value:
    """The value that an operator's text means: the text."""
    return words


def seen(snapshot: Snapshot, key: str) -> Seen:
    """Nothing that is one value: the daemon irqbalance and drivers move interrupts at any time."""
    return Seen(None, "/proc/irq", "worked out on the node")


def cannot_take(snapshot: Snapshot, key: str, value: Value) -> str | None:
    """Why the script would do nothing, or fight: irqbalance runs, or it is not known whether it does."""
    irq = snapshot.get(Irq)
    balance = irq.irqbalance if irq else None
    if balance is None or balance.running is None:
        return "it is not known whether irqbalance runs, which would move them again"
    if balance.running and not balance.oneshot:
        return "irqbalance runs and would move them again: keep it from these CPUs, or stop it, first"
    if balance.enabled and not balance.oneshot:
        return "irqbalance starts with the system and would move them again: disable it first"
    return None


def set_by(snapshot: Snapshot, key: str) -> tuple[SetBy, ...]:
    """Our own unit where it is installed; scripts of a site's own are not among the facts."""
    service = service_named(snapshot.get(Systemd) or Systemd(), UNIT_NAME)
    return () if service is None or service.path != UNIT else (SetBy(NEAR, UNIT),)


def same(key: str, seen: str, value: Value) -> bool:
    """Whether ``seen`` is this value."""
    return seen == value


def raised(key: str, seen: str, value: Value) -> Value:
    """``value``: there are no numbers to compare."""
    return value


def lines(text: str, path: str) -> tuple[Line, ...]:
    """Nothing: the files are compared as a whole. Raises ValueError for any that is not word for word ours."""
    found, ours = (text, SCRIPT_HASH) if path == SCRIPT else (without_comments(text), UNIT_HASH)
    if fingerprint(found) != ours:
        raise ValueError("it is not the one that this version of advisor writes")
    return ()


def fingerprint(text: str) -> str:
    """sha256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def without_comments(text: str) -> str:
    """The lines of a unit that count. Raises ValueError for what systemd would join to another line."""
    rows = text.split("\n")
    if any(row.rstrip().endswith("\\") for row in rows):
        raise ValueError("a line of it ends with a backslash")
    return "\n".join(row for row in rows if not row.startswith("#"))


def winners(snapshot: Snapshot, key: str, value: str) -> tuple[SetBy, ...] | None:
    """``None``: whether the unit is enabled is not told."""
    return None


def in_force(snapshot: Snapshot, key: str) -> Seen | None:
    """``None``: it is no single value."""
    return None


def prevented(snapshot: Snapshot, key: str) -> str | None:
    """``None``: systemd reads the unit on every host that has it."""
    return None


def fulfilled(key: str, seen: str, text: str) -> bool:
    """Whether ``seen`` is the value."""
    return seen == text


def live(snapshot: Snapshot, lines: tuple[Line, ...]) -> tuple[LiveFile, ...]:
    """Nothing: a person starts the unit."""
    return ()
