"""Writing what a Recorder heard as a capture; the layout stands in `advisor.host.recording`."""

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor import __version__
from advisor.errors import InputError
from advisor.host.base import Output
from advisor.host.capture import CAPTURE_VERSION, MARK, SAMPLE, escaped
from advisor.host.paths import raw_of
from advisor.host.recording import Recorder
from advisor.host.states import errno_name
from advisor.inputs import printable

_NAME_CHARACTERS = 60


@dataclass(frozen=True)
class Second:
    """What was heard at a second reading, and how long after the first, in seconds by section."""

    recorder: Recorder
    seconds: Mapping[str, float]


def save_capture(recorder: Recorder, dest: str | Path, second: Second | None = None) -> None:
    """Writes what ``recorder`` heard, so that ``open_root(dest)`` answers the same.

    ``dest`` is a folder that is not there yet, or ends in ``.tar``, ``.tar.gz`` or ``.tgz``. Raises InputError.
    """
    members = dict(_members(recorder))
    if second is not None:
        again = dict(_members(second.recorder, dict(second.seconds)))
        members |= {f"{SAMPLE}/{path}": content for path, content in again.items()}
    name = os.fspath(dest)
    try:
        if name.endswith((".tar", ".tar.gz", ".tgz")):
            _write_tar(members, name)
        else:
            _write_folder(members, name)
    except OSError as error:
        raise InputError(f"cannot write the capture {printable(name)}: {error.strerror or error}") from None


class _Link(str):
    """The text of a link, where a file's content would stand."""


def _members(recorder: Recorder, seconds: dict[str, float] | None = None) -> Iterator[tuple[str, bytes | _Link]]:
    """Path in the capture and content, sorted; a path below another that is no folder is left out."""
    yield MARK, _json({**_about(recorder), **({} if seconds is None else {"seconds": seconds})})
    yield "calls.json", _json(_calls(recorder))
    yield "errors.tsv", _errors(recorder)
    yield from _commands(recorder)
    files: dict[str, bytes | _Link] = {path: _Link(text) for path, text in recorder.links.items()}
    for (question, _), answer in recorder.answers.items():
        if question == "data" and answer.value is not None:
            kept = files.get(answer.place, b"")
            if not isinstance(kept, _Link) and len(answer.value) >= len(kept):
                files[answer.place] = answer.value
        elif question == "link" and answer.value is not None:
            files[answer.place] = _Link(answer.value)
    for path in sorted(files):
        if not any(above in files for above in _above(path)):
            yield f"fs{path}", files[path]


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _about(recorder: Recorder) -> dict[str, Any]:
    missing = {str(argv[0]) for argv, _ in _asked(recorder, "run", "absent")}
    return {
        "version": CAPTURE_VERSION,
        "source": recorder.kind,
        "root_user": recorder.root_user,
        "made_by": f"advisor {__version__}",
        "tools_missing": sorted(missing),
    }


def _asked(recorder: Recorder, question: str, state: str | None = None) -> Iterator[tuple[Any, Any]]:
    """What was asked for and the value, of the answers to one question that have this gap state."""
    for (asked, key), answer in recorder.answers.items():
        if asked == question and answer.state == state:
            yield key, answer.value


def _calls(recorder: Recorder) -> dict[str, Any]:
    calls: dict[str, Any] = {"names": {}, "exists": {}, "modes": {}, "statvfs": {}, "limits": {}}
    for (question, key), answer in recorder.answers.items():
        value = answer.value
        if question == "exists" and value is not None:
            calls["exists"][answer.place] = value
        elif value is None:
            continue
        elif question == "names":
            calls["names"][answer.place] = list(value)
        elif question == "real":
            calls["exists"][value] = True
        elif question == "mode":
            calls["modes"][answer.place] = value
        elif question == "statvfs":
            use = (value.block_bytes, value.blocks, value.blocks_available, value.files, value.files_free)
            calls["statvfs"][str(key)] = use
        elif question.startswith("limit "):
            calls["limits"][question.removeprefix("limit ")] = (value.soft, value.hard)
        elif question == "affinity":
            calls["affinity"] = sorted(value)
        elif question in ("environment", "nvml"):
            calls[question] = dict(value)
    return calls


def _errors(recorder: Recorder) -> bytes:
    lines = set()
    for (question, _), answer in recorder.answers.items():
        if answer.state is not None:
            lines.add(f"{escaped(answer.place)}\t{errno_name(answer.state)}\t{question}\n")
    return "".join(sorted(lines)).encode()


def _commands(recorder: Recorder) -> Iterator[tuple[str, bytes]]:
    outputs: list[tuple[tuple[str, ...], Output]] = sorted(_asked(recorder, "run"), key=lambda item: item[0])
    for number, (argv, output) in enumerate(outputs, start=1):
        if any("\n" in word for word in argv):
            # One argument is one line; no command of ours has such an argument.
            continue
        words = re.sub(r"[^A-Za-z0-9.]+", "-", " ".join(argv)).strip("-.")[:_NAME_CHARACTERS]
        base = f"cmd/{number:03}-{words}"
        yield f"{base}.argv", ("\n".join(argv) + "\n").encode()
        yield f"{base}.stdout", output.stdout.encode()
        yield f"{base}.stderr", output.stderr.encode()
        yield f"{base}.rc", f"{output.returncode}\n".encode()


def _json(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _tops(members: Mapping[str, object]) -> tuple[str, ...]:
    """Where readings lie: a capture may be of a machine without a single file."""
    return tuple(top for top in ("", f"{SAMPLE}/") if top + MARK in members)


def _write_folder(members: dict[str, bytes | _Link], dest: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(dest)), exist_ok=True)
    os.mkdir(dest, 0o755)
    for top in _tops(members):
        os.makedirs(f"{dest}/{top}fs")
    # Links last: nothing is ever written through one.
    for path, content in sorted(members.items(), key=lambda item: isinstance(item[1], _Link)):
        place = os.fsencode(dest) + b"/" + os.fsencode(raw_of(path))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if isinstance(content, _Link):
            os.symlink(os.fsencode(raw_of(content)), place)
        else:
            with open(place, "xb") as file:
                file.write(content)


def _write_tar(members: dict[str, bytes | _Link], dest: str) -> None:
    """The same bytes for the same answers: no times, no owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8") as tar:
        for top in _tops(members):
            folder = tarfile.TarInfo(f"{top}fs")
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        for path, content in members.items():
            member = tarfile.TarInfo(_tar_name(path))
            if isinstance(content, _Link):
                member.type, member.linkname = tarfile.SYMTYPE, _tar_name(content)
                tar.addfile(member)
            else:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    data = packed.getvalue() if dest.endswith(".tar") else gzip.compress(packed.getvalue(), mtime=0)
    with open(dest, "xb") as file:
        file.write(data)


def _tar_name(text: str) -> str:
    raw = raw_of(text)
    return raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
