"""What the NVIDIA driver wrote into the kernel's log since boot: its Xid messages, by number.

Meaning of the numbers: https://docs.nvidia.com/deploy/xid-errors/ . Read from systemd's journal, which filters them: of
the rest of the log nothing is taken. It answers root and members of adm or systemd-journal.
"""

import re
from collections.abc import Iterable
from typing import Annotated, ClassVar

from advisor.host.base import Host, Output, command_origin
from advisor.model.facts import Facts, Seen, Volatile
from advisor.probes._collected import Collected

JOURNAL = ("journalctl", "-k", "-b", "-o", "cat", "--no-pager", "-n", "2000", "-g", "NVRM:.Xid")
"""A pattern without a blank, for the collector takes words apart at blanks."""
ORIGIN = command_origin(JOURNAL)
DRIVER = "/proc/driver/nvidia"
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)[^)]*\): (\d{1,4})\b", re.I)
_NONE = "-- No entries --"
_BLIND = ("not seeing messages", "No journal files", "insufficient permissions")


class Xid(Facts):
    """All messages of one number."""

    read_from: ClassVar[str] = "command: journalctl -k"
    number: Annotated[int, "NVIDIA's number of the error"]
    gpus: Annotated[tuple[str, ...], Volatile(), "their PCI addresses, as sysfs writes them"] = ()
    count: Annotated[int, Volatile(), "messages, among the last 2000 of all numbers"] = 0


class KernelLog(Facts):
    """Messages of drivers since boot."""

    read_from: ClassVar[str] = "command: journalctl -k"
    seen: ClassVar[Seen | None] = "masked"
    xids: Annotated[tuple[Xid, ...] | None, Volatile(), "errors that the NVIDIA driver reported, by number"] = None


COLLECTED = Collected(there=(DRIVER,), commands=(JOURNAL,))


def read(host: Host) -> KernelLog:
    """What drivers of ``host`` wrote into the kernel's log."""
    if host.exists(DRIVER) is False:  # a driver that is not there reports nothing
        return KernelLog(origin=ORIGIN, xids=(), origins={"xids": DRIVER})
    output = host.run(JOURNAL)
    xids = None if output is None else parse_xids(output.stdout.split("\n"))
    if output is not None and not xids and not _saw_nothing(output):
        host.missed(ORIGIN, "denied" if _BLIND[0] in output.stderr else "unsupported")
        xids = None
    return KernelLog(origin=ORIGIN, xids=xids)


def _saw_nothing(output: Output) -> bool:
    """Whether the log was searched and holds no such message; journalctl then ends with status 1."""
    return _NONE in output.stdout and not any(words in output.stdout + output.stderr for words in _BLIND)


def parse_xids(lines: Iterable[str]) -> tuple[Xid, ...]:
    """Xid messages by number.

    Sample: ``NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.``
    """
    found: dict[int, list[str]] = {}
    for line in lines:
        if (message := _XID.search(line)) is not None:
            address = message[1].lower()
            found.setdefault(int(message[2]), []).append(address if "." in address else f"{address}.0")
    return tuple(
        Xid(origin=ORIGIN, number=number, gpus=tuple(sorted(set(where))), count=len(where))
        for number, where in sorted(found.items())
    )
