"""Mounts that can be reached, their options and use, and fstab."""

import json
from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.model.snapshot import Snapshot, Source, committed_json
from advisor.probes._filesystems import family_of, is_passing, kept_options, kind_of
from advisor.probes._mountinfo import parse_mountinfo
from advisor.probes.mounts import Mount, Mounts, ceph_facts, nfs_facts, parse_fstab, reachable, read
from tests.trees import write_capture, write_tree

MOUNTINFO = "/proc/self/mountinfo"
ROOT = "20 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,stripe=32\n"
NFS = (
    "60 20 0:50 / /data ro,relatime shared:30 - nfs4 filer.example:/export "
    "rw,vers=4.1,rsize=1048576,wsize=524288,acregmax=10,hard,proto=rdma,nconnect=8,clientaddr=192.0.2.7,addr=192.0.2.9\n"
)


def by_point(mounts: Mounts) -> dict[str, Mount]:
    assert mounts.mounts is not None
    return {mount.point: mount for mount in mounts.mounts}


def test_a_local_file_system_is_read(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {MOUNTINFO: ROOT}, statvfs={"/": [4096, 1000, 200, 500, 50]})
    root = by_point(read(host))["/"]
    assert (root.fstype, root.kind, root.source, root.device, root.folder) == ("ext4", "local", "/dev/sda2", "8:2", "/")
    assert root.options == {"rw": "", "stripe": "32", "relatime": ""}
    assert (root.read_only, root.size_bytes, root.available_bytes) == (False, 4096000, 819200)
    assert (root.inodes, root.inodes_free) == (500, 50)
    assert evidence_path(root, "fstype") == MOUNTINFO


def test_nfs_options_are_told_and_its_server_is_not_asked(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {MOUNTINFO: ROOT + NFS})
    data = by_point(read(host))["/data"]
    assert (data.kind, data.source, data.remote, data.read_only) == ("network", None, "filer.example:/export", True)
    assert (data.nfs_version, data.nfs_protocol, data.nfs_connections, data.nfs_soft) == ("4.1", "rdma", 8, False)
    assert (data.nfs_read_bytes, data.nfs_write_bytes) == (1048576, 524288)
    assert (data.nfs_attribute_seconds, data.nfs_folder_attribute_seconds) == (10, 60)
    assert data.size_bytes is None
    assert "/data" not in host.gaps


def test_servers_and_addresses_stay_out_of_committed_files(tmp_path: Path) -> None:
    facts = read(
        write_tree(tmp_path, {MOUNTINFO: ROOT + NFS, "/etc/fstab": "filer.example:/export /data nfs4 ro 0 0\n"})
    )
    text = committed_json(Snapshot(Source(kind="tree"), {"mounts": facts}, {}))
    assert json.loads(text)["facts"]["mounts"]["mounts"]
    assert "filer" not in text
    assert "192.0.2" not in text


@pytest.mark.parametrize(
    "options",
    [
        "username=ann,password=tiger,vers=3.1.1",
        "name=client,secret=AQBx==,vers=3.1.1",
        "credentials=/etc/cifs,vers=3.1.1",
        "passwd_file=/root/.s3,access_token=t0,vers=3.1.1",
        "lowerdir=/a:/b,upperdir=/c,workdir=/d,vers=3.1.1",
        "url=https://AKIA:tiger@bucket.example/,endpoint=http://192.0.2.1,vers=3.1.1",
        "share=ann@filer,vers=3.1.1",
    ],
)
def test_credentials_and_layers_are_left_out(options: str) -> None:
    assert kept_options(options.split(",")) == {"vers": "3.1.1"}


def test_subvolumes_are_not_accounts() -> None:
    assert kept_options(["subvol=/@home", "subvol2=@"]) == {"subvol": "/@home", "subvol2": "@"}


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("https://ann:tiger@dav.example/", False),
        ("//filer/share", False),
        ("ann@filer:", False),
        ("filer:/export", False),
        ("/dev/disk/by-path/pci-0000:00:1f.2", True),
        ("UUID=1b2c", True),
        ("tank/data@today", True),
        ("LABEL=a:/b", True),
    ],
)
def test_a_source_that_names_a_server_is_not_kept_whatever_its_type(tmp_path: Path, source: str, kept: bool) -> None:
    mounted = f"{ROOT}60 20 0:50 / /data rw - davfs {source} rw\n"
    mounts = read(write_tree(tmp_path, {MOUNTINFO: mounted, "/etc/fstab": f"{source} /data davfs rw 0 0\n"}))
    assert mounts.fstab is not None
    for found in (by_point(mounts)["/data"], mounts.fstab[0]):
        assert (found.source, found.remote) == ((source, None) if kept else (None, source))


def test_harmless_options_that_look_like_users_are_kept() -> None:
    assert list(kept_options(["user_id=0", "nouser", "user_xattr", "user"])) == [
        "user_id",
        "nouser",
        "user_xattr",
        "user",
    ]


def points(text: str) -> list[tuple[str, str]]:
    return [(line.point, line.source) for line in reachable(parse_mountinfo(text))]


def line(number: int, parent: int, point: str, source: str) -> str:
    return f"{number} {parent} 8:{number} / {point} rw - xfs {source} rw\n"


def test_a_later_mount_on_the_same_point_hides_the_earlier() -> None:
    assert points(line(2, 1, "/", "a") + line(3, 2, "/d", "b") + line(4, 3, "/d", "c")) == [("/", "a"), ("/d", "c")]


def test_a_later_mount_above_hides_what_is_not_mounted_in_it() -> None:
    text = line(2, 1, "/", "a") + line(3, 2, "/m/d", "b") + line(4, 2, "/m", "c") + line(5, 4, "/m/e", "d")
    assert points(text) == [("/", "a"), ("/m", "c"), ("/m/e", "d")]


def test_the_order_of_the_table_does_not_hide_children_listed_before_their_parent() -> None:
    assert points(line(3, 2, "/d", "b") + line(2, 1, "/", "a")) == [("/d", "b"), ("/", "a")]


def test_mounts_that_are_each_others_parents_end() -> None:
    assert points(line(2, 3, "/a", "x") + line(3, 2, "/a/b", "y") + line(4, 9, "/a", "z")) == [("/a", "z")]


def test_escapes_in_mount_points_are_undone(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {MOUNTINFO: ROOT + line(9, 20, r"/my\040data\134x", "/dev/sdb1")}))
    assert sorted(by_point(facts)) == ["/", "/my data\\x"]


def test_kernel_interfaces_and_containers_are_only_named(tmp_path: Path) -> None:
    text = (
        ROOT
        + "21 20 0:5 / /proc rw - proc proc rw\n"
        + "22 20 0:6 / /dev/shm rw - tmpfs shm rw,size=65536k\n"
        + "23 20 0:7 / /var/lib/docker/overlay2/abc/merged rw - overlay overlay rw,lowerdir=/x\n"
        + "24 20 8:2 /etc/hosts /etc/hosts rw - ext4 /dev/sda2 rw\n"
        + "25 20 0:8 / /home rw - autofs systemd-1 rw,fd=30\n"
    )
    facts = read(write_tree(tmp_path, {MOUNTINFO: text}))
    assert {point: mount.kind for point, mount in by_point(facts).items()} == {
        "/": "local",
        "/dev/shm": "memory",
        "/home": "automount",
    }
    assert {other.point for other in facts.others or ()} == {
        "/proc",
        "/var/lib/docker/overlay2/abc/merged",
        "/etc/hosts",
    }


def test_without_mountinfo_the_older_table_serves(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {"/proc/mounts": "/dev/sda2 / ext4 rw,noatime 0 0\nnonsense\n"}))
    root = by_point(facts)["/"]
    assert (root.source, root.device, root.options) == ("/dev/sda2", None, {"rw": "", "noatime": ""})


def test_nothing_readable_is_not_nothing_mounted(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {}))
    assert (facts.mounts, facts.fstab) == (None, None)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"vers": "3", "hard": ""}, {"nfs_version": "3", "nfs_connections": 1, "nfs_soft": False}),
        ({"vers": "4.2", "softerr": ""}, {"nfs_soft": True}),
        ({"vers": "4.2"}, {"nfs_soft": None, "nfs_attribute_seconds": 60, "nfs_read_bytes": None}),
        ({"noac": "", "acregmax": "60"}, {"nfs_attribute_seconds": 0, "nfs_folder_attribute_seconds": 0}),
        ({"acdirmax": "1", "rsize": "many"}, {"nfs_folder_attribute_seconds": 1, "nfs_read_bytes": None}),
    ],
    ids=["v3 hard", "softerr", "defaults", "no attribute cache", "odd number"],
)
def test_nfs_facts(options: dict[str, str], expected: dict[str, object]) -> None:
    found = nfs_facts(options)
    assert {name: found[name] for name in expected} == expected


def test_fstab_keeps_lines_and_options() -> None:
    text = "# root\nUUID=1b2c  /      ext4  defaults,nobarrier 0 1\n\n  #x\n/dev/sdb1\t/my\\040data xfs\nshort /x\n"
    text += "//srv/share /s cifs user=ann,password=tiger,ro 0 0\n"
    entries = [(e.line, e.point, e.fstype, e.kind, e.source, e.remote, e.options) for e in parse_fstab(text)]
    assert entries == [
        (2, "/", "ext4", "local", "UUID=1b2c", None, {"defaults": "", "nobarrier": ""}),
        (5, "/my data", "xfs", "local", "/dev/sdb1", None, {}),
        (7, "/s", "cifs", "network", None, "//srv/share", {"ro": ""}),
    ]


def test_fstab_tells_for_how_long_nfs_is_asked_to_keep_attributes() -> None:
    text = "f:/x /x nfs4 ro,actimeo=1,acregmin=0,acdirmax=soon\nf:/y /y nfs hard\n/dev/sda1 /z ext4 actimeo=1\n"
    assert [entry.nfs_cache_seconds for entry in parse_fstab(text)] == [{"actimeo": 1, "acregmin": 0}, {}, None]


@pytest.mark.parametrize(("absent", "entries"), [(("/etc",), ()), ((), None)])
def test_an_fstab_that_is_not_there_asks_for_nothing(
    tmp_path: Path, absent: tuple[str, ...], entries: tuple[()] | None
) -> None:
    assert read(write_capture(tmp_path, {MOUNTINFO: ROOT}, absent=absent)).fstab == entries


def test_fstab_names_its_file(tmp_path: Path) -> None:
    facts = read(write_tree(tmp_path, {"/etc/fstab": "UUID=1 / ext4 rw 0 1\n"}))
    assert facts.fstab is not None
    assert evidence_path(facts.fstab[0], "options") == "/etc/fstab"
    assert evidence_path(facts, "fstab") == "/etc/fstab"


@pytest.mark.parametrize(
    ("fstype", "kind"),
    [
        ("ext4", "local"),
        ("zfs", "local"),
        ("nfs4", "network"),
        ("lustre", "network"),
        ("virtiofs", "network"),
        ("tmpfs", "memory"),
        ("overlay", "overlay"),
        ("fuse.gcsfuse", "fuse"),
        ("fuse", "fuse"),
        ("fuse.lxcfs", None),
        ("autofs", "automount"),
        ("proc", None),
        ("squashfs", None),
    ],
)
def test_kinds_of_file_systems(fstype: str, kind: str | None) -> None:
    assert kind_of(fstype) == kind


@pytest.mark.parametrize(
    ("point", "kind", "passing"),
    [
        ("/run/user/1000", "memory", True),
        ("/run/media/disk", "local", False),
        ("/runs", "local", False),
        ("/var/lib/kubelet/pods/1/volumes/x", "memory", True),
        ("/var/lib/kubelet/pods/1/volumes/nfs", "network", False),
        ("/var/lib/docker", "local", False),
        ("/var/lib/docker/zfs/graph/1", "local", True),
        ("/dev/shm", "memory", False),
        ("/dev/hugepages", "memory", True),
        ("/data", "local", False),
    ],
)
def test_mounts_that_come_and_go(point: str, kind: str, passing: bool) -> None:
    assert is_passing(point, kind) is passing


CEPH = (
    "61 20 0:60 / /ceph rw - ceph 192.0.2.1:6789:/ rw,name=admin,secret=<hidden>,rasize=33554432,wsync,ms_mode=secure\n"
)


def test_options_of_the_ceph_client_are_told(tmp_path: Path) -> None:
    ceph = by_point(read(write_tree(tmp_path, {MOUNTINFO: CEPH})))["/ceph"]
    assert (ceph.kind, ceph.family) == ("network", "ceph")
    assert (ceph.ceph_read_ahead_bytes, ceph.ceph_read_bytes) == (33554432, None)
    assert (ceph.ceph_synchronous_metadata, ceph.ceph_connection_mode) == (True, "secure")


def test_what_ceph_does_not_print_is_the_kernels_own(tmp_path: Path) -> None:
    facts = ceph_facts({"nowsync": "", "rsize": "65536", "wsize": "x" * 30})
    assert facts["ceph_read_ahead_bytes"] == 8 * 1024 * 1024
    assert (facts["ceph_read_bytes"], facts["ceph_write_bytes"]) == (65536, None)
    assert (facts["ceph_synchronous_metadata"], facts["ceph_connection_mode"]) == (False, None)


def test_read_ahead_of_network_mounts_is_that_of_their_own_device(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {MOUNTINFO: ROOT + NFS + CEPH, "/sys/class/bdi/0:50/read_ahead_kb": "15360\n"})
    found = by_point(read(host))
    assert found["/data"].read_ahead_bytes == 15360 * 1024
    assert evidence_path(found["/data"], "read_ahead_bytes") == "/sys/class/bdi/0:50/read_ahead_kb"
    assert found["/ceph"].read_ahead_bytes is None
    assert host.gaps["/sys/class/bdi/0:60/read_ahead_kb"] == "absent"
    assert "/sys/class/bdi/8:2/read_ahead_kb" not in host.gaps


@pytest.mark.parametrize(
    ("fstype", "kind", "family"),
    [
        ("lustre", "network", "lustre"),
        ("gpfs", "network", "gpfs"),
        ("wekafs", "network", "weka"),
        ("beegfs", "network", "beegfs"),
        ("fuse.ceph-fuse", "fuse", "ceph"),
        ("fuse.juicefs", "fuse", "juicefs"),
        ("fuse.s3fs", "fuse", "object store"),
        ("fuse.gcsfuse", "fuse", "object store"),
        ("fuse.blobfuse2", "fuse", "object store"),
        ("virtiofs", "network", "hypervisor"),
        ("fuse.of-my-own", "fuse", None),
        ("ext4", "local", None),
    ],
)
def test_file_systems_are_told_apart_by_what_serves_them(fstype: str, kind: str, family: str | None) -> None:
    assert (kind_of(fstype), family_of(fstype)) == (kind, family)
