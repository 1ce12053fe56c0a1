"""Kernel parameters in force, and which line of which file asks for them."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path, marks
from advisor.probes.sysctl import Sysctl, key_file, key_name, live_value, parse_sysctl_lines, read
from tests.trees import write_capture, write_link, write_tree


def test_numbers_words_and_lists_are_read(tmp_path: Path) -> None:
    files = {
        "/proc/sys/vm/swappiness": "60\n",
        "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t33554432\n",
        "/proc/sys/net/ipv4/tcp_congestion_control": "bbr\n",
        "/proc/sys/kernel/perf_event_paranoid": "-1\n",
    }
    sysctl = read(write_tree(tmp_path, files))
    assert (sysctl.vm_swappiness, sysctl.net_ipv4_tcp_rmem) == (60, (4096, 131072, 33554432))
    assert (sysctl.net_ipv4_tcp_congestion_control, sysctl.kernel_perf_event_paranoid) == ("bbr", -1)
    assert evidence_path(sysctl, "vm_swappiness") == "/proc/sys/vm/swappiness"


def test_every_field_is_named_after_its_key() -> None:
    for name, mark in marks(Sysctl).items():
        if name != "configured":
            assert mark.file is not None
            assert name == mark.file.name.replace("/", "_").replace("-", "_")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("vm.swappiness", "60"),
        ("vm/swappiness", "60"),
        ("net.ipv4.tcp_rmem", "4096\t131072\t33554432"),
        ("fs.file-max", "9223372036854775807"),
        ("vm.dirty_ratio", None),
        ("no.such.key", None),
    ],
)
def test_the_live_value_of_a_key_is_as_the_kernel_prints_it(key: str, text: str | None) -> None:
    sysctl = Sysctl(vm_swappiness=60, net_ipv4_tcp_rmem=(4096, 131072, 33554432), fs_file_max=9223372036854775807)
    assert live_value(sysctl, key) == (text, "/proc/sys/" + key.replace(".", "/"))


@pytest.mark.parametrize(
    ("key", "file", "name"),
    [
        ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter"),
        ("kernel/pid_max", "kernel/pid_max", "kernel.pid_max"),
    ],
)
def test_keys_are_written_in_two_ways(key: str, file: str, name: str) -> None:
    assert (key_file(key), key_name(key)) == (file, name)


def test_the_lines_of_a_file_are_read() -> None:
    text = "# a \\\n; b\n\nvm.swappiness = 10 \n-net/core/rmem_max=1\\\n2\n/net/ipv4/conf/*/rp_filter=2\nbroken\n"
    lines = parse_sysctl_lines(text, "/etc/sysctl.d/a.conf")
    assert [(line.key, line.value, line.line, line.ignore_errors, line.pattern) for line in lines] == [
        ("vm.swappiness", "10", 4, False, False),
        ("net.core.rmem_max", "1\\", 5, True, False),
        ("net.ipv4.conf.*.rp_filter", "2", 7, False, True),
    ]


def test_later_names_win_and_the_same_name_counts_once(tmp_path: Path) -> None:
    files = {
        "/usr/lib/sysctl.d/50-vendor.conf": "vm.swappiness=30\nvm.dirty_ratio=40\n",
        "/usr/lib/sysctl.d/60-same.conf": "vm.swappiness=1\n",
        "/run/sysctl.d/60-same.conf": "vm.swappiness=2\n",
        "/etc/sysctl.d/60-same.conf": "vm/swappiness=3\n",
        "/etc/sysctl.d/10-early.conf": "vm.swappiness=99\n",
        "/etc/sysctl.d/README": "vm.swappiness=98\n",
        "/usr/lib/systemd/systemd-sysctl": "",
        "/etc/sysctl.conf": "vm.swappiness=97\n",
        "/proc/sys/vm/swappiness": "60\n",
    }
    found = read(write_tree(tmp_path, files)).configured or ()
    assert [(line.path, line.value, line.wins) for line in found if line.key == "vm.swappiness"] == [
        ("/etc/sysctl.d/10-early.conf", "99", False),
        ("/usr/lib/sysctl.d/50-vendor.conf", "30", False),
        ("/etc/sysctl.d/60-same.conf", "3", True),
    ]
    assert [line.live for line in found if line.wins and line.key == "vm.swappiness"] == ["60"]


def test_a_link_to_sysctl_conf_counts_in_its_place(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/etc/sysctl.conf": "vm.swappiness=5\n", "/etc/sysctl.d/": ""})
    write_link(tmp_path, "/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf")
    assert [line.path for line in read(host).configured or ()] == ["/etc/sysctl.d/99-sysctl.conf"]


def test_without_systemd_sysctl_conf_comes_last(tmp_path: Path) -> None:
    files = {"/etc/sysctl.conf": "vm.swappiness=5\n", "/etc/sysctl.d/zz.conf": "vm.swappiness=6\n"}
    found = read(write_capture(tmp_path, files)).configured or ()
    assert [(line.value, line.wins) for line in found] == [("6", False), ("5", True)]


def test_a_file_that_is_masked_says_nothing(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/usr/lib/sysctl.d/a.conf": "vm.swappiness=5\n", "/etc/sysctl.d/": "", "/dev/": ""})
    write_link(tmp_path, "/etc/sysctl.d/a.conf", "/dev/null")
    assert read(host).configured == ()


def test_a_key_that_the_kernel_lacks_has_no_value_and_a_gap(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/etc/sysctl.d/a.conf": "kernel.sched_min_granularity_ns = 1\n"})
    (line,) = read(host).configured or ()
    assert line.live is None
    assert host.gaps[evidence_path(line, "live")] == "absent"


@pytest.mark.parametrize("key", ["../../etc/passwd", "/../etc/passwd", "kernel/../../../etc/passwd", "..", "vm..x"])
def test_no_key_leads_out_of_proc_sys(tmp_path: Path, key: str) -> None:
    files = {"/etc/sysctl.d/a.conf": f"{key} = 1\n", "/etc/passwd": "secret\n"}
    sysctl = read(write_tree(tmp_path, files))
    assert "secret" not in sysctl.model_dump_json()


@pytest.mark.parametrize("key", ["kernel.hostname", "net.ipv6.conf.all.stable_secret", "net/ipv4/tcp_fastopen_key"])
def test_keys_that_name_the_host_are_left_out(tmp_path: Path, key: str) -> None:
    sysctl = read(write_tree(tmp_path, {"/etc/sysctl.d/a.conf": f"{key} = node17\n"}))
    assert sysctl.configured == ()


def test_what_was_not_captured_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    sysctl = read(host)
    assert (sysctl.vm_swappiness, sysctl.configured) == (None, None)
    assert host.gaps["/proc/sys/vm/swappiness"] == "not captured"
    assert host.gaps[evidence_path(sysctl, "configured")] == "not captured"
