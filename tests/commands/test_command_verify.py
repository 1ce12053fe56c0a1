"""`advisor verify`, whole: what stands, what differs, who overrides, what cannot be told."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.cli import run
from tests.outs import FILES, LIMITS, MODPROBE, SYSCTL, sysctl_text, write_generated
from tests.trees import write_capture, write_tree

SWAPPINESS, MULTIPATH = "/proc/sys/vm/swappiness", "/sys/module/nvme_core/parameters/multipath"
BARE: Mapping[str, str] = {
    SWAPPINESS: "60\n",
    MULTIPATH: "Y\n",
    "/sys/module/nvme_core/version": "1.0\n",
    "/etc/pam.d/sshd": "session required pam_limits.so\n",
    "/etc/security/limits.conf": "",
    "/usr/lib/systemd/systemd-sysctl": "",
    "/proc/cmdline": "quiet\n",
    "/proc/1/cgroup": "0::/init.scope\n",
}
INSTALLED = {**BARE, **FILES, SWAPPINESS: "10\n", MULTIPATH: "N\n"}
TUNED = {
    "/etc/tuned/active_profile": "site",
    "/usr/lib/tuned/site/tuned.conf": "[sysctl]\nvm.swappiness=1\n",
    "/etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n",
    "/usr/lib/systemd/system/tuned.service": "[Service]\n",
    "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs": "7\n",
}
MODULES = "/etc/modules-load.d/90-advisor.conf"
UDEV, UNIT = "/etc/udev/rules.d/61-advisor.rules", "/etc/systemd/system/slurmd.service.d/90-advisor.conf"
EVERY = {
    **FILES,
    MODULES: "# rule x/y: z\nnvme_core\n",
    UNIT: "[Service]\n# rule x/y: z\nLimitMEMLOCK=infinity\n",
    UDEV: 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="sda", '
    'ATTR{queue/scheduler}="none"\n',
}
DEVICES = {
    "/sys/block/sda/queue/scheduler": "[none] mq-deadline\n",
    "/sys/block/sda/size": "8\n",
    "/usr/lib/systemd/system/slurmd.service": "[Service]\nLimitMEMLOCK=8M\n",
}
WISHES = ("sysctl:vm.swappiness", "modprobe:nvme_core.multipath", "limits:*/soft/memlock")


class Site:
    """A captured machine and an OUT, and the command on them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.out = folder, capsys, write_generated(folder / "out")

    def verify(self, files: Mapping[str, str | bytes]) -> tuple[int, dict[str, tuple[str, str, str]]]:
        """Exit status, and state, place and note of each setting."""
        write_capture(self.folder / "host", files)
        self.capsys.readouterr()
        status = run(["verify", str(self.out), "--root", str(self.folder / "host"), "--format", "json"])
        told = json.loads(self.capsys.readouterr().out)
        assert told["schema_version"] == 1
        return status, {f"{s['target']}:{s['key']}": (s["state"], s["path"], s["note"]) for s in told["settings"]}


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    return Site(tmp_path, capsys)


def test_what_is_installed_and_in_force_is_applied(site: Site) -> None:
    status, found = site.verify(INSTALLED)
    assert (status, [found[wish][0] for wish in WISHES]) == (0, ["applied"] * 3)
    assert [found[wish][1] for wish in WISHES] == [f"{SYSCTL}:6", f"{MODPROBE}:4", f"{LIMITS}:4"]


def test_what_is_not_installed_differs(site: Site) -> None:
    status, found = site.verify(BARE)
    assert (status, [found[wish][0] for wish in WISHES]) == (1, ["differs"] * 3)
    assert found[WISHES[0]][1] == SWAPPINESS
    assert "not installed" in found[WISHES[2]][2]


def test_what_waits_for_a_reboot_differs_and_says_so(site: Site) -> None:
    status, found = site.verify({**INSTALLED, MULTIPATH: "Y\n"})
    assert status == 1
    assert found[WISHES[1]][:2] == ("differs", MULTIPATH)
    assert "after a reboot" in found[WISHES[1]][2]


def test_a_value_in_force_that_no_file_keeps_differs(site: Site) -> None:
    files = {path: text for path, text in INSTALLED.items() if path != SYSCTL}
    status, found = site.verify(files)
    assert (status, found[WISHES[0]][0]) == (1, "differs")
    assert "not installed" in found[WISHES[0]][2]


@pytest.mark.parametrize(
    ("more", "wish", "place"),
    [
        ({"/etc/sysctl.d/99-sysctl.conf": "# x\nvm.swappiness = 30\n"}, 0, "/etc/sysctl.d/99-sysctl.conf:2"),
        ({"/usr/lib/sysctl.d/95-vendor.conf": "vm/swappiness=30\n"}, 0, "/usr/lib/sysctl.d/95-vendor.conf:1"),
        (TUNED, 0, "/usr/lib/tuned/site/tuned.conf:2"),
        (
            {"/etc/udev/rules.d/99.rules": 'ACTION=="add", SYSCTL{vm/swappiness}="1"\n'},
            0,
            "/etc/udev/rules.d/99.rules:1",
        ),
        ({"/etc/modprobe.d/nvme.conf": "options nvme-core multipath=Y\n"}, 1, "/etc/modprobe.d/nvme.conf:1"),
        ({"/proc/cmdline": "quiet nvme_core.multipath=Y\n"}, 1, "/proc/cmdline"),
        ({"/etc/security/limits.d/95-site.conf": "* - memlock 64\n"}, 2, "/etc/security/limits.d/95-site.conf:1"),
        ({"/etc/security/limits.conf": "@hpc soft memlock 64\n"}, 2, "/etc/security/limits.conf:1"),
        (
            {"/usr/lib/systemd/system/slurmd.service": "[Service]\nLimitMEMLOCK=8M\n"},
            2,
            "/usr/lib/systemd/system/slurmd.service:2",
        ),
    ],
    ids=["99-sysctl", "vendor", "tuned", "udev", "modprobe.d", "cmdline", "limits.d", "group", "unit"],
)
def test_whoever_has_the_last_word_is_named(site: Site, more: dict[str, str], wish: int, place: str) -> None:
    status, found = site.verify({**INSTALLED, **more})
    assert (status, found[WISHES[wish]][:2]) == (1, ("overridden", place))
    assert [found[other][0] for other in WISHES if other != WISHES[wish]] == ["applied"] * 2


@pytest.mark.parametrize(
    "more",
    [
        {"/etc/sysctl.d/10-early.conf": "vm.swappiness = 30\n"},
        {"/etc/sysctl.d/99-sysctl.conf": "vm/swappiness=10\n"},
        {"/etc/sysctl.conf": "vm.swappiness = 30\n"},
        {**TUNED, "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs": ""},
        {**TUNED, "/etc/tuned/tuned-main.conf": ""},
        {"/etc/modprobe.d/10.conf": "options nvme_core multipath=Y\n"},
        {"/etc/modprobe.d/zz.conf": "options nvme_core multipath=0\n"},
        {"/etc/security/limits.conf": "* soft memlock 64\nroot soft memlock 1\n@hpc hard memlock 1\n"},
        {"/usr/lib/systemd/system/slurmd.service": "[Service]\nLimitMEMLOCK=infinity\nLimitNOFILE=1\n"},
        {"/usr/lib/systemd/system/sshd.service": "[Service]\nLimitMEMLOCK=8M\n"},
    ],
    ids=[
        *("sorts before", "same value", "systemd skips sysctl.conf", "tuned stopped", "tuned applies ours again"),
        *("modprobe before", "same switch", "limits before", "unit with more", "sessions of sshd"),
    ],
)
def test_what_only_looks_like_an_override_is_none(site: Site, more: dict[str, str]) -> None:
    status, found = site.verify({**INSTALLED, **more})
    assert (status, [found[wish][0] for wish in WISHES]) == (0, ["applied"] * 3)


def test_limits_that_no_session_takes_differ(site: Site) -> None:
    status, found = site.verify({**INSTALLED, "/etc/pam.d/sshd": "session required pam_unix.so\n"})
    assert (status, found[WISHES[2]][0]) == (1, "differs")
    assert "pam_limits" in found[WISHES[2]][2]


def test_the_text_of_the_installed_file_does_not_matter(site: Site) -> None:
    status, _ = site.verify({**INSTALLED, SYSCTL: "# other words\nvm.swappiness = 10\n"})
    assert status == 0


def test_a_line_that_is_not_generated_any_more_is_told(site: Site) -> None:
    status, found = site.verify({**INSTALLED, SYSCTL: f"{FILES[SYSCTL]}vm.laptop_mode = 5\n"})
    assert status == 1
    assert found["sysctl:vm.laptop_mode"] == ("differs", f"{SYSCTL}:7", "installed, but not generated any more")
    assert found[WISHES[0]][0] == "applied"


def test_an_installed_file_that_was_changed_is_told(site: Site) -> None:
    text = FILES[SYSCTL].replace("= 10", "= 20")
    status, found = site.verify({**INSTALLED, SYSCTL: text, SWAPPINESS: "20\n"})
    assert (status, found[WISHES[0]][:2]) == (1, ("differs", f"{SYSCTL}:6"))


def test_an_installed_file_that_nobody_can_read_back_is_told(site: Site) -> None:
    status, found = site.verify({**INSTALLED, SYSCTL: f"{FILES[SYSCTL]}-net.*.x\n"})
    assert (status, found[f"sysctl:{SYSCTL}"][0]) == (1, "differs")
    assert "changed by hand: line 7" in found[f"sysctl:{SYSCTL}"][2]


def test_what_cannot_be_seen_is_neither_same_nor_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = write_generated(tmp_path / "out", {SYSCTL: sysctl_text(), MODPROBE: FILES[MODPROBE]})
    write_tree(tmp_path / "tree", {SYSCTL: sysctl_text(), "/proc/sys/kernel/pid_max": "1\n"})
    assert run(["verify", str(out), "--root", str(tmp_path / "tree")]) == 3
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("2 not visible")
    assert "sysctl:vm.swappiness=10: it is installed, but the value in force cannot be seen: not captured" in told[2]


def test_a_container_does_not_speak_for_its_host(site: Site) -> None:
    status, found = site.verify({**INSTALLED, "/.dockerenv": ""})
    assert status == 3
    assert {found[wish][0] for wish in WISHES} == {"not visible"}


def test_the_text_names_the_winner_and_quiet_says_nothing(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.verify({**INSTALLED, "/etc/sysctl.d/99-sysctl.conf": "vm.swappiness = 30\n"})
    fixed = ["verify", str(site.out), "--root", str(site.folder / "host")]
    assert run([*fixed, "--quiet"]) == 1
    assert capsys.readouterr().out == ""
    assert run(fixed) == 1
    line = "  overridden  sysctl:vm.swappiness=10: set to 30 by /etc/sysctl.d/99-sysctl.conf:1\n"
    assert line in capsys.readouterr().out


def test_nothing_for_the_host_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = write_generated(tmp_path / "out", {}, {"job/env.sh": "A=1\n", "suggested/fstab.diff": "-x\n"})
    write_capture(tmp_path / "host", BARE)
    assert run(["verify", str(out), "--root", str(tmp_path / "host")]) == 0
    assert "nothing for the host was generated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "state", "place"),
    [
        ({MODULES: "ib_umad\n", "/sys/module/ib_umad/version": "1\n"}, "applied", f"{MODULES}:1"),
        ({"/etc/modules-load.d/x.conf": "ib-umad\n", "/sys/module/ib_umad/version": "1\n"}, "applied", "/etc/mod"),
        ({MODULES: "ib_umad\n"}, "differs", "/sys/module/ib_umad"),
        ({}, "differs", ""),
    ],
    ids=["listed and loaded", "listed elsewhere", "not loaded", "not listed"],
)
def test_modules_at_boot(
    files: dict[str, str], state: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = write_generated(tmp_path / "out", {MODULES: "ib_umad\n"})
    write_capture(tmp_path / "host", {**BARE, "/etc/modules-load.d/": "", **files})
    run(["verify", str(out), "--root", str(tmp_path / "host"), "--format", "json"])
    (told,) = json.loads(capsys.readouterr().out)["settings"]
    assert (told["state"], told["path"][: len(place)]) == (state, place)


@pytest.mark.parametrize("change", [{}, {"/etc/sysctl.d/99-x.conf": "vm.swappiness = 30\n"}], ids=["same", "drift"])
def test_a_redacted_capture_says_the_same(
    change: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = write_generated(tmp_path / "out", EVERY)
    write_capture(tmp_path / "host", {**INSTALLED, **EVERY, **DEVICES, **change})
    assert run(["capture", str(tmp_path / "copy.tar"), "--root", str(tmp_path / "host"), "--quiet"]) == 0
    told = []
    for root in ("host", "copy.tar"):
        status = run(["verify", str(out), "--root", str(tmp_path / root)])
        told.append((status, capsys.readouterr().out))
    assert told[0] == told[1]
    assert told[0][0] == len(change)
    assert "not visible" not in told[0][1]
