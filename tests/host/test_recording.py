"""A recording answers as the machine did: same values, same gaps."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.discover import units
from advisor.errors import InputError
from advisor.host.base import Host, Output
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.host.recording import Recorder
from advisor.host.saving import save_capture
from advisor.host.tree import Tree
from advisor.probes._run import run_probes

Question = Callable[[Host], Any]

QUESTIONS: dict[str, Question] = {
    "a file": lambda h: h.data("/proc/sys/kernel/ostype"),
    "a file through a link": lambda h: h.text("/sys/class/net/lo/mtu"),
    "the beginning of a file": lambda h: h.data("/proc/version", 5),
    "a longer part of it later": lambda h: h.data("/proc/version"),
    "a large file": lambda h: h.data("/proc/kallsyms", 300_000),
    "a file that refuses to be read": lambda h: h.data("/proc/self/mem"),
    "a file that is not there": lambda h: h.data("/sys/class/net/lo/no-such-file"),
    "a file in a folder that is not there": lambda h: h.data("/no-such-folder/a/b"),
    "a file below a file": lambda h: h.data("/proc/version/below"),
    "a folder read as a file": lambda h: h.data("/sys/class"),
    "a device read as a file": lambda h: h.data("/dev/null"),
    "a listing": lambda h: h.names("/sys/class/net"),
    "a listing through a link": lambda h: h.names("/sys/class/net/lo"),
    "a listing of a file": lambda h: h.names("/proc/version"),
    "a listing that is not there": lambda h: h.names("/sys/class/no-such-class"),
    "a link": lambda h: h.link("/sys/class/net/lo"),
    "no link": lambda h: h.link("/proc/version"),
    "a link that is not there": lambda h: h.link("/sys/class/net/lo/device"),
    "the real path of a link": lambda h: h.real("/sys/class/net/lo"),
    "the real path of a file": lambda h: h.real("/sys/class/net/lo/mtu"),
    "the real path of the root": lambda h: h.real("/"),
    "a real path that is not there": lambda h: h.real("/no-such/place"),
    "something that exists": lambda h: h.exists("/sys/class/net/lo/address"),
    "something that does not exist": lambda h: h.exists("/sys/class/net/lo/absent"),
    "a device that exists": lambda h: h.exists("/dev/null"),
    "a mode": lambda h: h.mode("/sys/class/net/lo/mtu"),
    "a mode that is not there": lambda h: h.mode("/sys/class/net/lo/none"),
    "a path with dots": lambda h: h.data("/sys/class/net/../net/./lo//mtu"),
    "a path beyond the root": lambda h: h.data("/../../proc/sys/kernel/ostype"),
    "a command": lambda h: h.run(["echo", "a b", "c"]),
    "a command that fails": lambda h: h.run(["ls", "/no-such-place"]),
    "a command that is not there": lambda h: h.run(["no-such-command", "-x"]),
    "a command that takes too long": lambda h: h.run(["sleep", "60"], 0.1),
    "a file system": lambda h: h.statvfs("/proc"),
    "a file system that is not there": lambda h: h.statvfs("/no-such-mount"),
    "CPUs": lambda h: h.affinity(),
    "a limit": lambda h: h.limit("nofile"),
    "a limit there is not": lambda h: h.limit("patience"),
}
KINDS = ["folder", "tar", "tar.gz"]


def saved(recorder: Recorder, tmp_path: Path, kind: str) -> Host:
    dest = tmp_path / ("capture" if kind == "folder" else f"capture.{kind}")
    save_capture(recorder, dest)
    return open_root(str(dest))


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_the_capture_answers_as_the_machine_did(question: Question, tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    first = question(recorder)
    capture = saved(recorder, tmp_path, "folder")
    assert question(capture) == first
    assert capture.gaps == recorder.gaps


@pytest.mark.parametrize("kind", KINDS)
def test_all_questions_together_are_answered_as_the_machine_did(kind: str, tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    first = [question(recorder) for question in QUESTIONS.values()]
    capture = saved(recorder, tmp_path, kind)
    assert capture.kind == "capture"
    assert capture.root_user == recorder.root_user
    assert [question(capture) for question in QUESTIONS.values()] == first
    assert capture.gaps == recorder.gaps


def test_the_recorder_answers_as_its_host_does() -> None:
    live = LiveHost.here()
    recorder = Recorder.of(LiveHost.here())
    assert [question(recorder) for question in QUESTIONS.values()] == [
        question(live) for question in QUESTIONS.values()
    ]
    assert recorder.gaps == live.gaps


def test_what_was_not_asked_is_not_captured(tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    recorder.data("/sys/class/net/lo/mtu")
    capture = saved(recorder, tmp_path, "folder")
    assert capture.data("/sys/class/net/lo/flags") is None
    assert capture.names("/sys/class/net/lo") is None
    assert capture.run(["uname", "-r"]) is None
    assert capture.nvml() is None
    assert set(capture.gaps.values()) == {"not captured"}


def test_what_a_listing_lacks_was_absent(tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    recorder.names("/sys/class/net")
    capture = saved(recorder, tmp_path, "folder")
    assert capture.exists("/sys/class/net/no-such-interface/mtu") is False
    assert capture.data("/sys/class/net/lo/mtu") is None
    assert capture.gaps["/sys/class/net/lo/mtu"] == "not captured"


def test_a_plain_trees_listing_does_not_make_the_rest_absent(tmp_path: Path) -> None:
    (tmp_path / "root/sys/class/net").mkdir(parents=True)
    recorder = Recorder.of(Tree.in_folder(tmp_path / "root"))
    recorder.names("/sys/class/net")
    capture = saved(recorder, tmp_path, "folder")
    assert capture.exists("/sys/class/net/eth0") is None
    assert capture.gaps == {"/sys/class/net/eth0": "not captured"}


def test_names_that_are_not_utf8_are_found_again(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path / "root/sys")
    os.makedirs(root)
    for name in (b"\xff\xfe", "\uf0ff".encode(), b"tab\tnew\nline\\", "é".encode()):
        with open(root + b"/" + name, "wb") as file:
            file.write(name)
    os.symlink(b"\xff\xfe", root + b"/link\xff")
    tree = Tree.in_folder(tmp_path / "root")
    recorder = Recorder.of(tree)
    names = recorder.names("/sys")
    assert names is not None
    content = [recorder.data(f"/sys/{name}") for name in names]
    missing = recorder.data("/sys/gone\t\\n\n")
    assert missing is None
    for kind in KINDS:
        capture = saved(recorder, tmp_path, kind)
        assert capture.names("/sys") == names
        assert [capture.data(f"/sys/{name}") for name in names] == content
        assert capture.data("/sys/gone\t\\n\n") is None
        assert capture.gaps == recorder.gaps


def test_only_variables_that_say_how_a_job_runs_are_kept(tmp_path: Path) -> None:
    class Environment(Tree):
        def environment(self) -> dict[str, str]:
            return {"NCCL_DEBUG": "INFO", "SLURM_JWT": "x", "AWS_SECRET_ACCESS_KEY": "y", "WANDB_API_KEY": "z"}

    (tmp_path / "root/etc").mkdir(parents=True)
    recorder = Recorder.of(Environment.in_folder(tmp_path / "root"))
    assert recorder.environment() == {"NCCL_DEBUG": "INFO"}
    assert saved(recorder, tmp_path, "tar").environment() == {"NCCL_DEBUG": "INFO"}


def test_the_same_answers_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tar.gz", "b.tar.gz"):
        recorder = Recorder.of(LiveHost.here())
        recorder.data("/proc/sys/kernel/ostype")
        recorder.run(["echo", "x"])
        save_capture(recorder, tmp_path / name)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_nothing_that_is_there_is_overwritten(tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    save_capture(recorder, tmp_path / "capture")
    with pytest.raises(InputError, match=r"cannot write the capture .*capture: File exists"):
        save_capture(recorder, tmp_path / "capture")


def test_a_command_is_asked_once_and_replayed(tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    first = recorder.run(["date", "+%N"])
    assert recorder.run(["date", "+%N"]) == first
    capture = saved(recorder, tmp_path, "folder")
    assert capture.run(["date", "+%N"]) == first
    assert isinstance(first, Output)


@pytest.mark.parametrize("kind", KINDS)
def test_all_probes_read_the_same_from_a_recording(tmp_path: Path, kind: str) -> None:
    recorder = Recorder.of(LiveHost.here())
    recorder.kind = "capture"  # leaves out the Python environment of advisor itself, as `advisor capture` does
    live, _ = run_probes(recorder, units("probes"))
    captured, _ = run_probes(saved(recorder, tmp_path, kind), units("probes"))
    assert captured.facts == live.facts
    assert captured.gaps == live.gaps
