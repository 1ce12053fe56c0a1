"""Modules that a line of modprobe.d or of the kernel command line keeps from being loaded, and what follows."""

from pathlib import Path

import pytest

from advisor.derived.configured import derive
from advisor.model.snapshot import Snapshot, Source
from advisor.probes._cmdline import split_words
from advisor.probes._dropins import joined
from advisor.probes._kept_out import of_lines, of_words
from advisor.probes.modules import Modules, read
from advisor.probes.sysctl import Sysctl
from advisor.targets import modprobe, modules
from tests.plans import wish, withheld
from tests.trees import write_tree

SITE = "/etc/modprobe.d/site.conf"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("blacklist nvidia-peermem", [("nvidia_peermem", "blacklist")]),
        ("install nvidia_peermem /bin/false", [("nvidia_peermem", "install")]),
        ("install dccp true", [("dccp", "install")]),
        ("install nvidia_peermem /sbin/modprobe --ignore-install nvidia_peermem", []),
        ("install nvidia_peermem /opt/site/load-it", []),
        ("install nvidia_peermem", []),
        ("blacklist", []),
        ("# blacklist sunrpc", []),
        ("options sunrpc tcp_slot_table_entries=128", []),
        ("blacklist \\\n sunrpc", [("sunrpc", "blacklist")]),
    ],
)
def test_lines_of_modprobe(text: str, found: list[tuple[str, str]]) -> None:
    assert [(one.module, one.by) for one in of_lines(joined(text, SITE))] == found


def test_words_of_the_command_line() -> None:
    told = of_words(split_words("ro modprobe.blacklist=nouveau,nvidia-peermem module_blacklist=sunrpc rd.blacklist=x"))
    assert [(one.module, one.by, one.place()) for one in told] == [
        ("nouveau", "blacklist", "/proc/cmdline"),
        ("nvidia_peermem", "blacklist", "/proc/cmdline"),
        ("sunrpc", "module_blacklist", "/proc/cmdline"),
    ]


def host(tmp_path: Path, line: str) -> Snapshot:
    files = {
        SITE: f"# site\n{line}\n",
        "/etc/modules-load.d/90-advisor.conf": "sunrpc\n",
        "/etc/modprobe.d/90-advisor.conf": "options sunrpc tcp_slot_table_entries=128\n",
        "/sys/module/sunrpc/parameters/tcp_slot_table_entries": "128\n",
    }
    found = read(write_tree(tmp_path, files))
    settings = derive(Sysctl(), found, None, None, None, None, {})
    return Snapshot(Source(kind="live"), {"modules": found, "configuration": settings}, {})


@pytest.mark.parametrize("line", ["blacklist sunrpc", "install sunrpc /bin/true"])
def test_a_module_that_the_operator_keeps_out_is_not_listed(tmp_path: Path, line: str) -> None:
    machine = host(tmp_path, line)
    assert f"{SITE}:2 keeps sunrpc from being loaded" in withheld(wish("modules", "sunrpc", True), host=machine)[0]
    assert f"{SITE}:2 keeps sunrpc" in (modules.prevented(machine, "sunrpc") or "")


def test_options_count_for_nothing_where_a_command_runs_instead(tmp_path: Path) -> None:
    key = "sunrpc.tcp_slot_table_entries"
    assert modprobe.prevented(host(tmp_path / "listed", "blacklist sunrpc"), key) is None
    assert "(install)" in (modprobe.prevented(host(tmp_path / "instead", "install sunrpc /bin/true"), key) or "")


def test_nothing_is_known_where_modprobe_d_was_not_captured(tmp_path: Path) -> None:
    found = read(write_tree(tmp_path, {"/sys/module/sunrpc/initstate": "live\n"}))
    assert found.kept_out is None
    assert modules.prevented(Snapshot(Source(kind="tree"), {"modules": found}, {}), "sunrpc") is None
    assert Modules().kept_out is None
