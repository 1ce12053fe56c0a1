"""Caches, huge pages and counters of captured machines agree with what lscpu printed and with their own files."""

import re
from pathlib import Path

import pytest

from advisor.host.captured import open_root
from advisor.probes import cpu, edac, load, memory, numa, pressure

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout"),
]
LSCPU = sorted((HOSTS / "util-linux/lscpu").glob("lscpu-*")) if HOSTS.is_dir() else []
_CACHE = re.compile(r"^L(\d)(\w?) cache: +([\d.]+) ([KM])iB \((\d+) instances?\)$", re.MULTILINE)


@pytest.mark.parametrize("expected", LSCPU, ids=lambda path: path.name)
def test_caches_of_the_last_level_are_those_that_lscpu_counted(expected: Path) -> None:
    name = expected.name.removeprefix("lscpu-")
    told = cpu.read(open_root(str(expected.with_name(f"{name}.tar.gz"))))
    found = _CACHE.findall(expected.read_text())
    known = told.last_level_caches or ()
    if not found or not known or any(one.size_bytes is None for one in known):
        # lscpu says nothing, or adds up what it cannot know (s390 from /proc/cpuinfo).
        return
    level, _, size, unit, instances = max(found)
    total = float(size) * {"K": 1 << 10, "M": 1 << 20}[unit]
    assert (known[0].level, len(known)) == (int(level), int(instances))
    assert sum(one.size_bytes or 0 for one in known) == pytest.approx(total, rel=0.01)


@pytest.mark.parametrize(
    ("archive", "states", "throttles"),
    [
        ("nri-plugins/cpuallocator.sysfs.tar.bz2", ["POLL", "C1", "C1E", "C6"], (0, 0)),
        ("hwloc/linux/40intel64-4n10c+pci-conflicts.tar.bz2", ["C0", "NHM-C1", "NHM-C3", "NHM-C6"], (237, None)),
    ],
    ids=["kernel 5", "kernel 2.6"],
)
def test_idle_states_and_throttling_of_servers(
    archive: str, states: list[str], throttles: tuple[int, int | None]
) -> None:
    told = cpu.read(open_root(str(HOSTS / archive)))
    assert [state.name for state in told.idle_states or ()] == states
    assert told.throttles is not None
    assert (told.throttles.cores, told.throttles.packages) == throttles


def test_machines_that_kept_no_counters_tell_none() -> None:
    host = open_root(str(HOSTS / "derived/udev__NVIDIA_DGXA100.tar.xz"))
    assert (edac.read(host).corrected, load.read(host).steal_ticks, pressure.read(host).host) == (None, None, None)
    assert memory.read(host).hugepage_pools is None
    assert [tier.nodes for tier in numa.read(host).memory_tiers or ()] == [None]
