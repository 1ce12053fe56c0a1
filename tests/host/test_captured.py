"""What --root may name, and what is said when it may not."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor.errors import SourceError
from advisor.host.archive import Limits
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.host.roots import open_captured

Packing = Callable[[bytes], bytes]

PACKINGS: dict[str, Packing] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def member(
    name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, target, len(content), 0o444
    return info, content


def tar_of(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=format) as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


HOSTNAME = member("etc/hostname", content=b"node\n")


@pytest.fixture
def archive(tmp_path: Path) -> Callable[[bytes], str]:
    """Writes bytes to a file whose name tells nothing."""

    def written(data: bytes) -> str:
        path = tmp_path / "machine.dat"
        path.write_bytes(data)
        return str(path)

    return written


@pytest.mark.parametrize("path", ["/", "//", "/.", "/../"])
def test_the_root_is_this_machine(path: str) -> None:
    assert isinstance(open_root(path), LiveHost)


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS.keys())
@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS.keys())
def test_a_tar_is_told_by_its_content(archive: Callable[[bytes], str], packing: Packing, format: int) -> None:
    deep = "sys/" + "/".join(f"folder{n:02}" for n in range(20)) + "/value"
    data = tar_of(
        member("sys", tarfile.DIRTYPE),
        member("sys/link", tarfile.SYMTYPE, "class/net"),
        member("sys/class/net/eth0/mtu", content=b"1500\n"),
        member("sys/hard", tarfile.LNKTYPE, "sys/class/net/eth0/mtu"),
        member(deep, content=b"deep"),
        member("sys/empty"),
        format=format,
    )
    host = open_root(archive(packing(data)))
    assert host.kind == "tree"
    assert host.text("/sys/link/eth0/mtu") == "1500"
    assert host.text("/sys/hard") == "1500"
    assert host.text("/" + deep) == "deep"
    assert host.data("/sys/empty") == b""
    assert host.names("/sys") == ("class", "empty", "folder00", "hard", "link")
    assert host.mode("/sys/empty") == 0o444
    assert host.gaps == {}


def test_names_longer_than_a_header_are_whole(archive: Callable[[bytes], str]) -> None:
    name, target = "sys/" + "n" * 200, "t" * 300
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        host = open_root(archive(tar_of(member(name, tarfile.SYMTYPE, target), format=format)))
        assert host.link("/" + name) == target


def test_several_compressed_streams_are_one_archive(archive: Callable[[bytes], str]) -> None:
    data = tar_of(HOSTNAME)
    for packing in (gzip.compress, bz2.compress, lzma.compress, PACKINGS["zstd"]):
        assert open_root(archive(packing(data[:700]) + packing(data[700:]))).text("/etc/hostname") == "node"


@pytest.mark.parametrize("around", ["", "node/", "./", "./a/b/c/"], ids=["none", "one", "dot", "three"])
@pytest.mark.parametrize("top", ["sys", "proc", "etc"])
def test_folders_around_the_root_are_passed(
    archive: Callable[[bytes], str], tmp_path: Path, around: str, top: str
) -> None:
    assert open_root(archive(tar_of(member(f"{around}{top}/x", content=b"y")))).text(f"/{top}/x") == "y"
    folder = tmp_path / "tree" / around / top
    folder.mkdir(parents=True)
    (folder / "x").write_text("y")
    assert open_root(str(tmp_path / "tree")).text(f"/{top}/x") == "y"


def test_links_are_not_followed_in_search_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/out").symlink_to("/")
    with pytest.raises(SourceError, match="holds no folder sys, proc or etc"):
        open_root(str(tmp_path / "tree"))


def test_two_machines_are_not_guessed_between(archive: Callable[[bytes], str]) -> None:
    with pytest.raises(SourceError, match=r"holds 2 machines \(a, b \.\.\.\)"):
        open_root(archive(tar_of(member("a/sys/x"), member("b/proc/x"))))


def test_names_that_leave_the_root_are_left_out(archive: Callable[[bytes], str]) -> None:
    host = open_root(archive(tar_of(member("/etc/absolute"), member("etc/../../up"), member("../etc/up"), HOSTNAME)))
    assert host.names("/") == ("etc",)
    assert host.names("/etc") == ("hostname",)


def test_links_in_an_archive_stay_inside_it(archive: Callable[[bytes], str]) -> None:
    data = tar_of(
        HOSTNAME,
        member("etc/absolute", tarfile.SYMTYPE, "/etc/hostname"),
        member("etc/up", tarfile.SYMTYPE, "../../../../../etc/hostname"),
        member("etc/out", tarfile.SYMTYPE, "/usr/bin/env"),
        member("etc/loop", tarfile.SYMTYPE, "loop"),
        member("etc/hard-out", tarfile.LNKTYPE, "/etc/passwd"),
    )
    host = open_root(archive(data))
    assert host.text("/etc/absolute") == host.text("/etc/up") == "node"
    assert host.data("/etc/out") is host.data("/etc/loop") is host.data("/etc/hard-out") is None
    assert host.gaps == {"/etc/out": "not captured", "/etc/loop": "error", "/etc/hard-out": "unsupported"}


def test_devices_and_fifos_are_there_but_not_read(archive: Callable[[bytes], str]) -> None:
    data = tar_of(HOSTNAME, *(member(f"dev/{kind.decode()}", kind) for kind in (b"3", b"4", b"6")))
    host = open_root(archive(data))
    assert host.names("/dev") == ("3", "4", "6")
    assert [host.data(f"/dev/{n}") for n in (3, 4, 6)] == [None] * 3
    assert set(host.gaps.values()) == {"unsupported"}


def test_the_last_of_two_members_counts(archive: Callable[[bytes], str]) -> None:
    host = open_root(archive(tar_of(HOSTNAME, member("etc/hostname", content=b"later"))))
    assert host.text("/etc/hostname") == "later"


def test_a_member_below_a_file_does_not_break_the_tree(archive: Callable[[bytes], str]) -> None:
    host = open_root(archive(tar_of(HOSTNAME, member("etc/hostname/below", content=b"x"), member("etc", content=b"y"))))
    assert host.names("/") == ("etc",)


def test_names_that_are_not_utf8_open_their_file(archive: Callable[[bytes], str]) -> None:
    info, content = member("etc/\udcff\udcfe", content=b"odd")
    host = open_root(archive(tar_of((info, content))))
    (name,) = host.names("/etc") or ()
    assert name.encode()
    assert host.data(f"/etc/{name}") == b"odd"


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS.keys())
def test_an_archive_cut_short_is_told(archive: Callable[[bytes], str], packing: Packing) -> None:
    data = packing(tar_of(member("sys/random", content=os.urandom(200_000)), HOSTNAME))
    path = archive(data[: len(data) // 2])
    with pytest.raises(SourceError, match=r"machine\.dat is not a readable tar archive: "):
        open_root(path)


@pytest.mark.parametrize("packing", list(PACKINGS.values())[1:], ids=list(PACKINGS)[1:])
def test_a_damaged_archive_is_told(archive: Callable[[bytes], str], packing: Packing) -> None:
    data = bytearray(packing(tar_of(member("sys/random", content=os.urandom(200_000)))))
    data[len(data) // 2 : len(data) // 2 + 64] = bytes(64)
    with pytest.raises(SourceError, match=r"machine\.dat is not a readable tar archive: "):
        open_root(archive(bytes(data)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"just text, for more than a block " * 30, "not a readable tar"),
        (b"\x1f\x8b", "not a readable tar"),
        (b"\x1f\x8bgarbage", "not a readable tar"),
        (b"BZh9garbage", "not a readable tar"),
        (b"\xfd7zXZ\0garbage", "not a readable tar"),
        (b"\x28\xb5\x2f\xfdgarbage", "not a readable tar"),
        (b"short", "not a readable tar"),
        (b"", "holds no folder sys, proc or etc"),
        (bytes(10240), "holds no folder sys, proc or etc"),
        (tar_of(member("readme")), "holds no folder sys, proc or etc"),
        (gzip.compress(gzip.compress(tar_of(HOSTNAME))), "not a readable tar"),
    ],
    ids=["text", "two bytes", "gzip", "bzip2", "xz", "zstd", "short", "empty", "zeros", "no machine", "twice packed"],
)
def test_what_is_no_machine_is_one_sentence(archive: Callable[[bytes], str], data: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        open_root(archive(data))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(members=2), "holds more than 2 members"),
        (Limits(unpacked_bytes=1024**2), "unpacks to more than 1 MiB"),
        (Limits(kept_bytes=1024**2), "holds more than 1 MiB of files"),
        (Limits(path_characters=10), "a path of 13 characters"),
    ],
    ids=["members", "unpacked bytes", "kept bytes", "path"],
)
def test_limits_hold(archive: Callable[[bytes], str], limits: Limits, message: str) -> None:
    bomb = gzip.compress(tar_of(member("sys/a"), HOSTNAME, member("sys/zeros", content=bytes(3 * 1024**2))))
    with pytest.raises(SourceError, match=message):
        open_captured(archive(bomb), "the tar", limits)


def test_of_a_large_file_the_beginning_is_kept(archive: Callable[[bytes], str]) -> None:
    data = tar_of(member("sys/large", content=b"x" * 5000), HOSTNAME)
    host = open_captured(archive(data), "the tar", Limits(file_bytes=1000))
    assert host.data("/sys/large") == b"x" * 1000
    assert host.text("/etc/hostname") == "node"


def test_a_header_that_names_more_than_there_is_ends(archive: Callable[[bytes], str]) -> None:
    info = tarfile.TarInfo("sys/huge")
    info.size = 2**60
    with pytest.raises(SourceError, match="not a readable tar"):
        open_root(archive(info.tobuf(tarfile.GNU_FORMAT) + bytes(10240)))


@pytest.mark.parametrize(
    "body",
    [b"-5 path=x\n", b"0 path=x\n", b"9999999 path=x\n", b"x path=x\n", b"20 path\n" + bytes(11), b"13 size=-99\n\n"],
)
def test_broken_extended_headers_are_told(archive: Callable[[bytes], str], body: bytes) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, len(body)
    data = info.tobuf() + body.ljust(512, b"\0") + tar_of(HOSTNAME)
    with pytest.raises(SourceError, match="not a readable tar"):
        open_root(archive(data))


def test_a_huge_extended_header_is_not_read(archive: Callable[[bytes], str]) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 64 * 1024**2
    with pytest.raises(SourceError, match="an extended header of 67108864 bytes"):
        open_root(archive(info.tobuf() + bytes(1024)))


def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match="neither a folder nor a regular file"):
        open_root(str(tmp_path / "fifo"))


@pytest.mark.parametrize(
    "path", ["/no/such/place", "", "a\0b", "/\x1b[31m"], ids=["missing", "empty", "NUL", "control"]
)
def test_a_place_that_is_not_there_is_told(path: str) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        open_root(path)
    assert str(caught.value).isprintable()


SMALL = tar_of(
    HOSTNAME,
    member("sys/link", tarfile.SYMTYPE, "x"),
    member("sys/" + "n" * 120, content=b"x"),
    format=tarfile.GNU_FORMAT,
)


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS.keys())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.data())
def test_a_changed_archive_opens_or_is_told(
    archive: Callable[[bytes], str], packing: Packing, data: st.DataObject
) -> None:
    content = bytearray(packing(SMALL))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        outcome = str(open_root(archive(bytes(content))).kind)
    except SourceError as error:
        outcome = str(error)
    assert outcome.isprintable()
