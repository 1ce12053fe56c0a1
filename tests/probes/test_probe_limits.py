"""Resource limits, asked for or read, and the capability that lifts one."""

from pathlib import Path

import pytest

from advisor.host.base import Limit
from advisor.probes.limits import parse_capability, parse_limit, read
from tests.trees import write_capture, write_tree

TEXT = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max locked memory         8388608              unlimited            bytes
"""


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("nofile", Limit(1024, 524288)),
        ("memlock", Limit(8388608, None)),
        ("stack", Limit(8388608, None)),
        ("nproc", Limit(96365, 96365)),
    ],
)
def test_a_limit_is_read(name: str, limit: Limit) -> None:
    assert parse_limit(TEXT, name) == limit


def test_a_line_that_is_missing_or_cut_is_no_limit() -> None:
    assert parse_limit("Max open files            1024", "nofile") is None
    assert parse_limit(TEXT.replace("1024", "many"), "nofile") is None


def test_a_plain_tree_tells_by_its_files(tmp_path: Path) -> None:
    files = {"/proc/self/limits": TEXT, "/proc/self/status": "Name:\tcat\nCapEff:\t0000000000004000\n"}
    limits = read(write_tree(tmp_path, files))
    assert (limits.nofile_soft, limits.nofile_hard, limits.nofile_unlimited) == (1024, 524288, False)
    assert (limits.memlock_hard_unlimited, limits.memlock_hard_bytes) == (True, None)
    assert limits.may_lock_memory is True


def test_answers_of_the_system_come_first(tmp_path: Path) -> None:
    limits = read(write_capture(tmp_path, {}, limits={"nofile": [4096, None], "memlock": [None, None]}))
    assert (limits.nofile_soft, limits.nofile_hard_unlimited) == (4096, True)
    assert (limits.memlock_unlimited, limits.memlock_soft_bytes) == (True, None)
    assert limits.stack_unlimited is None


def test_what_nobody_tells_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {})
    limits = read(host)
    assert (limits.nofile_unlimited, limits.memlock_unlimited, limits.may_lock_memory) == (None, None, None)
    assert host.gaps == {"/proc/self/limits": "not captured", "/proc/self/status": "not captured"}


def test_a_capability_is_one_bit() -> None:
    assert parse_capability("CapPrm:\t0\nCapEff:\t000001ffffffffff\n", 14) is True
    assert parse_capability("CapEff:\t00000000a80425fb\n", 14) is False
    assert parse_capability("CapPrm:\t000001ffffffffff\n", 14) is None
