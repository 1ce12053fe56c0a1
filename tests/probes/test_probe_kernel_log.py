"""Xid messages of the NVIDIA driver are counted by number; a log that may not be read is not a quiet one."""

from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.model.facts import evidence_path
from advisor.probes.kernel_log import DRIVER, JOURNAL, ORIGIN, Xid, parse_xids, read
from tests.trees import write_capture, write_tree

LINES = """\
NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.
NVRM: Xid (PCI:0000:AF:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 9, TPC 1, SM 1)
NVRM: Xid (PCI:0000:3b:00): 13, pid=99, Graphics Exception: ESR 0x546fb0=0x11f000e
NVRM: Xid (0000:01:00): 13, an older form
NVRM: Xid (PCI:0000:3b:00.4): 13, of a virtual function
NVRM: GPU at PCI:0000:3b:00: GPU-00000000
"""


def answered(folder: Path, stdout: str, stderr: str = "", status: int = 0) -> tuple[tuple[Xid, ...] | None, str | None]:
    """What is known of a machine whose journalctl printed this, and the gap."""
    write_capture(folder, {f"{DRIVER}/version": ""}, outputs={JOURNAL: stdout})
    (folder / "cmd/0.stderr").write_text(stderr)
    (folder / "cmd/0.rc").write_text(str(status))
    host = open_root(str(folder))
    return read(host).xids, host.gaps.get(ORIGIN)


def test_messages_are_counted_by_number() -> None:
    found = [(xid.number, xid.gpus, xid.count) for xid in parse_xids(LINES.split("\n"))]
    assert found == [
        (13, ("0000:01:00.0", "0000:3b:00.0", "0000:3b:00.4", "0000:af:00.0"), 4),
        (79, ("0000:3b:00.0",), 1),
    ]


def test_a_log_with_messages_is_read(tmp_path: Path) -> None:
    xids, gap = answered(tmp_path, LINES)
    assert [xid.number for xid in xids or ()] == [13, 79]
    assert gap is None


def test_a_log_without_messages_is_quiet(tmp_path: Path) -> None:
    assert answered(tmp_path, "-- No entries --\n", status=1) == ((), None)


@pytest.mark.parametrize(
    ("stdout", "stderr", "gap"),
    [
        (
            "-- No entries --\n",
            "Hint: You are currently not seeing messages from other users and the system.\n",
            "denied",
        ),
        ("No journal files were found.\n-- No entries --\n", "", "unsupported"),
        ("", "Compiled without pattern matching support\n", "unsupported"),
    ],
)
def test_a_log_that_may_not_be_read_is_not_known(tmp_path: Path, stdout: str, stderr: str, gap: str) -> None:
    assert answered(tmp_path, stdout, stderr, 1) == (None, gap)


def test_without_a_driver_there_is_no_message_of_it(tmp_path: Path) -> None:
    log = read(write_capture(tmp_path, {}))
    assert (log.xids, evidence_path(log, "xids")) == ((), DRIVER)


def test_a_tree_without_the_command_leaves_it_open(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    assert (read(host).xids, host.gaps[ORIGIN]) == (None, "not captured")
