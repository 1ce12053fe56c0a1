"""ZFS: the ARC and mounted data sets."""

from pathlib import Path

import pytest

from advisor.model.facts import evidence_path
from advisor.model.sample import sample_of
from advisor.probes.zfs import ARCSTATS, GET, GET_DIRECT, MODULE, parse_arcstats, parse_properties, read
from tests.trees import write_capture, write_tree

MOUNTED = "60 20 0:50 / /tank rw - zfs tank/data rw,xattr,noacl\n"
STATS = (
    "13 1 0x01 98 26656 4867137341 12345678901\nname                            type data\n"
    "hits                            4    8772612\nmisses                          4    604635\n"
    "c                               4    1643208777\nc_min                           4    33554432\n"
    "c_max                           4    8367976448\nsize                            4    1603939792\n"
    "memory_throttle_count           4    0\n"
)
FILES = {
    "/proc/self/mountinfo": MOUNTED,
    f"{MODULE}/version": "2.2.4-1\n",
    f"{MODULE}/parameters/zfs_arc_max": "0\n",
    ARCSTATS: STATS,
}
TOLD = (
    "tank/data\trecordsize\t1048576\ntank/data\tcompression\tlz4\ntank/data\tatime\toff\ntank/data\tsync\tdisabled\n"
    "tank/data\tlogbias\tlatency\ntank/data\tprimarycache\tall\ntank/data\txattr\tsa\ntank/other\tsync\tstandard\n"
)


def test_the_arc_and_mounted_data_sets_are_read(tmp_path: Path) -> None:
    direct = "tank/data\tdirect\tstandard\n"
    zfs = read(write_capture(tmp_path, FILES, outputs={GET: TOLD, GET_DIRECT: direct}))
    assert (zfs.loaded, zfs.version, zfs.arc_max_setting_bytes, zfs.arc_max_bytes) == (True, "2.2.4-1", 0, 8367976448)
    assert (zfs.arc_bytes, zfs.arc_hits, zfs.arc_misses, zfs.arc_throttles) == (1603939792, 8772612, 604635, 0)
    assert evidence_path(zfs, "arc_max_bytes") == ARCSTATS
    assert zfs.data_sets is not None
    (data,) = zfs.data_sets
    assert (data.name, data.record_bytes, data.compression, data.access_times) == ("tank/data", 1048576, "lz4", False)
    assert (data.synchronous, data.log_bias, data.direct) == ("disabled", "latency", "standard")
    assert evidence_path(data, "direct").endswith(" direct")


def test_older_versions_do_not_know_direct(tmp_path: Path) -> None:
    host = write_capture(tmp_path, FILES, outputs={GET: TOLD, GET_DIRECT: "bad property list: invalid property\n"})
    (data,) = read(host).data_sets or ()
    assert data.direct is None
    assert host.gaps[evidence_path(data, "direct")] == "unsupported"


def test_without_zfs_nothing_is_asked(tmp_path: Path) -> None:
    host = write_capture(tmp_path, {"/proc/self/mountinfo": ""})
    zfs = read(host)
    assert (zfs.loaded, zfs.data_sets) == (False, ())
    assert not [path for path in host.gaps if path.startswith("command: ")]


def test_in_a_bare_tree_it_is_not_known(tmp_path: Path) -> None:
    host = write_tree(tmp_path, {"/proc/self/mountinfo": ""})
    assert (read(host).loaded, read(host).data_sets) == (None, None)
    assert host.gaps[MODULE] == "not captured"


def test_mounted_data_sets_are_not_known_without_the_program(tmp_path: Path) -> None:
    host = write_tree(tmp_path, FILES)
    zfs = read(host)
    assert zfs.data_sets is None
    assert host.gaps[evidence_path(zfs, "data_sets")] == "not captured"


@pytest.mark.parametrize("text", ["", "x", "a\nb", "a\nb\nhits 4 -1", "a\nb\nhits 4", "a\nb\n\x1b 4 \xff"])
def test_what_is_no_kstat_tells_nothing(text: str, tmp_path: Path) -> None:
    assert parse_arcstats(text) == {}
    host = write_tree(tmp_path, {**FILES, ARCSTATS: text})
    assert read(host).arc_max_bytes is None
    assert host.gaps[ARCSTATS] == "unsupported"


def test_properties_without_a_value_are_not_told() -> None:
    assert parse_properties("a\tdirect\t-\na b\tsync\talways\nshort\n") == {"a b": {"sync": "always"}}


def test_hits_and_misses_of_the_arc_grow_between_two_readings(tmp_path: Path) -> None:
    files = (FILES, FILES | {ARCSTATS: STATS.replace("8772612", "8772712").replace("604635", "604640")})
    first, second = (read(write_capture(tmp_path / str(n), one)) for n, one in enumerate(files))
    grown = sample_of({"zfs": first}, {"zfs": second}, {"zfs": 5.0}).growth
    assert grown == {"zfs.arc_hits": 100, "zfs.arc_misses": 5, "zfs.arc_throttles": 0}
