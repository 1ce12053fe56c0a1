"""This machine, as root and as nobody, with /sys there and hidden, in namespaces."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.host.base import Host
from advisor.host.far import ask_far
from advisor.host.live import LiveHost
from advisor.host.view import View

QUESTIONS = ("data", "names", "link", "real", "exists", "mode")


@pytest.fixture
def host() -> LiveHost:
    return LiveHost.here()


def test_files_folders_and_links_are_read(host: Host, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_bytes(b"x" * 300_000)
    (tmp_path / "folder/file").chmod(0o640)
    (tmp_path / "link").symlink_to("folder")
    at = str(tmp_path)
    assert host.data(f"{at}/link/file") == b"x" * 65536
    assert host.data(f"{at}/link/file", 1_000_000) == b"x" * 300_000
    assert host.data(f"{at}/link/file", 3) == b"xxx"
    assert host.names(f"{at}/link") == ("file",)
    assert host.link(f"{at}/link") == "folder"
    assert host.real(f"{at}/link/file") == os.path.realpath(f"{at}/folder/file")
    assert host.exists(f"{at}/link/file") is True
    assert host.mode(f"{at}/link/file") == 0o640
    assert host.gaps == {}


def test_a_pseudo_file_that_comes_in_pieces_is_whole(host: Host) -> None:
    with open("/proc/kallsyms", "rb") as file:
        expected = file.read(500_000)
    assert host.data("/proc/kallsyms", 500_000) == expected


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_not_there_is_absent(host: Host, question: str) -> None:
    for path in ("/no/such/place", "/proc/version/below", "/sys/class/net/none"):
        assert not getattr(host, question)(path)
        assert host.gaps[path] == "absent"


def test_a_driver_without_an_answer_is_unsupported(host: Host) -> None:
    path = "/proc/self/mem"  # nothing is mapped at its beginning, so that reading it is EIO
    assert host.data(path) is None
    assert host.gaps == {path: "unsupported"}


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "loop", "socket"])
def test_only_regular_files_are_read(host: Host, tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "x")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = "/dev/zero"
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "loop":
        os.symlink("x", path)
    else:
        import socket

        socket.socket(socket.AF_UNIX).bind(path)
    assert host.data(path) is None
    assert host.gaps == {path: "error" if kind == "loop" else "unsupported"}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("path", ["/etc/\0", "/" + "a" * 5000], ids=["NUL", "too long"])
def test_impossible_paths_are_errors(host: Host, question: str, path: str) -> None:
    assert getattr(host, question)(path) is None
    assert host.gaps == {path: "error"}


def test_names_that_are_not_utf8_open_their_file(host: Host, tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/\xff", "wb") as file:
        file.write(b"odd")
    (name,) = host.names(str(tmp_path)) or ()
    assert host.data(f"{tmp_path}/{name}") == b"odd"
    assert host.real(f"{tmp_path}/{name}") == f"{os.path.realpath(tmp_path)}/{name}"


def test_what_the_process_may_use_is_told(host: Host) -> None:
    assert host.affinity() == frozenset(os.sched_getaffinity(0))
    limit = host.limit("nofile")
    assert limit is not None
    assert limit.soft is None or limit.soft > 0
    environment = host.environment()
    assert environment is not None
    assert environment["PATH"] == os.environ["PATH"]


def test_a_file_system_is_measured_the_same_from_a_child(host: Host) -> None:
    near, far = host.statvfs("/proc"), host.statvfs("/proc", network=True)
    assert near is not None
    assert near == far


def test_far_paths_are_answered_as_near_ones(host: Host, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_bytes(b"\xff\0content")
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "fifo")
    far = LiveHost(kind="live", root_user=None, view=View(far=(str(tmp_path),)))
    for question in QUESTIONS:
        for name in ("", "/folder", "/folder/file", "/link", "/link/file", "/fifo", "/none", "/folder/file/none"):
            path = f"{tmp_path}{name}"
            assert getattr(far, question)(path) == getattr(host, question)(path)
            assert far.gaps.get(path) == host.gaps.get(path)


def test_a_far_path_that_does_not_answer_is_left() -> None:
    assert ask_far("real", "/", seconds=0) == (None, "timed out")


def test_a_covered_file_is_denied_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "covered").write_text("")
    (tmp_path / "folder").mkdir()
    host = LiveHost(kind="live", root_user=None, view=View(hidden=(str(tmp_path),)))
    assert host.data(f"{tmp_path}/covered") is None
    assert host.names(f"{tmp_path}/folder") is None
    assert host.exists(f"{tmp_path}/none") is None
    assert set(host.gaps.values()) == {"denied"}


ASK = """
import json
from advisor.host.live import LiveHost
host = LiveHost.here()
answers = {
    "root": host.root_user,
    "net": host.names("/sys/class/net"),
    "infiniband": host.exists("/sys/class/infiniband"),
    "secret": host.data("/etc/shadow", 1) is not None,
    "kernel": host.text("/proc/sys/kernel/ostype"),
}
print(json.dumps({"answers": answers, "gaps": host.gaps}))
"""


def asked_under(*prefix: str) -> dict[str, Any]:
    """The answers of a process started under ``prefix``; skips where that is not allowed."""
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"needs {prefix[0]}")
    repository = str(Path(__file__).resolve().parents[2])
    found = subprocess.run(
        [*prefix, sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": repository},
        check=False,
    )
    if "advisor" not in found.stderr and found.returncode != 0:
        pytest.skip(f"not allowed here: {found.stderr.strip()[:100]}")
    assert found.returncode == 0, found.stderr
    answers: dict[str, Any] = json.loads(found.stdout)
    return answers


def test_hidden_sys_is_denied_and_never_absent() -> None:
    told = asked_under("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh")
    assert told["answers"]["net"] is None
    assert told["answers"]["infiniband"] is None
    assert told["answers"]["kernel"] == "Linux"
    assert told["gaps"]["/sys/class/net"] == told["gaps"]["/sys/class/infiniband"] == "denied"


def test_a_network_namespace_is_read_without_harm() -> None:
    told = asked_under("unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh")
    assert told["answers"]["net"] == ["lo"]


def test_root_of_a_user_namespace_is_not_root() -> None:
    told = asked_under("unshare", "--user", "--map-root-user")
    assert told["answers"]["root"] is False


def test_root_is_root_and_nobody_is_not() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    told = asked_under("env")
    if told["answers"]["root"] is False:
        pytest.skip("needs the machine's own root")
    if told["gaps"].get("/etc/shadow") == "absent":
        pytest.skip("needs a file for root alone")
    assert told["answers"]["secret"] is True
    nobody = asked_under("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    assert nobody["answers"]["root"] is False
    assert nobody["gaps"]["/etc/shadow"] == "denied"
    assert nobody["answers"]["net"] == told["answers"]["net"]
