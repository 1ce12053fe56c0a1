"""A full disk, a read-only or immutable file, a folder that takes nothing: nothing is half done."""

import array
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor.errors import ApplyError
from tests.namespaces import NEW_MOUNTS, apart, make_read_only, mount_tmpfs
from tests.outs import LIMITS, SYSCTL
from tests.planning.sites import UNIT, install, looks, machine, site, undo

_PAGE = 4096
_GET_FLAGS, _SET_FLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


def outcome(root: Path) -> tuple[bool, bool]:
    """Whether installing worked, and undoing it at once; what failed left no trace, and in the end none is left."""
    before = looks(root)
    if failed := failure(lambda: install(site(root))):
        assert "what was done was turned back" in failed
        assert looks(root) == before, failed
        return False, False
    installed = looks(root)
    if failed := failure(lambda: undo(site(root))):
        assert looks(root) == installed, failed
        return True, False
    assert looks(root) == before
    return True, True


def failure(act: Callable[[], object]) -> str:
    """What went wrong; nothing when nothing did."""
    try:
        act()
    except ApplyError as error:
        return str(error)
    return ""


def fill(folder: Path, spare_bytes: int) -> None:
    """Leaves so much room on the disk."""
    with (folder / "filler").open("wb", buffering=0) as stream:
        size = 0
        try:
            while written := stream.write(b"x" * _PAGE):
                size += written
        except OSError:
            stream.truncate(max(size - spare_bytes, 0))


def test_a_disk_that_is_full_at_any_moment(tmp_path: Path) -> None:
    def act() -> None:
        found = set()
        for spare in range(16):
            disk = tmp_path / f"disk{spare}"
            disk.mkdir()
            mount_tmpfs(str(disk), "size=256k")
            root = machine(disk / "root")
            before = looks(root)
            fill(disk, spare * _PAGE)
            found.add(outcome(root))
            (disk / "filler").unlink()
            undo(site(root))
            assert looks(root) == before
        assert found == {(False, False), (True, False), (True, True)}

    apart(NEW_MOUNTS, act)


def test_a_disk_without_room_for_more_names(tmp_path: Path) -> None:
    def act() -> None:
        found = set()
        for inodes in range(12, 48):
            disk = tmp_path / f"disk{inodes}"
            disk.mkdir()
            mount_tmpfs(str(disk), f"size=1m,nr_inodes={inodes}")
            found.add(outcome(machine(disk / "root")))
        assert found == {(False, False), (True, False), (True, True)}

    apart(NEW_MOUNTS, act)


@pytest.mark.parametrize(
    "path", [SYSCTL, "/etc/sysctl.d", "/etc/security/limits.d", "/etc/systemd/system", "/etc", "/"]
)
def test_what_is_read_only_stops_installing(tmp_path: Path, path: str) -> None:
    def act() -> None:
        root = machine(tmp_path / "root")
        make_read_only(str(root) + path)
        assert outcome(root) == (False, False)

    apart(NEW_MOUNTS, act)


@pytest.mark.parametrize("path", [SYSCTL, LIMITS, UNIT, "/etc/sysctl.d", "/var/lib/advisor", "/etc"])
def test_what_became_read_only_stops_undoing(tmp_path: Path, path: str) -> None:
    def act() -> None:
        root = machine(tmp_path / "root")
        install(site(root))
        before = looks(root)
        make_read_only(str(root) + path)
        with pytest.raises(ApplyError):
            undo(site(root))
        assert looks(root) == before

    apart(NEW_MOUNTS, act)


@contextmanager
def immutable(path: Path) -> Iterator[None]:
    """chattr +i"""
    descriptor = os.open(path, os.O_RDONLY)
    flags = array.array("l", [0])
    try:
        try:
            fcntl.ioctl(descriptor, _GET_FLAGS, flags)
            fcntl.ioctl(descriptor, _SET_FLAGS, array.array("l", [flags[0] | _IMMUTABLE]))
        except OSError:
            pytest.skip("immutable files need root and a file system that has them, which stands in for nothing here")
        yield
        fcntl.ioctl(descriptor, _SET_FLAGS, flags)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("path", [SYSCTL, "/etc/sysctl.d", "/etc/systemd/system"])
def test_what_is_immutable_stops_installing(tmp_path: Path, path: str) -> None:
    root = machine(tmp_path / "root")
    with immutable(root / path.lstrip("/")):
        assert outcome(root) == (False, False)
    assert outcome(root) == (True, True)


@pytest.mark.parametrize("path", [SYSCTL, LIMITS])
def test_what_became_immutable_stops_undoing(tmp_path: Path, path: str) -> None:
    root = machine(tmp_path / "root")
    before = looks(root)
    install(site(root))
    installed = looks(root)
    with immutable(root / path.lstrip("/")):
        with pytest.raises(ApplyError, match="Operation not permitted"):
            undo(site(root))
        assert looks(root) == installed
    undo(site(root))
    assert looks(root) == before
