"""What this process's mount table means for reading: what is hidden from it, and what may hang."""

import os
import re
from dataclasses import dataclass

NETWORK = {
    "9p", "afs", "autofs", "beegfs", "ceph", "cifs", "gfs2", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "ocfs2",
    "orangefs", "panfs", "pvfs2", "smb3", "wekafs",
}  # fmt: skip
"""File systems that wait for somebody else's machine, and autofs, which mounts them; every FUSE may too."""
_LOCAL = ("/proc/", "/sys/", "/etc/", "/dev/", "/run/", "/usr/", "/boot/", "/lib/")
"""Where the machine's own files lie; a network file system below these hangs every program, not only us."""
_COVERS = {"tmpfs", "devtmpfs"}
_CGROUP_TMPFS = "/sys/fs/cgroup"
"""A tmpfs that belongs there: cgroup v1 mounts its controllers in it."""
_OCTAL = re.compile(r"\\([0-7]{3})")
_LINKS_LIMIT = 40


@dataclass(frozen=True)
class View:
    """Folders and files that are covered, and mount points whose servers may be dead."""

    hidden: tuple[str, ...] = ()
    far: tuple[str, ...] = ()

    def hides(self, path: str | bytes) -> bool:
        """Whether the machine may have something at ``path`` that this process is kept from seeing."""
        return bool(self.hidden) and _within(os.fsdecode(os.path.realpath(path)), self.hidden)

    def is_far(self, path: str) -> bool:
        """Whether looking at ``path`` may wait for a server; found out without touching it."""
        return bool(self.far) and not path.startswith(_LOCAL) and self._leads_far(path)

    def _leads_far(self, path: str) -> bool:
        at = ""
        links = 0
        todo = path.split("/")[::-1]
        while todo:
            name = todo.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = at.rpartition("/")[0]
                continue
            here = f"{at}/{name}"
            if _within(here, self.far):
                return True
            try:
                target = os.readlink(here)
            except OSError:
                at = here
                continue
            links += 1
            if links > _LINKS_LIMIT:
                return False
            at = "" if target.startswith("/") else at
            todo.extend(target.split("/")[::-1])
        return False


def read_view(root: str = "") -> View:
    """The view of this process; ``root``: where its /proc and /sys are."""
    try:
        with open(f"{root}/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:
            return parse_view(lines.read())
    except OSError:
        # Without a table only its content tells whether /sys is one: every sysfs has this folder.
        return View(hidden=("/proc",) if os.path.isdir(f"{root}/sys/kernel") else ("/proc", "/sys"))


def parse_view(mountinfo: str) -> View:
    """The view that a mount table gives::

    24 30 0:22 / /sys rw,nosuid - sysfs sysfs rw
    87 24 0:51 / /sys/firmware ro - tmpfs tmpfs ro
    90 30 0:60 / /data rw shared:1 - nfs4 server:/data rw,hard
    """
    mounts: dict[str, str] = {}
    for line in mountinfo.split("\n"):
        left, separator, right = line.partition(" - ")
        words = left.split(" ")
        if separator and len(words) > 4:
            mounts[_OCTAL.sub(lambda found: chr(int(found[1], 8)), words[4])] = right.split(" ", 1)[0]
    hidden = [top for top, own in (("/proc", "proc"), ("/sys", "sysfs")) if mounts.get(top) != own]
    hidden += [path for path, kind in mounts.items() if kind in _COVERS and _is_cover(path)]
    far = [path for path, kind in mounts.items() if kind in NETWORK or kind.partition(".")[0] == "fuse"]
    return View(tuple(sorted(hidden)), tuple(sorted(path for path in far if path != "/")))


def _is_cover(path: str) -> bool:
    return path.startswith(("/proc/", "/sys/")) and not _within(path, (_CGROUP_TMPFS,))


def _within(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
