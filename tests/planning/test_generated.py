"""What of OUT is taken for the host: only what advisor writes, where it writes it, as advisor.lock lists it."""

import json
import os
from pathlib import Path

import pytest

from advisor.errors import InputError
from advisor.planning.generated import read_generated
from advisor.planning.lock import LOCK_NAME, content_hash
from advisor.targets._installed import Line, load_installed
from tests.outs import FILES, LIMITS, MODPROBE, SYSCTL, sysctl_text, write_generated

TARGETS = load_installed()


def relocked(out: Path, path: str, text: str, listed: str | None = None) -> Path:
    """OUT in which ``path`` has this text and advisor.lock agrees: anybody can make such an OUT."""
    place = out / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    lock = json.loads((out / LOCK_NAME).read_text())
    lock["files"][listed or path] = content_hash(text.encode())
    (out / LOCK_NAME).write_text(json.dumps(lock))
    return out


def refusal(out: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_generated(out, TARGETS)
    return str(caught.value)


def test_the_files_for_the_host_come_back_with_their_settings(tmp_path: Path) -> None:
    out = write_generated(tmp_path, FILES, {"job/env.sh": "A=1\n", "suggested/fstab.diff": "x\n", "report.md": "#\n"})
    files = read_generated(out, TARGETS)
    assert [(file.path, file.target) for file in files] == [
        (MODPROBE, "modprobe"),
        (LIMITS, "limits"),
        (SYSCTL, "sysctl"),
    ]
    comments = ("rule test/rule: it helps", "seen: 60 in /proc/sys/vm/swappiness", "risk: low; takes effect: now")
    assert files[2].lines == (Line("vm.swappiness", "10", 6, comments),)
    line = files[2].lines[0]
    assert (line.risk, line.takes_effect, line.seen) == ("low", "now", ("60", "/proc/sys/vm/swappiness"))
    assert [(line.key, line.text) for file in files[:2] for line in file.lines] == [
        ("nvme_core.multipath", "N"),
        ("*/soft/memlock", "unlimited"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("host/etc/passwd", "host/etc/sysctl.d/99-advisor.conf", "host/etc/sysctl.d/x/90-advisor.conf"),
        *("host/etc/modprobe.d/90-advisor.conf.d", "host/usr/bin/sh", "host/90-advisor.conf"),
    ],
)
def test_a_place_that_no_target_has_is_refused(tmp_path: Path, path: str) -> None:
    assert "no place that advisor writes to" in refusal(relocked(write_generated(tmp_path), path, "x = 1\n"))


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        (SYSCTL, "vm.drop_caches = 3\n", ":1: sysctl:vm.drop_caches is refused: advisor never sets it"),
        (SYSCTL, "vm.swappiness = 1 \\\n", "line 1 has a character"),
        (SYSCTL, "# x\\\nvm.swappiness = 1\n", "line 1 has a character"),
        (SYSCTL, "# x\rvm.panic_on_oom = 1\nvm.swappiness = 1\n", "line 1 has a character"),
        (SYSCTL, "net.ipv4.conf.*.rp_filter = 0\n", "line 1 is nothing that advisor writes"),
        (SYSCTL, "vm.swappiness\n", "line 1 is nothing that advisor writes"),
        (SYSCTL, "vm/../kernel/x = 0\n", "is refused"),
        (MODPROBE, "install nvme_core /bin/sh -c evil\n", "line 1 is nothing that advisor writes"),
        (MODPROBE, "options nvme_core a=1 b=2\n", "line 1 is nothing that advisor writes"),
        (MODPROBE, "options mlx5_core log_max_qp=1\n", "advisor never sets it"),
        (LIMITS, "* soft nofile 10\n", "may not start"),
        (LIMITS, "* soft nofile unlimited\n", "nofile cannot be unlimited"),
        (LIMITS, "* - maxlogins 0\n", "is refused"),
    ],
)
def test_a_file_that_advisor_would_not_write_is_refused(tmp_path: Path, path: str, text: str, why: str) -> None:
    assert why in refusal(relocked(write_generated(tmp_path), f"host{path}", text))


def test_a_file_that_differs_from_its_hash_is_refused(tmp_path: Path) -> None:
    out = write_generated(tmp_path)
    (out / f"host{SYSCTL}").write_text(sysctl_text(11))
    assert "is not the file that advisor.lock lists" in refusal(out)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    out = write_generated(tmp_path)
    (out / f"host{SYSCTL}").unlink()
    assert "No such file" in refusal(out)


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["file", "folder", "upper folder"])
def test_no_link_is_followed(tmp_path: Path, depth: int) -> None:
    out = write_generated(tmp_path / "out")
    place = out / f"host{SYSCTL}"
    for _ in range(depth):
        place = place.parent
    os.rename(place, tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in refusal(out)


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    out = write_generated(tmp_path)
    (out / f"host{SYSCTL}").unlink()
    os.mkfifo(out / f"host{SYSCTL}")
    assert "not a regular file" in refusal(out)


def test_a_folder_without_a_lock_is_no_out(tmp_path: Path) -> None:
    assert "holds no advisor.lock" in refusal(tmp_path)
    assert "holds no advisor.lock" in refusal(tmp_path / "nothing")


def test_a_half_written_out_is_refused(tmp_path: Path) -> None:
    out = write_generated(tmp_path)
    lock = json.loads((out / LOCK_NAME).read_text())
    (out / LOCK_NAME).write_text(json.dumps({**lock, "pending": lock["files"]}))
    assert "cut off" in refusal(out)


@pytest.mark.parametrize("name", ["host/../../etc/x", "host//etc/x", "/etc/x", "host/etc/\u202esysctl"])
def test_a_path_in_the_lock_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    out = write_generated(tmp_path)
    lock = json.loads((out / LOCK_NAME).read_text())
    lock["files"][name] = content_hash(b"")
    (out / LOCK_NAME).write_text(json.dumps(lock))
    assert "no path below the folder" in refusal(out)
