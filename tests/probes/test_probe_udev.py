"""udev rules: which assignments matter, in which order, and what is not a rule."""

from pathlib import Path

import pytest

from advisor.probes.udev import parse_rules, read
from tests.trees import write_capture, write_link, write_tree

RULE = 'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="nvme[0-9]*n[0-9]*", ATTR{queue/scheduler}="none"\n'


def test_files_count_by_name_and_etc_hides_the_packages(tmp_path: Path) -> None:
    files = {
        "/usr/lib/udev/rules.d/60-block.rules": 'SUBSYSTEM=="block", ATTR{queue/scheduler}="bfq"\n',
        "/usr/lib/udev/rules.d/90-late.rules": 'ATTR{bdi/read_ahead_kb}="4096"\n',
        "/etc/udev/rules.d/61-advisor.rules": RULE,
        "/etc/udev/rules.d/60-block.rules": "# nothing\n",
        "/etc/udev/rules.d/README": RULE,
    }
    told = [(one.key, one.value, one.path, one.line) for one in read(write_tree(tmp_path, files)).settings or ()]
    assert told == [
        ("ATTR{queue/scheduler}", "none", "/etc/udev/rules.d/61-advisor.rules", 1),
        ("ATTR{bdi/read_ahead_kb}", "4096", "/usr/lib/udev/rules.d/90-late.rules", 1),
    ]


def test_a_rule_keeps_its_conditions_as_text() -> None:
    (one,) = parse_rules(RULE, "/x")
    assert (one.attribute, one.final) == ("queue/scheduler", False)
    assert one.conditions == ('ACTION=="add|change"', 'SUBSYSTEM=="block"', 'KERNEL=="nvme[0-9]*n[0-9]*"')


def test_a_rule_goes_on_over_lines_and_comments() -> None:
    text = '# x \\\nSUBSYSTEM=="net", \\\n# why\n  ATTR{tx_queue_len}:="10000", \\\n  ATTR{mtu}="9000"\n'
    assert [(one.attribute, one.value, one.final, one.line) for one in parse_rules(text, "/x")] == [
        ("tx_queue_len", "10000", True, 2),
        ("mtu", "9000", False, 2),
    ]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('RUN+="/sbin/blockdev --setra 8192 /dev/%k"', ["RUN"]),
        ('RUN{program}+="/usr/sbin/ethtool -G %k rx 8192"', ["RUN{program}"]),
        ("""RUN+="/bin/sh -c 'echo 1 > /sys/$devpath/queue/nomerges'\"""", ["RUN"]),
        ('RUN{builtin}+="kmod load"', []),
        ('RUN+="/usr/bin/logger x"', []),
        ('SYSCTL{net/ipv4/conf/$name/arp_ignore}="1"', ["SYSCTL{net/ipv4/conf/$name/arp_ignore}"]),
        ('ATTR{power/control}="auto", ENV{X}="1", SYMLINK+="a", MODE="0660"', ["ATTR{power/control}"]),
        ('ATTR{queue/scheduler}=="none", GOTO="end"', []),
        ('ATTR{authorized}="1"', []),
        ('ATTR{queue/scheduler}="none', []),
        ("ATTR{queue/scheduler}=none", []),
        ('nonsense ATTR{queue/scheduler}="none"', []),
        ('ATTR{queue/scheduler}="a\\"b"', ["ATTR{queue/scheduler}"]),
        ("ATTR{" * 100000, []),
        ('ATTR{queue/scheduler}="' + "\\\\" * 5000, []),
    ],
)
def test_what_a_rule_sets(text: str, keys: list[str]) -> None:
    assert [one.key for one in parse_rules(text, "/x")] == keys


def test_a_masked_file_sets_nothing_and_a_tree_without_rules_is_unknown(tmp_path: Path) -> None:
    host = write_tree(tmp_path / "a", {"/usr/lib/udev/rules.d/60-block.rules": RULE})
    write_link(tmp_path / "a", "/etc/udev/rules.d/60-block.rules", "/dev/null")
    assert read(host).settings == ()
    assert read(write_tree(tmp_path / "b", {"/etc/x": ""})).settings is None
    assert read(write_capture(tmp_path / "c", {})).settings == ()
