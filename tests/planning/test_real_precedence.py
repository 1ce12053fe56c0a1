"""Who wins: what verify says and what systemd-sysctl does, in a network and with mounts of the test's own."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from advisor.derived.configured import derive
from advisor.host.live import LiveHost
from advisor.model.snapshot import Snapshot, Source
from advisor.planning.verify import HostFile, standings
from advisor.probes import sysctl
from tests.namespaces import NEW_MOUNTS, NEW_NETWORK, CannotMount, apart, bind
from tests.outs import SYSCTL, sysctl_text
from tests.planning.sites import TARGETS, generated

KEY, FILE = "net.ipv4.tcp_mtu_probing", "/proc/sys/net/ipv4/tcp_mtu_probing"
TEXT = sysctl_text(1, seen=0, key=KEY)
PROGRAM = "/usr/lib/systemd/systemd-sysctl"


def with_files(folder: Path, files: Mapping[str, str]) -> None:
    """Has these files, and no others, in the folders that systemd-sysctl reads."""
    for number, place in enumerate(sysctl.FOLDERS):
        mine = [path for path in files if path.startswith(f"{place}/")]
        if not os.path.isdir(place):
            if mine:
                raise CannotMount
            continue
        (folder / str(number)).mkdir()
        for path in mine:
            (folder / str(number) / path.rpartition("/")[2]).write_text(files[path])
        if os.path.realpath(place) == place:
            bind(str(folder / str(number)), place)


def judged() -> tuple[str, str | None]:
    host = LiveHost.here()
    facts = sysctl.read(host)
    snapshot = Snapshot(Source(kind="live"), {"sysctl": facts}, host.gaps)
    snapshot = snapshot.with_derived({"configured": derive(facts, None, None, None, None, None, host.gaps)})
    installed = {SYSCTL: HostFile(SYSCTL, TEXT)}
    (one,) = standings(generated({SYSCTL: TEXT}), installed, snapshot, TARGETS)
    return one.state, one.found


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"/etc/sysctl.d/10-a.conf": f"{KEY} = 2\n"},
        {"/etc/sysctl.d/99-sysctl.conf": f"{KEY} = 2\n"},
        {"/usr/lib/sysctl.d/95-vendor.conf": f"{KEY}=2\n"},
        {"/usr/lib/sysctl.d/50-vendor.conf": f"{KEY}=2\n"},
        {"/usr/lib/sysctl.d/90-advisor.conf": f"{KEY}=2\n"},
        {"/etc/sysctl.d/99-a.conf": "net/ipv4/tcp_mtu_probing = 2\n"},
        {"/etc/sysctl.d/99-a.conf": "net.ipv4.tcp_mtu_probin? = 2\n"},
        {"/etc/sysctl.d/99-a.conf": f"# {KEY} = 2\n; {KEY} = 2\n"},
        {"/etc/sysctl.d/99-a.conf": f"-{KEY} = 2\n"},
        {"/etc/sysctl.d/99-a.conf": f"{KEY} = 2\n{KEY} = 1\n"},
        {"/etc/sysctl.d/99-a": f"{KEY} = 2\n"},
        {"/etc/sysctl.d/9-a.conf": f"{KEY} = 2\n"},
        {"/run/sysctl.d/99-r.conf": f"{KEY} = 2\n"},
        {"/run/sysctl.d/90-advisor.conf": f"{KEY} = 2\n"},
        {"/etc/sysctl.d/99-a.conf": f"  {KEY}\t=   2  \n"},
        {"/etc/sysctl.d/99-a.conf": f"# a comment \\\n{KEY} = 2\n"},
        {"/etc/sysctl.d/99-a.conf": f"{KEY} = 2\r\n"},
        {"/etc/sysctl.d/99-a.conf": "/net/ipv4/tcp_mtu_probing = 2\n"},
        {"/etc/sysctl.d/Z.conf": f"{KEY} = 2\n", "/etc/sysctl.d/a.conf": f"{KEY} = 0\n"},
    ],
    ids=[
        *("alone", "before", "behind", "vendor behind", "vendor before", "vendor of our name", "slashes", "pattern"),
        *("comment", "may be missing", "twice", "no .conf", "nine behind ninety"),
        *(
            "run behind",
            "run of our name",
            "blanks",
            "comment with a backslash",
            "line break of DOS",
            "slash before",
        ),
        "capitals before letters",
    ],
)
def test_verify_and_systemd_agree(tmp_path: Path, others: Mapping[str, str]) -> None:
    if not os.path.exists(PROGRAM):
        pytest.skip("systemd-sysctl is not installed")

    def act() -> None:
        if not os.access(FILE, os.W_OK):
            raise CannotMount
        with_files(tmp_path, {SYSCTL: TEXT, **others})
        Path(FILE).write_text("0\n")
        subprocess.run([PROGRAM], check=True, timeout=30)
        value = Path(FILE).read_text().strip()
        state, found = judged()
        assert (state, found if state == "overridden" else value) == (
            ("applied", "1") if value == "1" else ("overridden", value)
        )

    apart(NEW_MOUNTS | NEW_NETWORK, act)
