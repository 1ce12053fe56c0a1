"""Commands that run at once: their order, and that no mistake gets lost in a thread."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.host.base import COMMAND_SECONDS, Output
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.host.recording import Recorder
from advisor.host.saving import save_capture
from advisor.probes._together import AT_ONCE, run_together


class Broken(LiveHost):
    """A host that fails in a way that no host should."""

    def run(self, argv: Sequence[str], seconds: float = COMMAND_SECONDS) -> Output | None:
        raise LookupError(argv[0])


def test_outputs_keep_the_order_of_their_commands() -> None:
    commands = [("echo", str(n)) for n in range(AT_ONCE + 3)]
    outputs = run_together(LiveHost.here(), [*commands, ("no-such-program-here",)])
    assert [output.stdout if output else None for output in outputs] == [*(f"{n}\n" for n in range(AT_ONCE + 3)), None]


def test_what_is_recorded_in_threads_is_replayed(tmp_path: Path) -> None:
    recorder = Recorder.of(LiveHost.here())
    commands = [*[("echo", str(n)) for n in range(AT_ONCE)], ("no-such-program-here",)]
    run_together(recorder, commands)
    save_capture(recorder, tmp_path / "capture")
    replayed = open_root(str(tmp_path / "capture"))
    assert [output.stdout if output else None for output in run_together(replayed, commands)] == [
        *(f"{n}\n" for n in range(AT_ONCE)),
        None,
    ]
    assert replayed.gaps == {"command: no-such-program-here": "absent"}


def test_a_mistake_reaches_the_caller() -> None:
    with pytest.raises(LookupError, match="echo"):
        run_together(Broken.here(), [("echo", "1")])


NO_MORE_TASKS = """
import os, resource
from advisor.host.live import LiveHost
from advisor.probes._together import run_together
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)  # root has no such limit
host = LiveHost.here()
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
print(run_together(host, [("true",), ("no-such-program-here",)]), sorted(host.gaps))
"""


def test_where_no_task_may_be_started_the_reason_is_a_gap() -> None:
    ended = subprocess.run([sys.executable, "-c", NO_MORE_TASKS], capture_output=True, text=True, check=False)
    assert ended.stdout == "(None, None) ['command: no-such-program-here', 'command: true']\n", ended.stderr
