"""Trees that are changed, and what they look like, for tests."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from advisor.planning.apply import Kernel, Tree
from advisor.planning.changes import Change
from advisor.planning.generated import GeneratedFile
from advisor.planning.transaction import Site, carry_out, install_change, recover, undo_change
from advisor.targets._installed import load_installed
from tests.outs import LIMITS, MODPROBE, SYSCTL, sysctl_text

TARGETS = load_installed()
UNIT = "/etc/systemd/system/slurmd.service.d/90-advisor.conf"
TEXTS = {
    SYSCTL: sysctl_text(),
    MODPROBE: "options nvme_core multipath=N\n",
    LIMITS: "* soft memlock unlimited\n",
    UNIT: "[Service]\nLimitMEMLOCK=infinity\n",
}


def nobody(_: str) -> None:
    """A listener to steps that does nothing."""


def generated(texts: Mapping[str, str] = TEXTS) -> list[GeneratedFile]:
    """Files as they are read from OUT."""
    names = {SYSCTL: "sysctl", MODPROBE: "modprobe", LIMITS: "limits", UNIT: "unit"}
    return [
        GeneratedFile(path, text, names[path], TARGETS[names[path]].lines(text, path))
        for path, text in sorted(texts.items())
    ]


def looks(root: Path) -> dict[str, tuple[object, ...]]:
    """All that is to be the same again: kind, mode, owner, content and time of files, links, extended attributes."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        about = path.lstat()
        content: object = None
        if stat.S_ISREG(about.st_mode):
            content = (path.read_bytes(), about.st_mtime_ns, about.st_nlink, attributes(path))
        elif stat.S_ISLNK(about.st_mode):
            content = os.readlink(path)
        found[str(path.relative_to(root))] = (about.st_mode, about.st_uid, about.st_gid, content)
    return found


def attributes(path: Path) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except OSError:
        return {}


def machine(root: Path) -> Path:
    """A small root: one of our files is there with other content, some folders are missing, /var is too."""
    for folder in ("etc/sysctl.d", "etc/security/limits.d", "etc/systemd/system"):
        (root / folder).mkdir(parents=True)
    old = root / SYSCTL.lstrip("/")
    old.write_bytes(b"vm.swappiness = 3\n\xff")
    old.chmod(0o640)
    os.utime(old, ns=(1, 1_000_000_000))
    (root / "etc/sysctl.d/99-site.conf").write_text("vm.laptop_mode = 1\n")
    return root


def site(root: Path, step: Callable[[str], None] = nobody, kernel: Kernel | None = None) -> Site:
    return Site(Tree(str(root), step), kernel)


def install(at: Site, texts: Mapping[str, str] = TEXTS, live: bool = False) -> Change:
    """What `advisor apply` does, without a word."""
    from advisor.model.snapshot import Snapshot, Source

    files = generated(texts)
    nothing = Snapshot(Source(kind="tree"), {}, {})
    lines = [one for file in files for one in TARGETS[file.target].live(nothing, file.lines)] if live else []
    recover(at)
    change = install_change(at, files, lines, TARGETS)
    if not change.is_empty:
        carry_out(at, change)
    return change


def undo(at: Site) -> Change:
    """What `advisor rollback` does, without a word."""
    recover(at)
    change = undo_change(at)
    if not change.is_empty:
        carry_out(at, change)
    return change


def killed_at(number: int, act: Callable[[Callable[[str], None]], object]) -> bool:
    """Runs ``act`` in a child that kills itself before its step of this number; whether it came that far."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            steps = iter(range(number))

            def step(_: str) -> None:
                if next(steps, None) is None:
                    os.kill(os.getpid(), 9)

            act(step)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the child raised an error"
    return os.WIFSIGNALED(status)
