"""Files of packages and of /run that are read behind ours, and TuneD: what cannot count is not written."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.commands._snapshot import probe_host
from advisor.host.captured import open_root
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot
from advisor.planning.objections import objections
from tests.outs import SYSCTL, sysctl_text
from tests.planning.sites import TARGETS, generated
from tests.plans import planned, wish, withheld
from tests.trees import write_capture

HOST: Mapping[str, str] = {
    "/proc/sys/vm/swappiness": "60\n",
    "/usr/lib/systemd/systemd-sysctl": "",
    "/sys/module/nvme_core/parameters/multipath": "Y\n",
    "/sys/module/nvme_core/version": "1.0\n",
    "/usr/lib/systemd/system/slurmd.service": "[Service]\nLimitMEMLOCK=8M\n",
    "/proc/cmdline": "quiet\n",
    "/proc/1/cgroup": "0::/init.scope\n",
}
PROFILE = "/usr/lib/tuned/hpc/tuned.conf"
TUNED: Mapping[str, str] = {
    "/etc/tuned/active_profile": "hpc",
    "/usr/lib/systemd/system/tuned.service": "[Service]\n",
    "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs": "7\n",
}
ONCE = {"/etc/tuned/tuned-main.conf": "reapply_sysctl = 0\n"}
SWAPPINESS = wish("sysctl", "vm.swappiness", 10)
MULTIPATH = wish("modprobe", "nvme_core.multipath", "N")
MEMLOCK = wish("unit", "slurmd.service/LimitMEMLOCK", "infinity")
DROP_IN = "/usr/lib/systemd/system/slurmd.service.d/99-vendor.conf"


def host(folder: Path, *files: Mapping[str, str]) -> Snapshot:
    merged = {path: text for some in (HOST, *files) for path, text in some.items()}
    write_capture(folder, merged)
    return probe_host(open_root(str(folder)))[0]


@pytest.mark.parametrize(
    ("asked", "files", "why", "own"),
    [
        (SWAPPINESS, {"/usr/lib/sysctl.d/99-vendor.conf": "vm.swappiness=30\n"}, "30 by /usr/lib", "sysctl.d/99"),
        (SWAPPINESS, {"/run/sysctl.d/99-vendor.conf": "vm.swappiness=30\n"}, "30 by /run", "sysctl.d/99"),
        (SWAPPINESS, {**TUNED, **ONCE, PROFILE: "[sysctl]\nvm.swappiness=30\n"}, f"30 by {PROFILE}:2", "tuned/hpc/"),
        (
            SWAPPINESS,
            {**TUNED, PROFILE: "[sysctl]\nx.y=1\n", "/run/sysctl.d/99-v.conf": "vm.swappiness=30\n"},
            "30 by /run/sysctl.d",
            "sysctl.d/99-v.conf",
        ),
        (
            SWAPPINESS,
            {"/usr/lib/udev/rules.d/50-x.rules": 'SUBSYSTEM=="module", SYSCTL{vm/swappiness}="30"\n'},
            "30 by /usr/lib/udev",
            "udev/rules.d/50-x.rules",
        ),
        (MULTIPATH, {"/usr/lib/modprobe.d/zz.conf": "options nvme_core multipath=Y\n"}, "Y by /usr", "modprobe.d/zz"),
        (MEMLOCK, {DROP_IN: "[Service]\nLimitMEMLOCK=16M\n"}, "16M by /usr", "systemd/system/slurmd.service.d/99"),
    ],
    ids=["package", "run", "TuneD", "run behind TuneD", "udev", "modprobe.d", "drop-in"],
)  # fmt: skip
def test_what_wins_over_ours_is_named_and_ours_not_written(
    tmp_path: Path, asked: Setting, files: Mapping[str, str], why: str, own: str
) -> None:
    (told,) = withheld(asked, host=host(tmp_path, files))
    assert told.startswith(f"set to {why}")
    assert f", which wins over ours: to change it, put your own copy at /etc/{own}" in told


@pytest.mark.parametrize(
    ("asked", "files"),
    [
        (SWAPPINESS, {"/usr/lib/sysctl.d/50-vendor.conf": "vm.swappiness=30\n"}),
        (SWAPPINESS, {"/usr/lib/sysctl.d/99-vendor.conf": "vm.swappiness=10\n"}),
        (SWAPPINESS, {"/usr/lib/sysctl.d/99-vendor.conf": "vm.swappin*=30\n"}),
        (SWAPPINESS, {"/usr/lib/sysctl.d/90-advisor.conf": "vm.swappiness=30\n"}),
        (SWAPPINESS, {"/run/sysctl.d/95.conf": "vm.swappiness=30\n", "/lib/sysctl.d/99.conf": "vm.swappiness=10\n"}),
        (SWAPPINESS, {**TUNED, PROFILE: "[sysctl]\nvm.swappiness=30\n"}),
        (SWAPPINESS, {**TUNED, **ONCE, PROFILE: "[sysctl]\nvm.swappiness=>5\n"}),
        (SWAPPINESS, {**TUNED, PROFILE: "[sysctl]\nx.y=1\n", "/usr/lib/sysctl.d/99-v.conf": "vm.swappiness=30\n"}),
        (
            SWAPPINESS,
            {
                **TUNED,
                **ONCE,
                PROFILE: "[sysctl]\nvm.swappiness=30\n",
                "/sys/fs/cgroup/system.slice/tuned.service/cgroup.procs": "",
            },
        ),
        (MULTIPATH, {"/usr/lib/modprobe.d/10.conf": "options nvme_core multipath=Y\n"}),
        (MULTIPATH, {"/usr/lib/modprobe.d/zz.conf": "options nvme_core multipath=0\n"}),
        (MEMLOCK, {DROP_IN.replace("99-", "10-"): "[Service]\nLimitMEMLOCK=16M\n"}),
        (MEMLOCK, {DROP_IN: "[Service]\nLimitNOFILE=16\n"}),
        (MEMLOCK, {"/usr/lib/systemd/system/slurmd.service": "[Service]\nLimitMEMLOCK=16M\n"}),
    ],
    ids=[
        *("before", "the same later", "pattern", "of our name", "the same last", "TuneD applies ours again"),
        *("TuneD only raises", "applied again over a package", "TuneD stopped", "modprobe.d before", "the same option"),
        *("drop-in before", "another limit", "the unit's own file"),
    ],
)  # fmt: skip
def test_what_does_not_win_over_ours_keeps_nothing_from_being_written(
    tmp_path: Path, asked: Setting, files: Mapping[str, str]
) -> None:
    made = planned(asked, host=host(tmp_path, files))
    assert ([one.why for one in made.withheld], list(made.settings)) == ([], [asked.target])


def test_a_later_file_stands_against_the_installation(tmp_path: Path) -> None:
    files, vendor = generated({SYSCTL: sysctl_text()}), "/usr/lib/sysctl.d/99-vendor.conf"
    outdone = host(tmp_path / "a", {vendor: "vm.swappiness=30\n"})
    assert list(objections(files, outdone, TARGETS, running=False)) == [
        f"sysctl:vm.swappiness=10: set to 30 by {vendor}:1, which stands"
    ]
    assert list(objections(files, host(tmp_path / "b"), TARGETS, running=False)) == []
