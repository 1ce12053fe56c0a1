"""Who sets a kernel or module parameter, and who wins."""

from pathlib import Path

import pytest

from advisor.commands._snapshot import probe_host
from advisor.derived.configured import Configuration, same, setting_of
from advisor.host.base import Host
from tests.trees import write_capture

SITE = "/etc/sysctl.d/50-site.conf"
LAST = "/etc/sysctl.d/99-last.conf"
PROFILE = "/usr/lib/tuned/site/tuned.conf"
SWAPPINESS = "/proc/sys/vm/swappiness"
GROUP = "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs"
TUNED = {
    "/etc/tuned/active_profile": "site",
    PROFILE: "[sysctl]\nvm.swappiness=10\nvm.dirty_ratio=>20\n",
    "/usr/lib/systemd/system/tuned.service": "[Service]\n",
    GROUP: "7\n",
    "/usr/lib/systemd/systemd-sysctl": "",
}


def configuration(host: Host) -> Configuration:
    found = probe_host(host)[0].get(Configuration)
    assert found is not None
    return found


def told(tmp_path: Path, files: dict[str, str], key: str = "vm.swappiness") -> tuple[str | None, ...]:
    """Winning place, what it is, value in force."""
    found = setting_of(configuration(write_capture(tmp_path, files)).sysctl, key)
    assert found is not None
    assert found.wins is not None
    return found.wins.place(), found.wins.by, found.live


def test_the_last_file_by_name_wins_and_the_other_is_told_of(tmp_path: Path) -> None:
    files = {SITE: "vm.swappiness=5\n", LAST: "# x\nvm.swappiness = 60\n", SWAPPINESS: "60\n"}
    found = setting_of(configuration(write_capture(tmp_path, files)).sysctl, "vm.swappiness")
    assert found is not None
    assert found.wins is not None
    assert [one.place() for one in found.setters] == [f"{SITE}:1", f"{LAST}:2"]
    assert (found.wins.place(), found.drifted, found.overridden, found.exists) == (f"{LAST}:2", False, True, True)


def test_a_value_that_no_file_asks_for_has_drifted(tmp_path: Path) -> None:
    files = {SITE: "vm.swappiness=5\n", SWAPPINESS: "60\n"}
    found = setting_of(configuration(write_capture(tmp_path, files)).sysctl, "vm.swappiness")
    assert found is not None
    assert (found.drifted, found.live, found.overridden) == (True, "60", False)


def test_a_key_that_the_kernel_lacks_is_told(tmp_path: Path) -> None:
    files = {SITE: "kernel.sched_min_granularity_ns=1\n", SWAPPINESS: "60\n"}
    found = setting_of(configuration(write_capture(tmp_path, files)).sysctl, "kernel.sched_min_granularity_ns")
    assert found is not None
    assert (found.exists, found.live, found.drifted) == (False, None, None)


def test_in_a_container_the_files_are_not_those_of_the_kernel(tmp_path: Path) -> None:
    files = {SITE: "vm.swappiness=5\nvm.nothing=1\n", SWAPPINESS: "60\n", "/.dockerenv": ""}
    found = configuration(write_capture(tmp_path, files)).sysctl
    assert [(one.drifted, one.exists) for one in found or ()] == [(None, None), (None, True)]


def test_a_pattern_leaves_a_key_that_a_line_names_alone(tmp_path: Path) -> None:
    key = "net.ipv4.conf.all.rp_filter"
    files = {SITE: f"{key}=2\n", LAST: "net.ipv4.conf.*.rp_filter=1\n"}
    assert told(tmp_path, files, key)[0] == f"{SITE}:1"


@pytest.mark.parametrize(
    ("files", "place", "by"),
    [
        ({**TUNED, "/usr/lib/sysctl.d/10-x.conf": "vm.swappiness=5\n"}, f"{PROFILE}:2", "tuned"),
        ({**TUNED, SITE: "vm.swappiness=5\n"}, f"{SITE}:1", "tuned again"),
        (
            {**TUNED, SITE: "vm.swappiness=5\n", "/etc/tuned/tuned-main.conf": "reapply_sysctl=0\n"},
            f"{PROFILE}:2",
            "tuned",
        ),
        ({**TUNED, SITE: "vm.swappiness=5\n", GROUP: ""}, f"{SITE}:1", "sysctl.d"),
        (
            {
                **TUNED,
                PROFILE: "[sysctl]\nvm.dirty_ratio=20\n",
                SITE: "vm.swappiness=5\n",
                "/usr/lib/sysctl.d/99-x.conf": "vm.swappiness=6\n",
            },
            f"{SITE}:1",
            "tuned again",
        ),
    ],
    ids=[
        *("over a package's file", "not over the operator's", "over all when told so", "not when it does not run"),
        "the operator's once more, over a package's",
    ],
)
def test_tuned_comes_behind_sysctl_d(files: dict[str, str], place: str, by: str, tmp_path: Path) -> None:
    assert told(tmp_path, files)[:2] == (place, by)


def test_what_tuned_only_raises_is_not_drift(tmp_path: Path) -> None:
    files = {**TUNED, "/proc/sys/vm/dirty_ratio": "40\n", SITE: "vm.swappiness=1\n"}
    found = setting_of(configuration(write_capture(tmp_path, files)).sysctl, "vm.dirty_ratio")
    assert found is not None
    assert (found.drifted, found.live) == (None, "40")


def test_a_rule_of_udev_is_told_of_and_does_not_win_at_boot(tmp_path: Path) -> None:
    files = {"/etc/udev/rules.d/90-x.rules": 'SUBSYSTEM=="bdi", SYSCTL{vm/swappiness}="1"\n', SITE: "vm.swappiness=5\n"}
    assert told(tmp_path, files)[0] == f"{SITE}:1"


def test_the_command_line_wins_over_modprobe_d(tmp_path: Path) -> None:
    files = {
        "/etc/modprobe.d/a.conf": "options nvme io_queue_depth=512\n",
        "/proc/cmdline": "quiet nvme.io_queue_depth=256",
        "/sys/module/nvme/parameters/io_queue_depth": "1024\n",
    }
    found = setting_of(configuration(write_capture(tmp_path, files)).modules, "nvme.io_queue_depth")
    assert found is not None
    assert found.wins is not None
    assert (found.wins.by, found.wins.value, found.live) == ("cmdline", "256", "1024")
    assert (found.drifted, found.exists, found.overridden) == (True, True, True)


@pytest.mark.parametrize(
    ("live", "asked", "equal"),
    [
        ("4096 131072 6291456", "4096\t131072  6291456", True),
        ("16", "0x10", True),
        ("8", "010", True),
        ("60", "6", False),
        ("bbr", "cubic", False),
        ("1 2", "1", False),
        ("pfifo", '"pfifo"', True),
        ("x" * 9, "9" * 5000, False),
    ],
)
def test_values_are_compared_as_the_kernel_reads_them(live: str, asked: str, equal: bool) -> None:
    assert same(live, asked) is equal
