"""The supervisor of one trial, a process of its own: starts the child, watches it, ends the tree, cleans up.

It outlives advisor: its standard input is the leash, and when that closes advisor has gone, or wants the trial gone.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from advisor.tuning.memory import TreeMemory, available_bytes, default_limit_bytes, least_left_bytes, oom_kills
from advisor.tuning.processes import Tree, become_reaper, start
from advisor.tuning.shm import SharedMemory

TICK_SECONDS = 0.1
LOOK_SECONDS = 0.2
"""Between two looks at memory: with 32 workers each look takes 6 ms of a CPU."""
CLEANERS_SECONDS = 2.0
OUTPUT_HEAD_BYTES = 16 * 1024
OUTPUT_TAIL_BYTES = 32 * 1024
MOST_EVENT_BYTES = 16 * 1024 * 1024
_LEASH = 0


def main(folder: str) -> None:
    """Reads the order from standard input; tells progress and the ending on standard output; removes ``folder``."""
    become_reaper()
    try:
        ending = Supervisor(json.loads(_first_line())).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _tell({"ending": ending})


class Supervisor:
    """One trial from its start until nothing of it is left."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self.order = order
        self.began = time.monotonic()
        self.stopped = False
        self.last_progress = ""
        self.next_look = 0.0
        self.shm = SharedMemory()
        self.kills_before = oom_kills()
        self.memory = TreeMemory(order["memory_limit_bytes"] or default_limit_bytes() or sys.maxsize)
        self.events = _Events(os.path.join(order["folder"], "events"))
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, number: int, frame: object) -> None:
        self.stopped = True

    def run(self) -> dict[str, Any]:
        """The ending, as JSON."""
        try:
            self.tree = Tree(start(self.order["python"], self.order["folder"]))
        except OSError as error:
            return {"ended_by": "not started", "detail": f"{self.order['python']} cannot be run: {error.strerror}"}
        assert self.tree.child.stdout is not None
        self.output = _Output(self.tree.child.stdout.fileno())
        ended_by, detail = self._watch()
        rest = self.tree.look()
        self.shm.sample()
        self.shm.note_mappings(rest)
        unkillable = self.tree.end(CLEANERS_SECONDS)
        removed = self.shm.remove_leftovers(self.tree.seen - unkillable)
        self._follow()
        self.output.read()
        return {
            "ended_by": ended_by,
            "detail": detail,
            "strays": len(rest - {self.tree.child.pid}) if ended_by == "itself" else 0,
            "unkillable": sorted(unkillable),
            "removed_from_shm": removed,
            **self._seen(),
        }

    def _seen(self) -> dict[str, Any]:
        return {
            "status": self.tree.status,
            "result": self.events.last.get("result"),
            "failure": self.events.last.get("failure"),
            "windows": self.events.last.get("windows", []),
            "output": self.output.text(),
            "last_progress": self.last_progress,
            "seconds": time.monotonic() - self.began,
            "limit_seconds": self.order["seconds"],
            "peak_memory_bytes": self.memory.peak_bytes or None,
            "peak_shm_bytes": self.shm.peak_bytes,
            "least_shm_share": self.shm.least_free_share,
            "oom_kills": oom_kills() - self.kills_before,
        }

    def _watch(self) -> tuple[str, str]:
        """Waits for the first reason to end the trial; returns it."""
        while True:
            self._wait()
            self.tree.reap()
            self._follow()
            if "result" in self.events.last or "failure" in self.events.last or self.tree.status is not None:
                return "itself", ""
            if self.stopped:
                return "stopped", ""
            if time.monotonic() - self.began > self.order["seconds"]:
                return "time limit", ""
            if reason := self._shortage():
                return reason

    def _wait(self) -> None:
        """A tick, or less when the leash is dropped; takes in what is printed meanwhile."""
        until = time.monotonic() + TICK_SECONDS
        while (left := until - time.monotonic()) > 0 and not self.stopped:
            watched = [_LEASH, self.output.stream] if self.output.is_open else [_LEASH]
            ready, _, _ = select.select(watched, [], [], left)
            if _LEASH in ready and not os.read(_LEASH, 4096):
                self.stopped = True
            if self.output.stream in ready:
                self.output.read()

    def _shortage(self) -> tuple[str, str] | None:
        """The reason to end the trial for want of memory, if there is one."""
        if time.monotonic() < self.next_look:
            return None
        self.next_look = time.monotonic() + LOOK_SECONDS
        self.shm.sample()
        taken, limit = self.memory.sample(self.tree.look()), self.memory.limit_bytes
        if taken > limit:
            return "memory limit", f"the trial's processes took {_mib(taken)}, more than the limit of {_mib(limit)}"
        left = available_bytes()
        if left is not None and left < least_left_bytes():
            return "machine memory", f"only {_mib(left)} of the machine's memory was left"
        return None

    def _follow(self) -> None:
        for event in self.events.new():
            if "progress" in event:
                self.last_progress = str(event["progress"])
                _tell({"progress": self.last_progress})


class _Events:
    """What the child tells: one JSON object on a line, each with one key."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.last: dict[str, Any] = {}
        """The last value of each key."""
        self._place = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """Events since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._place)
                text = file.read(MOST_EVENT_BYTES)
        except OSError:
            return  # the child has not told anything yet
        whole = text[: text.rfind(b"\n") + 1]
        self._place += len(whole)
        for line in whole.splitlines():
            event = json.loads(line)
            self.last.update(event)
            yield event


class _Output:
    """The beginning and the end of what the trial prints."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.is_open = True
        self._head, self._tail = b"", b""
        os.set_blocking(stream, False)

    def read(self) -> None:
        """Takes in what there is, but no endless stream at once."""
        for _ in range(64):
            try:
                chunk = os.read(self.stream, 65536)
            except BlockingIOError:
                return
            if not chunk:
                self.is_open = False
                return
            room = OUTPUT_HEAD_BYTES - len(self._head)
            self._head += chunk[:room]
            self._tail = (self._tail + chunk[room:])[-OUTPUT_TAIL_BYTES:] if len(chunk) > room else self._tail

    def text(self) -> str:
        return (self._head + self._tail).decode("utf-8", "replace")


def _first_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(_LEASH, 65536)
        if not chunk:
            sys.exit(1)
        line += chunk
    return line


def _tell(what: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):  # advisor has gone; the leash ends the trial all the same
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


def _mib(amount: int) -> str:
    return f"{amount / (1 << 20):.0f} MiB"
