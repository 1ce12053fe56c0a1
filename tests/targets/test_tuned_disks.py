"""TuneD and disks: a scheduler or a read-ahead that its profile sets is not fought by a rule of udev."""

from collections.abc import Sequence

import pytest

from advisor.derived.configured import Configuration
from advisor.model.setting import Setting
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.block import Block, BlockDevice
from advisor.probes.mounts import Mount, Mounts
from advisor.probes.systemd import Service, Systemd
from advisor.probes.tuned import Tuned, counting, parse_profile
from advisor.probes.udev import Udev, parse_rules
from advisor.targets import udev
from advisor.targets._base import SetBy
from tests.plans import wish, withheld

SITE, PACKAGE = "/etc/tuned/site/tuned.conf", "/usr/lib/tuned/base/tuned.conf"
SCHEDULER, READ_AHEAD = wish("udev", "nvme/scheduler", "none"), wish("udev", "md127/read_ahead_kb", 4096, floor=True)
NFS = wish("udev", "nfs/read_ahead_kb", 15360, floor=True)
OURS = (
    'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="nvme[0-9]*n[0-9]*", '
    'ATTR{queue/scheduler}="none"\n'
)


def host(*profiles: tuple[str, str], active: bool | None = True, installed: bool = True, rules: str = OURS) -> Snapshot:
    """A host whose TuneD applies the last of these profiles, which includes those before it."""
    devices = (
        BlockDevice(name="nvme0n1", kind="nvme", scheduler="mq-deadline", schedulers=("none", "mq-deadline")),
        BlockDevice(name="nvme1n1", kind="nvme", scheduler="mq-deadline", schedulers=("none", "mq-deadline")),
        BlockDevice(name="md127", kind="md", read_ahead_bytes=512 * 1024),
    )
    lines = [line for path, text in profiles for line in parse_profile(text, path)[0]]
    services = (Service(name="tuned.service", path="/usr/lib/systemd/system/tuned.service"),) if installed else ()
    facts = {
        "block": Block(devices=devices),
        "mounts": Mounts(mounts=(Mount(point="/n", fstype="nfs4", kind="network", read_ahead_bytes=128 * 1024),)),
        "udev": Udev(settings=parse_rules(rules, "/etc/udev/rules.d/61-advisor.rules")),
        "tuned": Tuned(profile="site", lines=counting(lines)),
        "systemd": Systemd(services=services),
        "configured": Configuration(tuned_active=active),
    }
    return Snapshot(Source(kind="live"), facts, {})


@pytest.mark.parametrize(
    ("asked", "text", "why"),
    [
        (SCHEDULER, "[disk]\nelevator=mq-deadline\n", "mq-deadline by /etc/tuned/site/tuned.conf:2: change it there"),
        (SCHEDULER, "[nvme]\ntype=disk\ndevices=sd*, nvme1n1\nelevator = kyber\n", "kyber by /etc/tuned/site/"),
        (SCHEDULER, "[disk]\ndevices_udev_regex=ID_BUS=x\nelevator=kyber\n", "kyber by"),
        (SCHEDULER, "[disk]\nelevator=${mine}\n", "${mine} by"),
        (SCHEDULER, "[sysfs]\n/sys/block/nvme*/queue/scheduler=kyber\n", "kyber by"),
        (READ_AHEAD, "[disk]\nreadahead=>4096\n", ">4096 by"),
        (READ_AHEAD, "[disk]\nreadahead = 2048 s\n", "1024 by"),
        (READ_AHEAD, "[disk]\nreadahead_multiply=2\n", "2 times as much by"),
        (NFS, "[sysfs]\n/sys/class/bdi/*/read_ahead_kb=64\n", "64 by"),
    ],
    ids=[
        *("elevator", "a unit of its own", "by udev", "variable", "file", "at least", "sectors", "multiplied"),
        "NFS",
    ],
)  # fmt: skip
@pytest.mark.parametrize("active", [True, None, False])
def test_the_operators_profile_stands_running_or_not(asked: Setting, text: str, why: str, active: bool | None) -> None:
    (told,) = withheld(asked, host=host((SITE, text), active=active))
    assert told.startswith(f"set to {why}")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (SCHEDULER, "[disk]\ndevices=sda\nelevator=kyber\n"),
        (SCHEDULER, "[disk]\ndevices=!nvme*\nelevator=kyber\n"),
        (SCHEDULER, "[disk]\nenabled=0\nelevator=kyber\n"),
        (SCHEDULER, "[disk]\nreadahead=>4096\nspindown=6\n"),
        (SCHEDULER, "[sysfs]\n/sys/block/sd*/queue/scheduler=kyber\n"),
        (NFS, "[disk]\nreadahead=1\n[sysfs]\n/sys/block/*/queue/read_ahead_kb=1\n"),
        (READ_AHEAD, "[disk]\ndevices=nvme*\nreadahead=1\n"),
    ],
    ids=["other disks", "all but these", "switched off", "no elevator", "other files", "no disk", "other read-ahead"],
)
def test_a_profile_for_other_disks_keeps_nothing_from_being_written(asked: Setting, text: str) -> None:
    assert withheld(asked, host=host((SITE, text))) == []
    assert withheld(asked, host=host((SITE, "[disk]\nelevator=bfq\nreadahead=1\n"), installed=False)) == []


@pytest.mark.parametrize(
    ("asked", "text", "active", "stands"),
    [
        (SCHEDULER, "[disk]\nelevator=mq-deadline\n", True, True),
        (SCHEDULER, "[disk]\nelevator=none\n", True, False),
        (SCHEDULER, "[disk]\nelevator=mq-deadline\n", None, False),
        (SCHEDULER, "[disk]\nelevator=mq-deadline\n", False, False),
        (READ_AHEAD, "[disk]\nreadahead=1024\n", True, True),
        (READ_AHEAD, "[disk]\nreadahead=>1024\n", True, False),
    ],
    ids=["applied", "the same", "not known", "stopped", "read-ahead", "only raised"],
)
def test_a_packages_profile_stands_where_it_wins(asked: Setting, text: str, active: bool | None, stands: bool) -> None:
    told = withheld(asked, host=host((PACKAGE, text), active=active))
    assert [why.partition(", ")[2] for why in told] == (
        ["which wins over ours: to change it, put your own copy at /etc/tuned/base/tuned.conf"] if stands else []
    )


@pytest.mark.parametrize(
    ("above", "stands"),
    [
        ("[disk]\nspindown=6\n", [PACKAGE]),
        ("[disk]\ndevices=sda\n", []),
        ("[disk]\nelevator=none\n", [SITE]),
        ("[disk]\nreplace=1\nspindown=6\n", []),
        ("[disk]\ndrop=apm, elevator\n", []),
        ("[other]\ntype=disk\ndevices=sda\nelevator=bfq\n", [PACKAGE]),
    ],
    ids=["inherited", "for other disks now", "replaced", "all replaced", "dropped", "another unit"],
)
def test_a_profile_counts_as_far_as_those_above_leave_it(above: str, stands: Sequence[str]) -> None:
    below = "[disk]\nelevator=kyber\n"
    found = udev.set_by(host((PACKAGE, below), (SITE, above)), "nvme/scheduler")
    assert [one.path for one in found if not one.ours] == stands


def test_devices_of_an_included_profile_are_forgotten_by_a_unit_without_them() -> None:
    below, above = "[disk]\ndevices=sda\nelevator=kyber\n", "[disk]\nspindown=6\n"
    assert [one.path for one in udev.set_by(host((PACKAGE, below)), "nvme/scheduler") if not one.ours] == []
    found = udev.set_by(host((PACKAGE, below), (SITE, above)), "nvme/scheduler")
    assert [one.text for one in found if not one.ours] == ["kyber"]


def test_what_stands_is_told_once_for_all_disks_of_a_kind() -> None:
    assert len(withheld(SCHEDULER, SCHEDULER, host=host((SITE, "[disk]\nelevator=kyber\n")))) == 1


def test_verify_is_told_that_tuned_comes_last() -> None:
    profile = (PACKAGE, "[disk]\nelevator=kyber\nreadahead=>8192\n")
    ours = SetBy("none", "/etc/udev/rules.d/61-advisor.rules", 1)
    last = SetBy("kyber", PACKAGE, 2)
    assert udev.winners(host(profile), "nvme/scheduler", "none") == (ours, last)
    assert udev.winners(host(profile, rules=""), "nvme/scheduler", "none") == (last,)
    assert udev.winners(host(profile, active=None), "nvme/scheduler", "none") is None
    assert udev.winners(host(profile, active=False), "nvme/scheduler", "none") == (ours,)
    assert udev.winners(host(profile), "md127/read_ahead_kb", "4096") == ()


@pytest.mark.parametrize(("text", "wins"), [("1024", True), ("8192", False)])
def test_a_larger_read_ahead_is_no_loss(text: str, wins: bool) -> None:
    profile = (PACKAGE, f"[disk]\nreadahead={text}\n")
    assert udev.winners(host(profile), "md127/read_ahead_kb", "4096") == ((SetBy(text, PACKAGE, 2),) if wins else ())
