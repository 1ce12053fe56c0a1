"""A recording without what names its host, its people or its network, and without credentials.

Pure: answers in, answers out. What is found by its form (addresses, MACs, GUIDs, UUIDs, WWNs) is replaced wherever it
stands, in paths too, so that every question still meets its answer. Names have no form of their own: they are replaced
where names stand (mounts, configuration, command line, environment), by what is known of the host and by position. Of
configuration only what is read is kept, see `advisor.host.redaction_settings`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from advisor.host.base import Host, Output
from advisor.host.pci_space import without_serials
from advisor.host.recording import Answer, Recorder
from advisor.host.redaction_files import content
from advisor.host.redaction_mounts import TABLES, UNITS, names_of
from advisor.host.redaction_printed import answers, printed, variable
from advisor.host.redaction_words import CGROUPS, Words
from advisor.host.tokens import Tokens

_HEX = "[0-9a-fA-F]"
_PCI_SPACE = re.compile(rf"/sys/.*{_HEX}{{2}}:{_HEX}{{2}}\.[0-7]/config")
"""A binary file, with the card's serial number in it."""
_WORD = re.compile(r"[0-9A-Za-z]+")


def known_names(host: Host) -> tuple[str, ...]:
    """The names of the host, its domains and its people, as far as its files and this environment tell them."""
    names = [host.text(path) or "" for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname")]
    names.append(host.text("/etc/hostname") or "")
    for line in (host.text("/etc/resolv.conf") or "").split("\n"):
        words = line.split()
        names += words[1:] if words[:1] in (["search"], ["domain"]) else []
    for line in (host.text("/etc/passwd", 1024 * 1024) or "").split("\n"):
        account = line.split(":")
        if len(account) > 3 and account[2].isdecimal() and 1000 <= int(account[2][:9]) < 65534:
            names.append(account[0])
    environment = host.environment() or {}
    names += [environment.get(name, "") for name in ("USER", "LOGNAME", "SUDO_USER", "HOSTNAME")]
    return tuple(sorted({name.strip() for name in names if name.strip()}))


def redacted(recorder: Recorder, names: Iterable[str], key: bytes, first: Recorder | None = None) -> Recorder:
    """``recorder`` with tokens instead of what is private; ``names`` are known to be. ``key`` makes the tokens.

    ``first``: an earlier recording of the same machine, whose files tell names too.
    """
    words = _words(first or recorder, names, Tokens(key))
    made = replace(recorder, gaps={}, answers={}, links={})
    for (question, asked), answer in recorder.answers.items():
        made.answers[question, _asked(words, asked)] = Answer(
            words.path(answer.place), _answer(words, question, answer), answer.state
        )
    made.links.update({words.path(path): words.path(text) for path, text in recorder.links.items()})
    return made


def _asked(words: Words, asked: object) -> object:
    if isinstance(asked, tuple):
        return tuple(words.path(part) if isinstance(part, str) else part for part in asked)
    return words.path(asked) if isinstance(asked, str) else asked


def _answer(words: Words, question: str, answer: Answer) -> Any:
    value = answer.value
    if question == "data" and value is not None and _PCI_SPACE.fullmatch(answer.place):
        return without_serials(value)
    if question == "data" and value is not None:
        return _coded(content(words, answer.place, _text(value)))
    if question == "names" and value is not None:
        inside = answer.place.rstrip("/") + "/"
        return tuple(words.path(inside + name)[len(words.path(inside)) :] for name in value)
    if question in ("link", "real") and value is not None:
        return words.path(value)
    if isinstance(value, Output):
        argv = tuple(words.path(word) for word in value.argv)
        return Output(argv, value.returncode, printed(words, value.stdout), printed(words, value.stderr))
    if question == "environment" and value is not None:
        return {name: variable(words, name, text) for name, text in value.items()}
    if question == "nvml" and value is not None:
        return answers(words, "", value)
    return value


def _words(recorder: Recorder, names: Iterable[str], tokens: Tokens) -> Words:
    """``names`` and all that position tells to be private."""
    found: dict[str, str] = {}
    for name in names:
        found.update({part.lower(): tokens.host(part) for part in (name, name.partition(".")[0])})
        short = name.partition(".")[0]
        # As device mapper and systemd write it inside of other names.
        found.update({short.lower().replace("-", dash): tokens.host(short) for dash in ("--", r"\x2d", r"\x2d\x2d")})
    kernel: set[str] = set()
    for (question, _), answer in recorder.answers.items():
        if answer.place.startswith(("/sys/", "/proc/")) and not answer.place.startswith(CGROUPS):
            kernel.update(word.lower() for word in _WORD.findall(answer.place))
        if question == "data" and answer.value and (TABLES.fullmatch(answer.place) or UNITS.fullmatch(answer.place)):
            found.update(names_of(tokens, _text(answer.value)))
    return Words.of(tokens, found, kernel)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _coded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
