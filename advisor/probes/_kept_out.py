"""Lines that keep a kernel module from being loaded: ``blacklist`` and ``install`` of modprobe.d, and the kernel's own.

systemd-modules-load leaves out what ``blacklist`` names, and runs the command of ``install`` in place of loading.
Formats: modprobe.d(5), https://docs.kernel.org/admin-guide/kernel-parameters.html (module_blacklist)
"""

from collections.abc import Iterable
from typing import Annotated, ClassVar

from advisor.model.facts import Facts, Seen
from advisor.probes._cmdline import CMDLINE, split_words
from advisor.probes._dropins import Line

_WORDS = ("modprobe.blacklist", "module_blacklist")
_NOTHING = ("true", "false", ":", "null")
"""Commands that do nothing, by the end of their path; others may load the module after all."""


class KeptOut(Facts):
    """One line that keeps a module out."""

    seen: ClassVar[Seen | None] = "own"
    read_from: ClassVar[str] = (
        "/etc/modprobe.d/*.conf, /run/modprobe.d/*.conf, /usr/lib/modprobe.d/*.conf, /proc/cmdline"
    )
    module: Annotated[str, "with underscores"]
    by: Annotated[str, "blacklist: not loaded at boot; install: a command that loads nothing; module_blacklist: never"]
    path: str = ""
    line: int | None = None

    def place(self) -> str:
        """Path and line, as in ``/etc/modprobe.d/site.conf:4``."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


def of_lines(lines: Iterable[Line]) -> tuple[KeptOut, ...]:
    """What lines of modprobe.d keep out. Samples: ``blacklist nouveau``, ``install nvidia_peermem /bin/false``"""
    return tuple(found for line in lines if (found := _of_line(line)) is not None)


def _of_line(line: Line) -> KeptOut | None:
    words = split_words(line.text)
    if len(words) < 2 or words[0] not in ("blacklist", "install"):
        return None
    if words[0] == "install" and (len(words) < 3 or words[2].rpartition("/")[2] not in _NOTHING):
        return None
    return _kept_out(words[1], words[0], line.path, line.number)


def of_words(words: Iterable[str]) -> tuple[KeptOut, ...]:
    """What words of the kernel command line keep out. Sample: ``modprobe.blacklist=nouveau,nvidiafb``"""
    told = [word.partition("=") for word in words]
    return tuple(
        _kept_out(module, "module_blacklist" if name == "module_blacklist" else "blacklist", CMDLINE, None)
        for name, _, modules in told
        if name in _WORDS
        for module in modules.split(",")
        if module
    )


def _kept_out(module: str, by: str, path: str, line: int | None) -> KeptOut:
    return KeptOut(origin=path, module=module.replace("-", "_"), by=by, path=path, line=line)
