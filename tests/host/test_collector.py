"""The collector's script: the same facts as the probes read themselves, in every shell, leaving nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._collected import declared, rules, script
from advisor.discover import units
from advisor.host.base import Host
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import Facts, marks
from advisor.probes._run import run_probes
from tests.big_node import CONTENTS, GPU, LINKS, NIC, NVME, big_node
from tests.trees import write_capture, write_link, write_tree

ROOT = Path(__file__).resolve().parent.parent.parent
SHELLS = {"dash": ["dash"], "busybox": ["busybox", "ash"], "bash": ["bash", "--posix"]}
ONLY_LIVE = {"python"}
NOBODY = 65534


def shell(name: str) -> list[str]:
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"{SHELLS[name][0]} is not installed")
    return SHELLS[name]


def collect(tmp_path: Path, name: str = "dash", text: str = "", **environment: str) -> str:
    """The archive that the script makes; its own folder must be gone."""
    work = tmp_path / f"work-{name}"
    work.mkdir(exist_ok=True)
    work.chmod(0o777)
    archive = tmp_path / f"{name}.tar"
    with open(archive, "wb") as out:
        done = subprocess.run(
            [*shell(name), "-s"],
            input=(text or script()).encode(),
            stdout=out,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(work), **environment},
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert list(work.iterdir()) == []
    return str(archive)


def steady(value: object) -> object:
    """Facts without volatile ones."""
    if isinstance(value, Facts):
        known = marks(type(value))
        names = [n for n in type(value).model_fields if n not in known or not known[n].volatile]
        return {name: steady(getattr(value, name)) for name in names}
    return [steady(item) for item in value] if isinstance(value, tuple) else value


def facts_and_gaps(host: Host) -> dict[str, object]:
    """Every section and all gaps, as JSON types."""
    snapshot, defects = run_probes(host, units("probes"))
    assert defects == ()
    sections: dict[str, object] = {n: steady(facts) for n, facts in snapshot.facts.items() if n not in ONLY_LIVE}
    sections["gaps"] = {path: gap for path, gap in snapshot.gaps.items() if not path.startswith("python environment")}
    return sections


def assert_same(told: dict[str, object], wanted: dict[str, object]) -> None:
    assert told.keys() == wanted.keys()
    for name in wanted:
        assert told[name] == wanted[name], name


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "collector.sh").write_text(script())
    done = subprocess.run(["shellcheck", str(tmp_path / "collector.sh")], capture_output=True, text=True, timeout=120)
    assert done.stdout == ""


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["collector"]) == 0
    assert capsys.readouterr().out == script()
    assert run(["collector", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"] == script()


@pytest.mark.parametrize("name", SHELLS)
def test_facts_of_this_machine_are_those_that_the_probes_read(name: str, tmp_path: Path) -> None:
    assert_same(facts_and_gaps(open_root(collect(tmp_path, name))), facts_and_gaps(LiveHost.here()))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_nobody_collects_what_nobody_may_read(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from tests.host.test_collector import *; facts_and_gaps("
        "LiveHost.here()); open_root(sys.argv[3]); os.setgroups([]); os.setgid(NOBODY); os.setuid(NOBODY)\n"
        "done = subprocess.run(['dash', '-s'], input=script().encode(), stdout=open(sys.argv[2], 'wb'), cwd='/')\n"
        "assert done.returncode == 0\n"
        "assert_same(facts_and_gaps(open_root(sys.argv[2])), facts_and_gaps(LiveHost.here()))\n"
    )
    shell("dash")
    mine = collect(tmp_path)
    # A folder of its own: those of pytest are closed to nobody, and other runs of it tidy them up.
    with tempfile.TemporaryDirectory(prefix="nobody-") as folder:
        Path(folder).chmod(0o755)
        theirs = Path(folder, "nobody.tar")
        theirs.touch()
        theirs.chmod(0o666)
        done = subprocess.run(
            [sys.executable, "-c", code, str(ROOT), str(theirs), mine],
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": tempfile.gettempdir()},
            timeout=120,
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", SHELLS)
def test_a_node_with_gpus_rdma_and_raid_gives_what_the_probes_read_of_it(name: str, tmp_path: Path) -> None:
    root = big_node(tmp_path / "node")
    told = open_root(archive := collect(tmp_path, name, ADVISOR_COLLECTOR_ROOT=str(root)))
    wanted = as_it_is(tmp_path, archive)
    assert_same(facts_and_gaps(told), facts_and_gaps(wanted))
    assert told.mode("/proc/irq/90/smp_affinity") == 0o644
    spaces = {f"{folder}/config": told.data(f"{folder}/config") for folder in (GPU, NVME, NIC)}
    # A device that sleeps is not woken.
    assert spaces == {path: None if path.startswith(NIC) else CONTENTS[path] for path in spaces}


def as_it_is(tmp_path: Path, archive: str) -> Host:
    """A capture of the same node that holds all its files; commands and calls, which are this machine's, as told."""
    write_capture(tmp_path / "wanted", CONTENTS)
    for path, target in LINKS.items():
        write_link(tmp_path / "wanted/fs", path, target)
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "told", filter="data")
    shutil.rmtree(tmp_path / "wanted/cmd")
    shutil.move(tmp_path / "told/cmd", tmp_path / "wanted/cmd")
    shutil.copy(tmp_path / "told/advisor-capture.json", tmp_path / "wanted")
    calls = json.loads((tmp_path / "told/calls.json").read_text())
    assert calls["affinity"] == [0, 1, 3]
    del calls["names"], calls["exists"]
    (tmp_path / "wanted/calls.json").write_text(json.dumps(calls))
    failed = [line for line in (tmp_path / "told/errors.tsv").read_text().splitlines() if not line.startswith("/")]
    with open(tmp_path / "wanted/errors.tsv", "a") as errors:
        errors.write("\n".join(failed) + "\n")
    return open_root(str(tmp_path / "wanted"))


def test_every_file_comes_as_it_is(tmp_path: Path) -> None:
    contents: dict[str, bytes] = {
        "/proc/swaps": b"",
        "/etc/fstab": b"no newline at the end",
        "/proc/version": b"\n\ntwo empty lines first and last\n\n\n",
        "/etc/tuned/active_profile": b"bytes \xff\xfe \\n %s `x` $(y) \"'\n",
        "/etc/hostname": b"  blanks around\t \n",
        "/proc/cmdline": b"a=b\n" * 5000,
    }
    write_tree(tmp_path / "node", contents)
    without_awk = script().replace("| awk -v n=2", "| no-such-awk -v n=2")
    for name, text in ((name, text) for name in SHELLS for text in (script(), without_awk)):
        told = open_root(collect(tmp_path, name, text, ADVISOR_COLLECTOR_ROOT=str(tmp_path / "node")))
        assert {path: told.data(path, 1 << 20) for path in contents} == contents


def test_what_is_no_plain_file_is_never_opened(tmp_path: Path) -> None:
    root = tmp_path / "node"
    write_tree(root, {"/proc/cmdline": "x\n", "/etc/sysctl.d/": ""})
    os.mkfifo(root / "etc/fstab")
    os.mkfifo(root / "etc/sysctl.d/a.conf")
    (root / "etc/sysctl.d/b\nc.conf").write_text("vm.swappiness=1\n")
    (root / "etc/sysctl.d/loop.conf").symlink_to("loop.conf")
    (root / "etc/sysctl.d/masked.conf").symlink_to("/dev/null")
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root)))
    assert told.names("/etc/sysctl.d") == ("a.conf", "loop.conf", "masked.conf")
    assert told.data("/etc/fstab") is None
    assert told.data("/etc/sysctl.d/a.conf") is None


def slow_script() -> str:
    """The script with a command that hangs."""
    slow = script().replace("C\tuname -m", "C\tsleep 997")
    assert slow != script()
    return slow


@pytest.mark.parametrize("name", SHELLS)
def test_a_command_that_hangs_is_given_up(name: str, tmp_path: Path) -> None:
    write_tree(tmp_path / "node", {"/proc/cmdline": "quiet\n"})
    told = open_root(
        collect(
            tmp_path,
            name,
            text=slow_script(),
            ADVISOR_COLLECTOR_JOB_SECONDS="1",
            ADVISOR_COLLECTOR_ROOT=str(tmp_path / "node"),
        )
    )
    assert told.run(["sleep", "997"]) is None
    assert told.gaps["command: sleep 997"] == "timed out"
    assert told.run(["systemd-detect-virt", "--vm"]) is not None or told.gaps.popitem()[1] == "absent"
    assert told.text("/proc/cmdline") == "quiet"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name)
@pytest.mark.parametrize("name", SHELLS)
def test_nothing_is_left_of_one_that_was_killed(name: str, number: signal.Signals, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    process = subprocess.Popen(
        [*shell(name), "-c", slow_script().replace("997", "998")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(work)},
        preexec_fn=_hears_signals,
    )
    assert _in_time(lambda: any(command == "sleep\x00998\x00" for command in _commands(work)))
    process.send_signal(number)
    process.wait(30)
    assert _in_time(lambda: list(work.iterdir()) == [])
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
    assert _in_time(lambda: not any(command == "sleep\x00998\x00" for command in _commands(work)))


def _hears_signals() -> None:
    """A suite that runs in the background, or under nohup, has them ignored, which no shell can undo."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _commands(work: Path) -> list[str]:
    """The command lines of processes that have this folder in their environment."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if f"TMPDIR={work}\0".encode() in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(Path(f"/proc/{entry}/cmdline").read_text(errors="replace"))
        except OSError:
            continue
    return found


def _in_time(done: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.05)
    return False


def test_after_its_time_it_brings_what_it_has(tmp_path: Path) -> None:
    write_tree(tmp_path / "node", {"/proc/cmdline": "quiet\n", "/etc/fstab": "/dev/sda1 / ext4 ro 0 1\n"})
    done = subprocess.run(
        [*shell("dash"), "-c", slow_script()],
        capture_output=True,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "ADVISOR_COLLECTOR_SECONDS": "1",
            "ADVISOR_COLLECTOR_ROOT": str(tmp_path / "node"),
        },
        timeout=60,
    )
    assert done.returncode == 0
    assert b"stopped reading after 1 seconds" in done.stderr
    (tmp_path / "part.tar").write_bytes(done.stdout)
    told = open_root(str(tmp_path / "part.tar"))
    assert told.text("/proc/cmdline") == "quiet"
    assert told.run(["systemd-detect-virt", "--vm"]) is None
    assert told.gaps["command: systemd-detect-virt --vm"] == "timed out"


@pytest.mark.parametrize("name", SHELLS)
def test_once_its_time_is_over_it_looks_at_nothing_more(name: str, tmp_path: Path) -> None:
    over = script().replace('    rules > "$W/rules"', '    : > "$W/over"; kill -USR1 $$; rules > "$W/rules"')
    archive = tmp_path / "part.tar"
    with open(archive, "wb") as out:
        done = subprocess.run(
            [*shell(name), "-c", over],
            stdout=out,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "TMPDIR": str(tmp_path),
                "ADVISOR_COLLECTOR_ROOT": str(big_node(tmp_path / "node")),
            },
            timeout=60,
        )
    assert (done.returncode, b"stopped reading" in done.stderr) == (0, True)
    with tarfile.open(archive) as tar:
        files = {member.name for member in tar if member.isfile()}
    assert files == {
        *("advisor-capture.json", "calls.json", "errors.tsv", "fs/proc/self/mountinfo", "fs/proc/self/cgroup")
    }
    told = open_root(str(archive))
    assert told.text("/proc/cmdline") is told.names("/sys/class/net") is told.statvfs("/") is None
    assert told.run(["uname", "-m"]) is told.exists("/dev/kfd") is told.mode("/proc/irq/90/smp_affinity") is None
    assert told.gaps.pop("/proc/irq/90/smp_affinity") == "not captured"
    assert set(told.gaps.values()) == {"timed out"}


@pytest.mark.parametrize("awk", ["awk", "no-such-awk"])
@pytest.mark.parametrize("name", SHELLS)
def test_a_file_that_never_answers_costs_only_itself(name: str, awk: str, tmp_path: Path) -> None:
    slow = script().replace('main "$@"', "").replace("| awk -v n=2", f"| {awk} -v n=2")
    slow = slow.replace('job cat "$@"', 'job slow_cat "$@"')
    slow += 'slow_cat() { for file do case $file in */etc/fstab) sleep 20 ;; esac; cat "$file"; done; }\nmain "$@"\n'
    contents = {f"/sys/module/nvme/parameters/p{n}": f"{n}\n" for n in range(30)}
    write_tree(tmp_path / "node", {**contents, "/etc/fstab": "/dev/sda1 / ext4 ro 0 1\n", "/proc/cmdline": "quiet\n"})
    environment = {"ADVISOR_COLLECTOR_JOB_SECONDS": "1", "ADVISOR_COLLECTOR_ROOT": str(tmp_path / "node")}
    told = open_root(collect(tmp_path, name, text=slow, **environment))
    assert told.text("/etc/fstab") is None
    assert told.gaps["/etc/fstab"] == "timed out"
    assert {path: told.text(path, 100) for path in contents} == {path: text.strip() for path, text in contents.items()}


def test_links_to_servers_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "node"
    mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n40 22 0:40 / /far rw - nfs4 filer:/x rw,hard\n"
    write_tree(root, {"/proc/self/mountinfo": mounts, "/far/a.conf": "vm.swappiness=1\n", "/near/b.conf": "vm.x=2\n"})
    write_link(root, "/etc/sysctl.d/a.conf", "/far/a.conf")
    write_link(root, "/etc/sysctl.d/b.conf", "../../near/b.conf")
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root)))
    assert told.link("/etc/sysctl.d/a.conf") == "/far/a.conf"
    assert told.text("/etc/sysctl.d/a.conf") is None
    assert told.gaps["/etc/sysctl.d/a.conf"] == "not captured"
    assert told.text("/etc/sysctl.d/b.conf") == "vm.x=2"
    assert told.statvfs("/far") is None


def test_a_script_that_came_in_part_does_nothing(tmp_path: Path) -> None:
    whole = script()
    done = subprocess.run(
        [*shell("dash"), "-s"],
        input=whole[: len(whole) * 2 // 3].encode(),
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        timeout=60,
    )
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


def test_a_node_without_tar_is_told_so(tmp_path: Path) -> None:
    without = script().replace("for tool in tar ", "for tool in no-such-tar ")
    done = subprocess.run([*shell("dash"), "-c", without], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (3, "")
    assert "this node has no no-such-tar" in done.stderr


def test_its_archive_is_redacted_by_capture(tmp_path: Path) -> None:
    root = big_node(tmp_path / "node")
    write_tree(root, {"/proc/sys/kernel/hostname": "quokka17\n", "/proc/cmdline": "quiet host=quokka17\n"})
    raw = collect(tmp_path, ADVISOR_COLLECTOR_ROOT=str(root))
    assert run(["capture", str(tmp_path / "safe.tar"), "--root", raw, "--quiet"]) == 0
    safe = (tmp_path / "safe.tar").read_bytes()
    for secret in (b"quokka17", b"0c42:a103:005e:7731", b"0a00:0001", b"10.0.0.9", b"filer"):
        assert secret in Path(raw).read_bytes()
        assert secret not in safe


def test_of_the_environment_only_what_runs_jobs_comes_and_no_credential(tmp_path: Path) -> None:
    root = str(big_node(tmp_path / "node"))
    kept = {"NCCL_IB_PKEY": "1", "UCX_IB_PKEY": "0xffff", "NCCL_DEBUG": "INFO"}
    others = {"NVIDIA_API_KEY": "x", "WANDB_API_KEY": "x", "SLURM_JWT": "x", "nccl_token": "x"}
    told = open_root(collect(tmp_path, ADVISOR_COLLECTOR_ROOT=root, **kept, **others)).environment() or {}
    assert {name: told.get(name) for name in kept} == kept
    assert told.keys().isdisjoint(others)


def test_no_folder_is_declared_twice() -> None:
    folders = [line.split("\t")[1] for line in rules() if line.startswith("D\t")]
    assert len(folders) == len(set(folders))
    assert {folder for one in declared() for folder, _ in one.folders} <= set(folders)


def test_every_probe_of_the_machine_declares_what_it_reads() -> None:
    silent = [name for name, module in units("probes").items() if not hasattr(module, "COLLECTED")]
    assert silent == ["ethtool", "python"], "the collector asks for these by itself"
