"""A plain tree: links stay inside the root and nothing missing counts as absent."""

import os
from pathlib import Path

import pytest

from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.tree import Tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small machine with one interface behind a link."""
    device = tmp_path / "sys/devices/pci0000:00/0000:00:03.0/net/eth0"
    device.mkdir(parents=True)
    (device / "mtu").write_text("9000\n")
    (device / "padded").write_bytes(b"1\n" + bytes(4094))
    (tmp_path / "sys/class/net").mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0").symlink_to("../../devices/pci0000:00/0000:00:03.0/net/eth0")
    (tmp_path / "proc").mkdir()
    (tmp_path / "etc").mkdir()
    return tmp_path


@pytest.fixture
def host(root: Path) -> Tree:
    return Tree.in_folder(root)


def test_a_file_is_read_through_links(host: Host) -> None:
    assert host.data("/sys/class/net/eth0/mtu") == b"9000\n"
    assert host.real("/sys/class/net/eth0/mtu") == "/sys/devices/pci0000:00/0000:00:03.0/net/eth0/mtu"
    assert host.link("/sys/class/net/eth0") == "../../devices/pci0000:00/0000:00:03.0/net/eth0"
    assert host.gaps == {}


def test_a_file_is_read_up_to_the_limit(host: Host) -> None:
    assert host.data("/sys/class/net/eth0/mtu", 2) == b"90"


def test_text_ends_at_the_first_nul(host: Host) -> None:
    assert host.text("/sys/class/net/eth0/padded") == "1"


def test_names_are_in_natural_order(root: Path, host: Host) -> None:
    for name in ("cpu10", "cpu2", "cpu1", "cpufreq", "cpu02", "x" + "9" * 200):
        (root / "sys/devices/system/cpu" / name).mkdir(parents=True)
    assert host.names("/sys/devices/system/cpu") == ("cpu1", "cpu02", "cpu2", "cpu10", "cpufreq", "x" + "9" * 200)


def test_an_absolute_link_stays_inside_the_root(root: Path, host: Host) -> None:
    (root / "etc/hostname").write_text("inside")
    (root / "etc/absolute").symlink_to("/etc/hostname")
    assert host.text("/etc/absolute") == "inside"


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../../../../../../../etc/passwd", "/proc/../../etc/passwd"], ids=str
)
def test_no_link_leads_out(root: Path, host: Host, target: str) -> None:
    (root / "etc/link").symlink_to(target)
    assert os.path.exists("/etc/passwd")
    assert host.data("/etc/link") is None
    assert host.gaps == {"/etc/link": "not captured"}


def test_no_path_leads_out(host: Host) -> None:
    assert host.data("/../../../../../../../../../../etc/passwd") is None
    assert host.exists("/sys/../../..") is True
    assert host.real("/sys/../../..") == "/"


@pytest.mark.parametrize(
    "links",
    [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "a/x"}, {"a": "./b/../b", "b": "/etc/a"}],
    ids=["itself", "each other", "below itself", "with dots"],
)
def test_a_loop_of_links_is_an_error(root: Path, host: Host, links: dict[str, str]) -> None:
    for name, target in links.items():
        (root / "etc" / name).symlink_to(target)
    assert host.data("/etc/a") is None
    assert host.data("/etc/a/below") is None
    assert host.gaps == {"/etc/a": "error", "/etc/a/below": "error"}


@pytest.mark.parametrize("question", ["data", "names", "link", "real", "exists", "mode"])
def test_what_is_missing_was_not_captured(host: Host, question: str) -> None:
    for path in ("/sys/none", "/none/none", "/sys/class/net/eth0/mtu/below"):
        assert getattr(host, question)(path) is None
        assert host.gaps[path] == "not captured"


def test_questions_to_the_process_are_not_captured(host: Host) -> None:
    assert host.run(["ethtool", "eth0"]) is None
    assert host.statvfs("/data") is None
    assert (host.affinity(), host.limit("nofile"), host.environment(), host.nvml()) == (None,) * 4
    assert host.gaps == {
        "command: ethtool eth0": "not captured",
        "/data": "not captured",
        "call: sched_getaffinity": "not captured",
        "/proc/self/limits": "not captured",
        "environment": "not captured",
        "nvml": "not captured",
    }


def test_captured_limits_are_no_gap(root: Path, host: Host) -> None:
    (root / "proc/self").mkdir()
    (root / "proc/self/limits").write_text("Limit\n")
    assert host.limit("nofile") is None
    assert host.gaps == {}


def test_fifos_and_folders_are_not_read_as_files(root: Path, host: Host) -> None:
    os.mkfifo(root / "etc/fifo")
    assert host.data("/etc/fifo") is None
    assert host.data("/etc") is None
    assert host.exists("/etc/fifo") is True
    assert host.gaps == {"/etc/fifo": "unsupported", "/etc": "error"}


def test_modes_are_told(root: Path, host: Host) -> None:
    (root / "etc/secret").write_text("")
    (root / "etc/secret").chmod(0o440)
    assert host.mode("/etc/secret") == 0o440


@pytest.mark.parametrize(
    "path", ["/etc/\0", "/etc/" + "a" * 5000, "/\n\x1b[31m", ""], ids=["NUL", "long", "control", "none"]
)
def test_odd_paths_are_gaps_or_the_root(host: Host, path: str) -> None:
    assert host.data(path) is None
    assert path in host.gaps


def test_opening_the_folder_gives_the_same_tree(root: Path) -> None:
    host = open_root(str(root))
    assert (host.kind, host.root_user) == ("tree", None)
    assert host.text("/sys/class/net/eth0/mtu") == "9000"
