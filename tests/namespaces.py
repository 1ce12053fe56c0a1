"""Code in a child with mounts and a network of its own, for tests that the machine must not notice."""

import ctypes
import os
import traceback
from collections.abc import Callable

import pytest

NEW_MOUNTS, NEW_NETWORK = 0x00020000, 0x40000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_CANNOT = 77
_LIBC = ctypes.CDLL(None, use_errno=True)


class CannotMount(Exception):
    """The kernel, or who started us, does not allow it."""


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)"""
    words = [None if one is None else os.fsencode(one) for one in (source, target, kind)]
    if _LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(options)) != 0:
        raise CannotMount(os.strerror(ctypes.get_errno()))


def mount_tmpfs(target: str, options: str) -> None:
    """An empty file system in memory."""
    mount("tmpfs", target, "tmpfs", 0, options)


def bind(source: str, target: str) -> None:
    """Shows one folder in the place of another."""
    mount(source, target, None, _MS_BIND)


def make_read_only(path: str) -> None:
    """A file or folder that cannot be written to, nor be moved away."""
    mount(path, path, None, _MS_BIND)
    mount(path, path, None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY)


def apart(what: int, act: Callable[[], None]) -> None:
    """Runs ``act`` in a child with namespaces of its own; skips the test where there are none."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if _LIBC.unshare(what) != 0:
                raise CannotMount(os.strerror(ctypes.get_errno()))
            if what & NEW_MOUNTS:
                mount("none", "/", None, _MS_REC | _MS_PRIVATE)
            act()
            status = 0
        except CannotMount:
            status = _CANNOT
        except BaseException:  # noqa: BLE001 - told by the status
            traceback.print_exc()
        finally:
            os._exit(status)
    _, code = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(code) == _CANNOT:
        pytest.skip("a namespace of its own cannot be mounted here")
    assert os.waitstatus_to_exitcode(code) == 0, "the child raised an error, see its output"
