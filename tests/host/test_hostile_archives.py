"""Archives made to do harm, through whole commands: read or refused, nothing written elsewhere, no escapes printed."""

import gzip
import os
import re
import tarfile
from pathlib import Path

import pytest

from advisor.cli import run
from tests.host.test_captured import member, tar_of

NODE = (member("sys/class/net/eth0/mtu", content=b"1500\n"), member("proc/cmdline", content=b"quiet\n"))
OUTSIDE = "/tmp/advisor-was-here"
CORPUS = {
    "names with ..": tar_of(*NODE, member(f"../../../..{OUTSIDE}", content=b"x"), member("sys/../../up", content=b"x")),
    "absolute names": tar_of(*NODE, member(OUTSIDE, content=b"x")),
    "a link out and a file through it": tar_of(
        *NODE, member("sys/out", tarfile.SYMTYPE, "/tmp"), member("sys/out/advisor-was-here", content=b"x")
    ),
    "links up and around": tar_of(
        *NODE,
        member("proc/a", tarfile.SYMTYPE, "b"),
        member("proc/b", tarfile.SYMTYPE, "a"),
        member("etc", tarfile.SYMTYPE, "."),
        member("sys/block", tarfile.SYMTYPE, "../../../../../../etc"),
        member("proc/meminfo", tarfile.SYMTYPE, "/etc/shadow"),
        member("proc/cpuinfo", tarfile.LNKTYPE, "/etc/passwd"),
    ),
    "devices and FIFOs where files are read": tar_of(
        *NODE,
        *(
            member(f"proc/{name}", kind)
            for name, kind in (("meminfo", b"3"), ("cpuinfo", b"4"), ("self/mountinfo", b"6"))
        ),
    ),
    "a bomb": gzip.compress(tar_of(*NODE, member("sys/zeros", content=bytes(40 << 20)))),
    "escapes and newlines in names": tar_of(
        *NODE,
        member("sys/class/net/\x1b]0;owned\x07\x1b[31m/mtu", content=b"1\n"),
        member("sys/class/net/a\nerror: b/mtu", content=b"2\n"),
        member("etc/sysctl.d/\x1b[2J.conf", content=b"vm.\x1b[31mswappiness = \x1b[0m1\n"),
    ),
    "escapes in texts": tar_of(
        *NODE,
        member("sys/class/dmi/id/product_name", content=b"\x1b[2J\x9b31m\x07\n"),
        member("proc/sys/kernel/osrelease", content=b"6.1\x1b]0;x\x07\n"),
    ),
    "names that are not UTF-8": tar_of(*NODE, member("sys/class/net/\udcff\udc9b/mtu", content=b"1\n")),
    "one that ends in the middle": tar_of(*NODE)[:1300],
    "a folder many deep": tar_of(*NODE, member("sys/" + "d/" * 1500 + "x", content=b"1")),
    "numbers of a million digits": tar_of(*NODE, member("sys/class/net/eth1/mtu", content=b"9" * 1_000_000)),
}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.mark.parametrize("name", CORPUS)
def test_an_archive_is_read_or_refused_and_does_no_harm(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    archive = tmp_path / "node.tar"
    archive.write_bytes(CORPUS[name])
    statuses = [
        run(["probe", "--root", str(archive), "--out", str(work / "probe")]),
        run(["check", "--root", str(archive), "--fail-on", "never"]),
        run(["capture", str(work / "safe"), "--root", str(archive)]),
        run(["capture", str(work / "raw"), "--root", str(archive), "--no-redact"]),
    ]
    told = capsys.readouterr()
    assert set(statuses) in ({0}, {2})
    assert not _CONTROLS.search(told.out + told.err)
    assert "Traceback" not in told.err
    if statuses[0] == 2:
        assert len(told.err.splitlines()) == len(statuses)
        return
    assert sorted(path.name for path in work.iterdir()) == ["probe", "raw", "safe"]
    assert not os.path.lexists(OUTSIDE)
    for top in ("safe", "raw"):
        files = [path for path in (work / top).rglob("*") if not path.is_symlink()]
        assert all(path.is_file() or path.is_dir() for path in files)
        assert sum(path.stat().st_size for path in files if path.is_file()) < 4 << 20
        assert b"root:x:" not in b"".join(path.read_bytes() for path in files if path.is_file())
