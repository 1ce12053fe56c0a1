"""udev: devices by what outlives a reboot, read-ahead that is only raised, and what udev itself makes of the file."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from advisor.model.setting import Value
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.block import Block, BlockDevice
from advisor.probes.mounts import Mount, Mounts
from advisor.probes.udev import Udev, parse_rules
from advisor.targets import udev
from advisor.targets._udev_match import numbers_below
from tests.plans import HOSTILE, UNSEEN, body, generated, needed, planned, ran, wish, withheld

FILE = "host/etc/udev/rules.d/61-advisor.rules"
START = 'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", '
BELOW_4096 = "?|??|???|[1-3]???|40[0-8]?|409[0-5]"


def device(name: str, kind: str, scheduler: str = "none", kib: int = 128, **more: object) -> BlockDevice:
    choice = ("none", "mq-deadline", "kyber") if kind in ("nvme", "scsi") else ("none",)
    return BlockDevice.model_validate(
        dict(name=name, kind=kind, scheduler=scheduler, schedulers=choice, read_ahead_bytes=kib * 1024, **more)
    )


def host(*rules: tuple[str, str], nfs: Sequence[int] = (128, 128)) -> Snapshot:
    devices = (
        device("nvme0n1", "nvme", "mq-deadline", pci_address="0000:3b:00.0"),
        device("nvme1n1", "nvme", "none", 8192, pci_address="0001:af:00.0"),
        device("dm-3", "dm", dm_name="vg0-data_set"),
        device("dm-4", "dm", dm_name='x", RUN+="/bin/sh'),
        device("md127", "md", kib=512),
        device("sda", "scsi", "mq-deadline"),
    )
    mounts = tuple(
        Mount(point=f"/n{n}", fstype="nfs4", kind="network", read_ahead_bytes=k * 1024) for n, k in enumerate(nfs)
    )
    lines = tuple(one for path, text in rules for one in parse_rules(text, path))
    facts = {"block": Block(devices=devices), "mounts": Mounts(mounts=mounts), "udev": Udev(settings=lines)}
    return Snapshot(Source(kind="live"), facts, {})


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("nvme/scheduler", "none", f'{START}KERNEL=="nvme[0-9]*n[0-9]*", ATTR{{queue/scheduler}}="none"'),
        (
            "dm-3/read_ahead_kb",
            4096,
            f'{START}KERNEL=="dm-*", ENV{{DM_NAME}}=="vg0-data_set", '
            f'ATTR{{queue/read_ahead_kb}}=="{BELOW_4096}", ATTR{{queue/read_ahead_kb}}="4096"',
        ),
        (
            "nvme0n1/read_ahead_kb",
            4096,
            f'{START}KERNEL=="nvme[0-9]*n[0-9]*", KERNELS=="0000:3b:00.0", '
            f'ATTR{{queue/read_ahead_kb}}=="{BELOW_4096}", ATTR{{queue/read_ahead_kb}}="4096"',
        ),
        (
            "dm-4/read_ahead_kb",
            32,
            f'{START}KERNEL=="dm-4", ATTR{{queue/read_ahead_kb}}=="?|[1-2]?|3[0-1]", ATTR{{queue/read_ahead_kb}}="32"',
        ),
        ("sda/scheduler", "none", f'{START}KERNEL=="sda", ATTR{{queue/scheduler}}="none"'),
    ],
    ids=lambda value: value.partition("==")[0] if isinstance(value, str) else "",
)
def test_a_rule_names_its_device_by_what_outlives_a_reboot(key: str, value: Value, line: str) -> None:
    assert body(generated(wish("udev", key, value), host=host())[FILE]) == [line]


def test_a_line_stands_below_its_reason_the_value_seen_and_the_source() -> None:
    text = generated(wish("udev", "nvme/scheduler", "none"), host=host())[FILE]
    assert (
        "\n# rule area/name: helps\n# seen: none, mq-deadline in /sys/block/nvme*/queue/scheduler\n"
        "# risk: low; takes effect: now\n# source: https://example.org\nACTION=="
    ) in text


@pytest.mark.parametrize("limit", [*range(1, 300), 4096, 15380, 16384, 65536])
def test_the_pattern_means_all_numbers_below_and_no_others(limit: int) -> None:
    patterns = numbers_below(limit).split("|")
    for number in {*range(min(limit + 120, 1500)), limit - 2, limit - 1, limit, limit + 1, limit * 10, limit // 2}:
        assert any(fnmatchcase(str(number), pattern) for pattern in patterns) == (0 <= number < limit), number


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("nvme9n1/scheduler", "none", "not known that this host has block devices nvme9n1"),
        ("md127/scheduler", "mq-deadline", "md127 does not have the scheduler mq-deadline"),
        ("md127/read_ahead_kb", 512, "already so"),
        ("nvme1n1/read_ahead_kb", 4096, "already so"),
    ],
)
def test_what_the_host_cannot_take_or_has_is_withheld(key: str, value: Value, why: str) -> None:
    assert why in withheld(wish("udev", key, value, floor=True), host=host())[0]


def test_the_largest_read_ahead_stays() -> None:
    made = planned(wish("udev", "md127/read_ahead_kb", 256, floor=True), host=host())
    assert (made.settings, made.withheld[0].why) == (
        {},
        "already so: /sys/block/md127/queue/read_ahead_kb has 512",
    )


@pytest.mark.parametrize(
    ("path", "rule", "why"),
    [
        ("/etc/udev/rules.d/60-site.rules", 'KERNEL=="nvme*", ATTR{queue/scheduler}="kyber"', "set to kyber by /etc"),
        ("/usr/lib/udev/rules.d/66-vendor.rules", 'ATTR{queue/scheduler}="bfq"', "set to bfq by /usr/lib"),
        ("/usr/lib/udev/rules.d/60-block-scheduler.rules", 'ATTR{queue/scheduler}="bfq"', None),
        ("/etc/udev/rules.d/60-site.rules", 'KERNEL=="sd[a-z]", ATTR{queue/scheduler}="bfq"', None),
        ("/etc/udev/rules.d/61-advisor.rules", 'KERNEL=="nvme*", ATTR{queue/scheduler}="none"', None),
    ],
    ids=["the operator's", "behind ours", "the distribution's", "of other devices", "ours"],
)
def test_a_rule_that_stands_is_left_to_stand(path: str, rule: str, why: str | None) -> None:
    told = withheld(wish("udev", "nvme/scheduler", "none"), host=host((path, rule)))
    assert told == [] if why is None else why in told[0]


def test_a_rule_of_ours_stays_when_some_mounts_read_further_ahead() -> None:
    ours = ("/etc/udev/rules.d/61-advisor.rules", 'SUBSYSTEM=="bdi", ATTR{read_ahead_kb}="15360"')
    further = host(ours, nfs=(15360, 16384))
    text = generated(wish("udev", "nfs/read_ahead_kb", 15360, floor=True), host=further)[FILE]
    assert body(text)[0].endswith('ATTR{read_ahead_kb}="15360"')
    told = withheld(wish("udev", "nfs/read_ahead_kb", 15360, floor=True), host=host(nfs=(15360, 16384)))
    assert told == ["already so: /sys/class/bdi/*/read_ahead_kb has 15360, 16384"]


def test_nfs_tools_that_set_read_ahead_later_are_not_fought() -> None:
    tool = ("/usr/lib/udev/rules.d/99-nfs.rules", 'SUBSYSTEM=="bdi", ACTION=="add", ATTR{read_ahead_kb}="%c"')
    asked = wish("udev", "nfs/read_ahead_kb", 15360, floor=True)
    assert "99-nfs.rules" in withheld(asked, host=host(tool))[0]
    assert FILE in generated(asked, host=host())
    assert "no NFS file system" in withheld(asked, host=host(nfs=()))[0]
    assert "already so" in withheld(asked, host=host(nfs=(16384,)))[0]


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN], ids=ascii)
def test_no_text_gets_into_a_rule(text: str) -> None:
    assert udev.wrong(f"{text}/scheduler", "none") is not None
    assert udev.wrong(f"nvme/{text}", "none") is not None
    assert udev.wrong("nvme/scheduler", text) is not None
    assert udev.wrong("nvme/read_ahead_kb", text) is not None


IN_A_MOUNT_NAMESPACE = """
set -e
mount --bind "$1" /etc/udev/rules.d
mount -t tmpfs none /run/udev
mount -o remount,ro,bind /sys
udevadm test --action="$2" "$3" 2>&1
"""


def udev_says(folder: Path, action: str, device: str) -> list[str]:
    """What udev says of the only file below ``folder`` when it tests it on a device of this machine, changing none."""
    needed("udevadm", "unshare")
    for place in ("/etc/udev/rules.d", "/run/udev", f"/sys{device}"):
        if not Path(place).is_dir():
            pytest.skip(f"this machine does not allow the test: it has no {place}")
    argv = ["unshare", "--mount", "sh", "-c", IN_A_MOUNT_NAMESPACE, "sh", folder, action, f"/sys{device}"]
    done = ran(argv)
    if done.returncode != 0 and ("Operation not permitted" in done.stderr or "ermission denied" in done.stderr):
        pytest.skip("only root may make a mount namespace")
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "61-advisor.rules" in line]


LOOP = "/devices/virtual/block/loop0"


def test_udev_parses_every_rule_and_applies_what_is_meant(tmp_path: Path) -> None:
    loop = device("loop0", "other", "none", 128)
    facts = {**host().facts, "block": Block(devices=(*host().facts["block"].devices, loop))}  # type: ignore[attr-defined]
    machine = Snapshot(Source(kind="live"), facts, {})
    wishes = [
        wish("udev", "nvme/scheduler", "none"),
        wish("udev", "dm-3/read_ahead_kb", 4096),
        wish("udev", "nvme0n1/read_ahead_kb", 4096),
        wish("udev", "nfs/read_ahead_kb", 15360),
        wish("udev", "loop0/read_ahead_kb", 65535),
    ]
    (tmp_path / "61-advisor.rules").write_text(generated(*wishes, host=machine)[FILE])
    if ran(["udevadm", "verify", "--help"]).returncode == 0:  # since systemd 254
        done = ran(["udevadm", "verify", "--no-style", tmp_path / "61-advisor.rules"])
        assert done.returncode == 0, done.stdout + done.stderr
    said = udev_says(tmp_path, "change", LOOP)
    # Complaints name the file alone; what is applied comes with the device.
    assert [line for line in said if not line.startswith("loop0: ") and "Reading rules file" not in line] == []
    assert [line for line in said if "writing '65535'" in line]
    assert not [line for line in said if "writing" in line and "65535" not in line]


def test_udev_would_say_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "61-advisor.rules").write_text('KERNEL=="x", NO_SUCH_KEY="y"\n')
    assert any("61-advisor.rules:1" in line for line in udev_says(tmp_path, "change", LOOP))


def test_udev_runs_the_search_for_the_mount_of_a_read_ahead(tmp_path: Path) -> None:
    bdi = next(iter(sorted(Path("/sys/devices/virtual/bdi").glob("[0-9]*:[0-9]*"))), None)
    if bdi is None:
        pytest.skip("this machine does not allow the test: it has no bdi")
    (tmp_path / "61-advisor.rules").write_text(generated(wish("udev", "nfs/read_ahead_kb", 15360), host=host())[FILE])
    text = (tmp_path / "61-advisor.rules").read_text()
    volumes = tmp_path / "volumes"
    volumes.write_text(f"NV SERVER PORT DEV FSID FSC\nv4 0a000001 801 {bdi.name} 0:0 no\n")
    (tmp_path / "61-advisor.rules").write_text(text.replace("/proc/fs/nfsfs/volumes", str(volumes)))
    found = udev_says(tmp_path, "add", f"/devices/virtual/bdi/{bdi.name}")
    assert [line for line in found if "writing '15360'" in line]
    volumes.write_text("NV SERVER PORT DEV FSID FSC\nv4 0a000001 801 9:9 0:0 no\n")
    other = udev_says(tmp_path, "add", f"/devices/virtual/bdi/{bdi.name}")
    assert not [line for line in other if "writing" in line]
