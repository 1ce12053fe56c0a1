"""Suggested options of mounts: a diff that patch takes, and options that the kernel takes on real file systems."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from advisor.model.setting import Value
from advisor.model.snapshot import Snapshot, Source
from advisor.probes.mounts import FstabEntry, Mounts, parse_fstab
from advisor.targets import mount
from tests.plans import HOSTILE, UNSEEN, body, needed, planned, ran, suggested, wish, withheld

FSTAB = """\
# made by the installer
UUID=1b2c-3d\t/\text4\tdefaults\t0 1

/dev/md0   /data\txfs   noatime,nobarrier,logbsize=256k 0 0
LABEL=scratch /scratch ext4 nobarrier
filer:/export /nfs nfs4 rw,soft,nconnect=2,vers=4.2 0 0
//server/share /smb cifs username=me,password=secret 0 0
tmpfs /dev/shm tmpfs size=1g 0 0
"""


def host(text: str = FSTAB) -> Snapshot:
    return Snapshot(Source(kind="live"), {"mounts": Mounts(fstab=parse_fstab(text))}, {})


def diff(*settings: tuple[str, Value]) -> str:
    return suggested(*(wish("mount", key, value) for key, value in settings), host=host())["fstab.diff"]


@pytest.mark.parametrize(
    ("settings", "old", "new"),
    [
        ([("/data:nobarrier", False)], 4, "/dev/md0 /data xfs noatime,logbsize=256k 0 0"),
        ([("/scratch:nobarrier", False)], 5, "LABEL=scratch /scratch ext4 defaults"),
        ([("/:noatime", True)], 2, "UUID=1b2c-3d / ext4 defaults,noatime 0 1"),
        (
            [("/nfs:nconnect", 8), ("/nfs:soft", False), ("/nfs:hard", True)],
            6,
            "SERVER /nfs nfs4 rw,nconnect=8,vers=4.2,hard 0 0",
        ),
        ([("/dev/shm:size", "50%")], 8, "tmpfs /dev/shm tmpfs size=50% 0 0"),
    ],
    ids=["removed", "the last one removed", "added", "one for another", "changed"],
)
def test_a_line_changes_only_in_what_is_asked_for(settings: Sequence[tuple[str, Value]], old: int, new: str) -> None:
    lines = diff(*settings).splitlines()
    assert f"@@ -{old} +{old} @@" in lines
    assert [line for line in lines if line.startswith("+") and not line.startswith("+++")] == [f"+{new}"]


def test_each_option_stands_in_a_comment_with_its_reason() -> None:
    text = diff(("/data:nobarrier", False), ("/nfs:nconnect", 8))
    assert "\n# /data: -nobarrier\n# rule area/name: helps\n# seen: nobarrier in /etc/fstab:4\n" in text
    assert "\n# /nfs: nconnect=8\n# rule area/name: helps\n# seen: nconnect=2 in /etc/fstab:6\n" in text


def test_nothing_private_is_in_the_diff() -> None:
    text = diff(("/nfs:nconnect", 8), ("/data:nobarrier", False))
    assert "filer" not in text
    assert "secret" not in text
    assert withheld(wish("mount", "/smb:noatime", True), host=host()) == [
        "/etc/fstab:7 holds more than is told here (credentials): change it there"
    ]


def test_patch_takes_the_diff(tmp_path: Path) -> None:
    needed("patch")
    (tmp_path / "fstab").write_text(FSTAB)
    (tmp_path / "d").write_text(diff(("/data:nobarrier", False), ("/:noatime", True), ("/dev/shm:size", "2g")))
    done = ran(["patch", "--ignore-whitespace", tmp_path / "fstab", tmp_path / "d"])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    options = {entry.point: entry.options for entry in parse_fstab((tmp_path / "fstab").read_text())}
    assert options["/data"] == {"noatime": "", "logbsize": "256k"}
    assert options["/"] == {"defaults": "", "noatime": ""}
    assert options["/dev/shm"] == {"size": "2g"}
    assert (tmp_path / "fstab").read_text().splitlines()[0] == "# made by the installer"


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("/nowhere:noatime", True, "/etc/fstab has no line for /nowhere"),
        ("/data:barrier", False, "/etc/fstab:4 does not have barrier"),
        ("/data:noatime", True, "already so"),
        ("/data:nobarrier", True, "advisor never sets it"),
        ("/data:barrier", 0, "advisor never sets it"),
        ("/nfs:noac", True, "advisor never sets it"),
        ("/nfs:soft", True, "advisor never sets it"),
    ],
)
def test_what_cannot_or_must_not_be_is_withheld(key: str, value: Value, why: str) -> None:
    assert why in withheld(wish("mount", key, value), host=host())[0]
    assert planned(wish("mount", key, value), host=host()).settings == {}


@pytest.mark.parametrize("text", [*HOSTILE, *UNSEEN, "a,exec"], ids=ascii)
def test_no_text_gets_into_the_diff(text: str) -> None:
    assert mount.wrong(f"/data:{text}", True) is not None
    assert mount.wrong(f"{text}:noatime", True) is not None
    assert mount.wrong("/data:size", text) is not None


@pytest.mark.parametrize("odd", ["a\x1b[2Jb", "a\u202eb"], ids=ascii)
def test_a_captured_line_with_characters_that_cannot_be_seen_is_not_repeated(odd: str) -> None:
    facts = host(f"LABEL={odd} /data ext4 nobarrier 0 0\n")
    assert "holds more than is told here" in withheld(wish("mount", "/data:nobarrier", False), host=facts)[0]


@pytest.mark.parametrize("text", ["", "/dev/sda1 /data", "/dev/sda1 /data ext4 nobarrier 0 0\nx"], ids=repr)
def test_facts_from_a_file_with_a_line_that_is_none_are_not_repeated(text: str) -> None:
    entry = FstabEntry(line=4, point="/data", fstype="ext4", kind="local", options={"nobarrier": ""}, text=text)
    facts = Snapshot(Source(kind="facts"), {"mounts": Mounts(fstab=(entry,))}, {})
    assert "is no line of three fields" in withheld(wish("mount", "/data:nobarrier", False), host=facts)[0]


def test_a_comment_at_the_end_of_a_line_stays() -> None:
    facts = host("/dev/sda1 /data ext4 nobarrier # site\n")
    text = suggested(wish("mount", "/data:nobarrier", False), host=facts)["fstab.diff"]
    assert text.splitlines()[-2:] == ["-/dev/sda1 /data ext4 nobarrier # site", "+/dev/sda1 /data ext4 defaults # site"]


@pytest.fixture
def mountpoint(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mnt"
    folder.mkdir()
    yield folder
    ran(["umount", folder])


OPTIONS: Mapping[str, Sequence[tuple[str, Value]]] = {
    "ext4": [("noatime", True), ("barrier", False), ("commit", 30)],
    "xfs": [("noatime", True), ("nobarrier", False), ("logbsize", "256k")],
    "tmpfs": [("size", "64m"), ("nr_inodes", 5000)],
}


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "tmpfs"])
def test_a_real_file_system_mounts_with_what_is_suggested(tmp_path: Path, mountpoint: Path, fstype: str) -> None:
    needed("mount", f"mkfs.{fstype}" if fstype != "tmpfs" else "mount")
    image = tmp_path / "image"
    source = "tmpfs" if fstype == "tmpfs" else str(image)
    if fstype != "tmpfs":
        image.touch()
        with image.open("r+b") as stream:
            stream.truncate(320 << 20)
        assert ran([f"mkfs.{fstype}", "-q", image]).returncode == 0
    text = f"{source} {mountpoint} {fstype} loop,barrier=0,nobarrier 0 0\n".replace(
        "loop,barrier=0,nobarrier", {"ext4": "loop,barrier=0", "xfs": "loop,nobarrier"}.get(fstype, "defaults")
    )
    wishes = [wish("mount", f"{mountpoint}:{option}", value) for option, value in OPTIONS[fstype]]
    new = [
        line
        for line in body(suggested(*wishes, host=host(text))["fstab.diff"])
        if line.startswith("+/") or line.startswith("+t")
    ]
    (tmp_path / "fstab").write_text(new[0][1:] + "\n")
    done = ran(["mount", "--fstab", tmp_path / "fstab", mountpoint])
    if done.returncode != 0 and any(word in done.stderr for word in ("permission", "loop device", "must be superuser")):
        pytest.skip("only root may mount, and this machine may not allow loop devices")
    assert (done.returncode, done.stderr) == (0, "")
    line = next(one for one in Path("/proc/self/mountinfo").read_text().splitlines() if f" {mountpoint} " in one)
    assert "nobarrier" not in line
    assert {"ext4": "noatime", "xfs": "logbsize=256k", "tmpfs": "size=65536k"}[fstype] in line
