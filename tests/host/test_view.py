"""Mount tables: what they hide and where a read may hang."""

from pathlib import Path

import pytest

from advisor.host.view import View, parse_view, read_view

BARE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
24 22 0:22 / /sys rw,nosuid - sysfs sysfs rw
25 24 0:23 / /sys/fs/cgroup ro - tmpfs tmpfs ro
26 25 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
27 22 0:25 / /dev/shm rw - tmpfs tmpfs rw
"""
CONTAINER = (
    BARE
    + """\
40 23 0:5 /null /proc/kcore rw - tmpfs tmpfs rw
41 24 0:60 / /sys/firmware ro - tmpfs tmpfs ro
"""
)
NETWORK = (
    BARE
    + """\
50 22 0:70 / /data rw shared:9 - nfs4 server:/data rw,hard
51 22 0:71 / /mnt/with\\040space rw - fuse.sshfs me@there: rw
52 22 0:72 / /home rw - autofs systemd-1 rw
53 23 0:73 / /proc/meminfo rw - fuse.lxcfs lxcfs rw
54 24 0:74 / /sys/fs/fuse/connections rw - fusectl fusectl rw
"""
)


def test_a_bare_machine_hides_nothing() -> None:
    assert parse_view(BARE) == View()


def test_covers_of_a_container_are_seen() -> None:
    view = parse_view(CONTAINER)
    assert view.hidden == ("/proc/kcore", "/sys/firmware")
    assert view.hides("/sys/firmware/efi")
    assert not view.hides("/sys/class/net")


@pytest.mark.parametrize(
    ("line", "hidden"),
    [("60 24 0:80 / /sys rw - tmpfs none rw\n", ("/sys",)), ("60 23 0:80 / /proc rw - tmpfs none rw\n", ("/proc",))],
    ids=["sys", "proc"],
)
def test_a_tree_that_is_covered_whole_is_hidden(line: str, hidden: tuple[str, ...]) -> None:
    assert parse_view(BARE + line).hidden == hidden


def test_a_table_without_proc_and_sys_hides_both() -> None:
    assert parse_view("").hidden == ("/proc", "/sys")


@pytest.mark.parametrize(
    ("folder", "hidden"), [("sys/kernel", ("/proc",)), ("sys", ("/proc", "/sys"))], ids=["sys is there", "nothing is"]
)
def test_without_a_mount_table_an_empty_sys_is_hidden_too(tmp_path: Path, folder: str, hidden: tuple[str, ...]) -> None:
    (tmp_path / folder).mkdir(parents=True)
    assert read_view(str(tmp_path)).hidden == hidden


@pytest.mark.parametrize(
    ("path", "far"),
    [
        ("/data", True),
        ("/data/set/a", True),
        ("/database", False),
        ("/mnt/with space/x", True),
        ("/home/me", True),
        ("/opt/../data/x", True),
        ("/sys/class/net", False),
        ("/proc/meminfo", False),
        ("/", False),
    ],
)
def test_network_file_systems_are_far(path: str, far: bool) -> None:
    assert parse_view(NETWORK).is_far(path) is far


def test_a_link_to_a_network_file_system_is_far(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("data/set")
    (tmp_path / "loop").symlink_to("loop")
    view = View(far=(f"{tmp_path}/data",))
    assert view.is_far(f"{tmp_path}/link/x")
    assert not view.is_far(f"{tmp_path}/other")
    assert not view.is_far(f"{tmp_path}/loop/x")


def test_a_network_root_is_not_avoided() -> None:
    assert parse_view("22 1 0:90 / / rw - nfs server:/root rw\n").far == ()


@pytest.mark.parametrize("text", ["\n\n", "x - y", "1 2 3 4", " - " * 9, "1 2 0:3 / /a rw - "])
def test_odd_lines_are_passed_over(text: str) -> None:
    assert parse_view(BARE + text).hidden == ()
