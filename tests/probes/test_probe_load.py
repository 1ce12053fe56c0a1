"""Times of the CPUs and load averages, from the kernel's columns."""

from pathlib import Path

import pytest

from advisor.host.tree import Tree
from advisor.model.facts import evidence_path
from advisor.probes.load import LOADAVG, ORIGIN, parse_times, read
from tests.trees import write_tree


def test_stolen_time_is_the_eighth_column(tmp_path: Path) -> None:
    files = {ORIGIN: "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2\n", LOADAVG: "0.69 12.53 0.30 2/187 4711\n"}
    load = read(write_tree(tmp_path, files))
    assert (load.user_ticks, load.idle_ticks, load.softirq_ticks, load.steal_ticks, load.guest_nice_ticks) == (
        *(10, 40, 70, 80, 100),
    )
    assert (load.load_1_minute, load.load_5_minutes, load.runnable_tasks, load.tasks) == (0.69, 12.53, 2, 187)
    assert evidence_path(load, "tasks") == LOADAVG


def test_an_old_kernel_has_fewer_columns_and_a_new_one_may_have_more() -> None:
    assert parse_times("cpu  1 2 3 4 5 6 7\n") == {
        **{"user": 1, "nice": 2, "system": 3, "idle": 4},
        **{"iowait": 5, "irq": 6, "softirq": 7},
    }
    assert len(parse_times("cpu " + " 1" * 12)) == 10


@pytest.mark.parametrize("text", ["", "cpu0 1 2 3 4\n", "cpu  1 2 3 -4 5\n", "cpu  1 2 3\n", "cpu\x00", "\x1b[2J"])
def test_nonsense_is_not_known(text: str, tmp_path: Path) -> None:
    host = write_tree(tmp_path, {ORIGIN: text, LOADAVG: text})
    load = read(host)
    assert (load.user_ticks, load.steal_ticks, load.load_1_minute) == (None, None, None)
    assert (host.gaps[ORIGIN], host.gaps[LOADAVG]) == ("unsupported", "unsupported")


def test_nothing_captured_is_nothing_known(tmp_path: Path) -> None:
    host = Tree.in_folder(tmp_path)
    assert read(host).steal_ticks is None
    assert host.gaps[ORIGIN] == "not captured"
