"""`advisor probe`, whole: what it prints and writes on live hosts, in odd places and on captured ones."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.cli import run
from tests.trees import write_tree

ROOT = Path(__file__).resolve().parent.parent.parent
TWO_CPUS = {
    "/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu sse2\n\nprocessor\t: 1\nflags\t\t: fpu sse2\n",
    "/proc/meminfo": "MemTotal:       16384 kB\nSwapTotal:          0 kB\n",
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0\n",
    "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list": "1\n",
}


def test_this_host_is_read_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Platform ")
    assert printed.err == ""
    document = json.loads((tmp_path / "out" / "facts.json").read_text())
    assert document["source"]["kind"] == "live"
    assert len(document["facts"]["cpu"]["online"]) == len([*document["facts"]["cpu"]["cpus"]])


def test_two_probes_write_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for _ in range(2):
        assert run(["probe", "--quiet", "--out", str(tmp_path)]) == 0
        texts.append((tmp_path / "facts.json").read_bytes())
    assert texts[0] == texts[1]


def test_a_captured_tree_says_what_is_not_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path / "host", TWO_CPUS)
    assert run(["probe", "--root", str(tmp_path / "host"), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "2 CPUs online, 2 cores" in printed
    assert "not in the capture" in printed
    document = json.loads((tmp_path / "out" / "facts.json").read_text())
    assert document["gaps"]["/sys/bus/pci/devices"] == "not captured"


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tree(tmp_path / "host", TWO_CPUS)
    arguments = ["probe", "--root", str(tmp_path / "host"), "--out", str(tmp_path / "out"), "--format", "json"]
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["facts"]["memory"]["total_bytes"] == 16384 * 1024


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["probe", "--root", "{tmp}/missing"], "missing"),
        (["probe", "--root", "{tmp}/empty"], "empty"),
        (["probe", "--root", "{tmp}/broken.tar"], "broken.tar"),
        (["probe", "--out", "{tmp}/file/out"], "file"),
        (["probe", "--roots", "/"], "--root"),
        (["prob"], "probe"),
    ],
    ids=["no such root", "nothing in it", "no archive", "OUT is a file", "unknown option", "unknown verb"],
)
def test_bad_input_gets_one_sentence_and_status_2(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.tar").write_bytes(b"\x1f\x8b\x08 this is not gzip")
    (tmp_path / "file").write_text("")
    assert run([word.format(tmp=tmp_path) for word in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert "Traceback" not in printed.err


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may write; those of pytest are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
_PLACES = {
    "as nobody": _NOBODY,
    "in a network namespace": ["unshare", "--net"],
    "in a user namespace": ["unshare", "--user", "--map-root-user"],
    "with /sys hidden": ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"],
    "with /proc/sys hidden": ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/sys && exec "$@"', "sh"],
}


@pytest.mark.parametrize("place", _PLACES)
def test_odd_places_give_facts_and_no_traceback(place: str, open_folder: Path) -> None:
    prefix = _PLACES[place]
    if os.geteuid() != 0:
        pytest.skip("only root can go there")
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"{prefix[0]} is not installed")
    out = open_folder / "out"
    code = "import sys; sys.path.insert(0, sys.argv[1]); from advisor.cli import run; sys.exit(run(sys.argv[2:]))"
    command = [*prefix, sys.executable, "-c", code, str(ROOT), "probe", "--out", str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd="/", env={**os.environ, "HOME": str(open_folder)}
    )
    if "Operation not permitted" in done.stderr and "unshare" in done.stderr:
        pytest.skip("this kernel or container does not allow namespaces")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads((out / "facts.json").read_text())
    if place == "with /sys hidden":
        assert document["gaps"]["/sys/bus/pci/devices"] == "denied"
    assert document["source"]["root_user"] is (place in ("in a network namespace", *list(_PLACES)[3:]))
