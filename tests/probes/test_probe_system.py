"""Clock, distribution and why the kernel is tainted."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.probes.system import OS_RELEASE, TIMEDATECTL, parse_os_release, read, taints_of
from tests.trees import write_capture, write_link, write_tree

SOURCES = "/sys/devices/system/clocksource/clocksource0"


def test_the_clock_and_the_system_are_read(tmp_path: Path) -> None:
    files = {
        f"{SOURCES}/current_clocksource": "hpet\n",
        f"{SOURCES}/available_clocksource": "tsc hpet acpi_pm \n",
        "/usr/lib/os-release": 'NAME="Rocky Linux"\nID="rocky"\nVERSION_ID="9.4"\nID_LIKE="rhel centos fedora"\n',
        "/run/systemd/timesync/synchronized": "",
        "/proc/sys/kernel/tainted": "12289\n",
    }
    host = write_tree(tmp_path, files)
    write_link(tmp_path, "/etc/os-release", "../usr/lib/os-release")
    told = read(host)
    assert (told.source, told.sources, told.timesyncd_synchronized) == ("hpet", "tsc hpet acpi_pm", True)
    assert (told.os_id, told.os_version, told.os_like) == ("rocky", "9.4", ("rhel", "centos", "fedora"))
    assert told.taints == ("proprietary module", "module from outside the kernel", "unsigned module")


def test_the_second_place_of_os_release_is_looked_at(tmp_path: Path) -> None:
    told = read(write_capture(tmp_path, {OS_RELEASE[1]: "ID=debian\n"}))
    assert (told.os_id, told.os_like, evidence_path(told, "os_id")) == ("debian", (), OS_RELEASE[1])


@pytest.mark.parametrize(
    ("text", "taints"),
    [
        ("0", ()),
        ("1", ("proprietary module",)),
        ("1048576", ("bit 20",)),
        ("18446744073709551615000", None),
        ("x", None),
        ("", None),
        ("\u0665", None),
    ],
)
def test_taints_are_told_in_words(text: str, taints: tuple[str, ...] | None) -> None:
    assert taints_of(text) == taints


def test_what_is_missing_is_absent_in_a_capture_and_unknown_in_a_tree(tmp_path: Path) -> None:
    assert read(write_capture(tmp_path / "a", {})).timesyncd_synchronized is False
    host = write_tree(tmp_path / "b", {"/proc/sys/kernel/tainted": "junk\n"})
    told = read(host)
    assert (told.timesyncd_synchronized, told.os_id, told.os_like, told.taints) == (None, None, None, None)
    assert host.gaps["/proc/sys/kernel/tainted"] == "unsupported"
    assert host.gaps[evidence_path(told, "os_id")] == "not captured"


@pytest.mark.parametrize(("printed", "told"), [("yes\n", True), ("no\n", False), ("", None), ("maybe\n", None)])
def test_whether_the_clock_is_kept_in_step(tmp_path: Path, printed: str, told: bool | None) -> None:
    host = write_capture(tmp_path, {}, outputs={TIMEDATECTL: printed})
    system = read(host)
    origin = evidence_path(system, "clock_synchronized")
    assert (system.clock_synchronized, host.gaps.get(origin)) == (told, None if told is not None else "unsupported")


def test_odd_files_do_no_harm() -> None:
    assert parse_os_release("ID=\x1b[31m\n=\nVERSION_ID=" + "9" * (1 << 20)) == {
        "ID": "\x1b[31m",
        "": "",
        "VERSION_ID": "9" * 100,
    }
