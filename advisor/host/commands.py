"""Running a command with a time limit and without a shell."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from advisor.host.base import COMMAND_SECONDS, Output
from advisor.host.paths import raw_of
from advisor.host.states import state_of
from advisor.model.facts import GapState

OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
"""More is read and thrown away, so that the command can end."""
_FOLDERS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin")
_STUCK_SECONDS = 1.0
"""How long a killed process may take to go; one that waits for a dead server stays, and we do not wait for it."""
_GLANCE_SECONDS = 0.05


def run_command(
    argv: Sequence[str], seconds: float = COMMAND_SECONDS, environment: Mapping[str, str] | None = None
) -> tuple[Output | None, GapState | None]:
    """The output of a command, or why there is none. ``environment`` adds to this process's own.

    Without a shell, in its own session, standard input empty, in English; killed with all it started when its
    time is over. What an exit status means is the caller's business.
    """
    program = find_program(argv[0])
    if program is None:
        return None, "absent"
    spoken = {**os.environ, "LC_ALL": "C", "LANG": "C", "LANGUAGE": "", **(environment or {})}
    try:
        process = subprocess.Popen(
            [program, *(raw_of(word) for word in argv[1:])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=spoken,
            start_new_session=True,
        )
    except OSError as error:
        return None, state_of(error.errno)
    except ValueError:
        return None, "error"
    taken = _listen(process, time.monotonic() + seconds)
    ended = _end(process)
    if taken is None or not ended:
        return None, "timed out"
    stdout, stderr = (text.decode("utf-8", "replace") for text in taken)
    return Output(tuple(argv), process.returncode, stdout, stderr), None


def find_program(name: str) -> str | None:
    """The absolute path of a program: on a fixed list of folders, then in the absolute ones of PATH."""
    if "/" in name:
        return name if name.startswith("/") and os.path.exists(name) else None
    searched = [*_FOLDERS, *(folder for folder in os.environ.get("PATH", "").split(":") if folder.startswith("/"))]
    for folder in searched:
        path = f"{folder}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _listen(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytes, bytes] | None:
    """Standard output and error until both are closed or the process has ended; ``None`` after the deadline."""
    taken: dict[object, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            ready = selector.select(min(left, _GLANCE_SECONDS))
            if not ready and _has_ended(process.pid):
                # Something it started holds the pipe open.
                break
            for key, _ in ready:
                piece = os.read(key.fd, 65536)
                if not piece:
                    selector.unregister(key.fileobj)
                kept = taken[key.fileobj]
                kept += piece[: OUTPUT_LIMIT_BYTES - len(kept)]
    while not _has_ended(process.pid):
        if time.monotonic() > deadline:
            return None
        time.sleep(0.001)
    return bytes(taken[process.stdout]), bytes(taken[process.stderr])


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it stays a zombie, so that its group's number is not given to others."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: "subprocess.Popen[bytes]") -> bool:
    """Kills what is left of a command and everything it started; ``False`` when it does not go."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Nothing is left, or what is left runs as somebody else.
        process.kill()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(_STUCK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True
