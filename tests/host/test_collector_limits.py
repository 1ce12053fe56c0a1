"""The collector's script on large, slow and stuck nodes: it ends in time, and starts few processes."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from advisor.commands._collected import script
from advisor.host.captured import open_root
from tests.big_node import big_node
from tests.gpu_node import gpu_node
from tests.host.test_collector import SHELLS, _commands, _in_time, collect, shell, slow_script
from tests.trees import write_tree

QUICK = {"ADVISOR_COLLECTOR_SECONDS": "2", "ADVISOR_COLLECTOR_GRACE_SECONDS": "2"}


def changed(text: str, *pairs: tuple[str, str]) -> str:
    """``text`` with each first of a pair replaced by its second; the first must be there once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def run_it(name: str, text: str, work: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The script's end, on a node with next to nothing; its folder for work is ``work``."""
    write_tree(work.parent / "node", {"/proc/cmdline": "quiet\n"})
    work.mkdir()
    root = str(work.parent / "node")
    settings = {**os.environ, "TMPDIR": str(work), "ADVISOR_COLLECTOR_ROOT": root, **environment}
    return subprocess.run([*shell(name), "-c", text], capture_output=True, env=settings, timeout=100)


def nothing_is_left(work: Path) -> bool:
    """Whether the folder for work is empty, and all processes of it gone."""
    return list(work.iterdir()) == [] and _commands(work) == []


@pytest.mark.parametrize("name", SHELLS)
def test_an_archive_that_is_not_written_in_time_is_an_error(name: str, tmp_path: Path) -> None:
    stuck = changed(script(), ("archive() { exec tar -cf - ", "archive() { exec sleep 996 "))
    stuck = changed(stuck, ("exec sleep 996 advisor-capture.json calls.json errors.tsv cmd fs >&3", "exec sleep 996"))
    done = run_it(name, stuck, tmp_path / "work", **QUICK)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"not done 4 seconds after it began, so there is no whole archive" in done.stderr
    assert _in_time(lambda: nothing_is_left(tmp_path / "work"))


@pytest.mark.parametrize("name", SHELLS)
def test_a_script_that_hangs_itself_is_killed(name: str, tmp_path: Path) -> None:
    # One that is stopped does as little as one that waits for a dead server. Each look of the watch counts a second.
    stuck = changed(script(), ('    mkdir "$W/out"\n', "    kill -STOP $$\n"), ("sleep 1 &", "sleep 0.1 &"))
    done = run_it(name, stuck, tmp_path / "work", **QUICK)
    assert (done.returncode, done.stdout) == (-9, b"")
    assert _in_time(lambda: nothing_is_left(tmp_path / "work"))


@pytest.mark.parametrize("name", SHELLS)
def test_time_is_that_of_the_clock_and_what_was_read_comes(name: str, tmp_path: Path) -> None:
    busy = changed(slow_script(), ("clock=$(date +%s)", "clock=$((noted + 130))"))
    environment = {"ADVISOR_COLLECTOR_JOB_SECONDS": "140", "ADVISOR_COLLECTOR_GRACE_SECONDS": "9999"}
    done = run_it(name, busy, tmp_path / "work", **environment)
    assert done.returncode == 0
    assert b"stopped reading after 120 seconds" in done.stderr
    (tmp_path / "part.tar").write_bytes(done.stdout)
    told = open_root(str(tmp_path / "part.tar"))
    assert told.text("/proc/cmdline") == "quiet"
    assert told.run(["sleep", "997"]) is told.run(["systemd-detect-virt", "--vm"]) is None
    assert told.gaps["command: sleep 997"] == told.gaps["command: systemd-detect-virt --vm"] == "timed out"
    assert _in_time(lambda: nothing_is_left(tmp_path / "work"))


def started(tmp_path: Path, name: str, vectors: int) -> int:
    """How many programs the script starts on a node with so many interrupts."""
    folder = tmp_path / f"{name}-{vectors}"
    tools = folder / "tools"
    tools.mkdir(parents=True)
    for tool in ("awk", "cat", "env", "head", "mkdir", "mv", "readlink", "rm", "sed", "sort", "stat", "tar", "tr"):
        (tools / tool).write_text(f'#!/bin/sh\necho >> {folder}/started\nexec {shutil.which(tool)} "$@"\n')
        (tools / tool).chmod(0o755)
    root = gpu_node(cpus=4, gpus=0, nics=1, drives=0, vectors=vectors).write(folder / "node")
    text = changed(script(), ("PATH=/usr/sbin:", f"PATH={tools}:/usr/sbin:"))
    told = open_root(collect(folder, name, text=text, ADVISOR_COLLECTOR_ROOT=str(root)))
    assert told.text(f"/proc/irq/{99 + vectors}/smp_affinity_list") == str((vectors - 1) % 4)
    assert told.mode(f"/proc/irq/{99 + vectors}/smp_affinity") == 0o644
    return len((folder / "started").read_text().splitlines())


@pytest.mark.parametrize("name", ["dash", "bash"])
def test_processes_are_few_however_many_interrupts_there_are(name: str, tmp_path: Path) -> None:
    more = started(tmp_path, name, 500) - started(tmp_path, name, 100)
    files = 400 * 4
    assert more < files / 20


def contents(archive: str) -> dict[str, bytes | str]:
    """What an archive holds, without what changes by itself."""
    found: dict[str, bytes | str] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.issym():
                found[member.name] = member.linkname
            elif (file := tar.extractfile(member)) is not None and not member.name.startswith("cmd/"):
                found[member.name] = file.read()
    calls = json.loads(found.pop("calls.json"))
    return found | {"modes": json.dumps(calls["modes"]), "names": json.dumps(calls["names"])}


@pytest.mark.parametrize("name", SHELLS)
def test_neither_small_batches_nor_a_node_without_awk_change_what_comes(name: str, tmp_path: Path) -> None:
    root = str(big_node(tmp_path / "node"))
    for number in range(5):
        write_tree(tmp_path / "node", {f"/proc/irq/{number}/smp_affinity": f"{number}\n"})
    wanted = contents(collect(tmp_path, name, ADVISOR_COLLECTOR_ROOT=root))
    assert wanted["fs/proc/irq/4/smp_affinity"] == b"4\n"
    others = {
        "batches": (
            ("BATCH=400 ", "BATCH=3 "),
            ('"${ALL-0}" -lt 20000', '"${ALL-0}" -lt 1'),
        ),
        "no-awk": (("| awk -v n=2", "| no-such-awk -v n=2"),),
    }
    for what, pairs in others.items():
        (tmp_path / what).mkdir()
        text = changed(script(), *pairs)
        assert contents(collect(tmp_path / what, name, text=text, ADVISOR_COLLECTOR_ROOT=root)) == wanted


@pytest.mark.parametrize("name", SHELLS)
def test_a_slow_removal_of_many_files_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    later = f'(read -r word < "{tmp_path}/gate"; rm -rf "$W") &'
    slow = changed(script(), ('"${ALL-0}" -lt 20000', '"${ALL-0}" -lt 1'), ('rm -rf "$W" &', later))
    done = run_it(name, slow, tmp_path / "work", ADVISOR_COLLECTOR_GRACE_SECONDS="1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(list((tmp_path / "work").iterdir())) == 1
    (tmp_path / "gate").write_text("go\n")
    (tmp_path / "whole.tar").write_bytes(done.stdout)
    assert open_root(str(tmp_path / "whole.tar")).text("/proc/cmdline") == "quiet"
    assert _in_time(lambda: nothing_is_left(tmp_path / "work"))
