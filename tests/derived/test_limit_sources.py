"""Whose limits come from which line: sessions, root's sessions, and services that start jobs."""

from pathlib import Path

import pytest

from advisor.commands._snapshot import probe_host
from advisor.derived.limit_sources import LimitSources, parse_limit_value
from tests.trees import write_capture

UNIT = "/usr/lib/systemd/system"
BASE = {
    "/etc/security/limits.conf": "* - memlock unlimited\nroot soft nofile 4096\n@hpc - nofile 9\n",
    f"{UNIT}/slurmd.service": "[Service]\nLimitMEMLOCK=infinity\n",
    f"{UNIT}/docker.service": "[Service]\nLimitNOFILE=1024:524288\n",
    f"{UNIT}/tuned.service": "[Service]\nLimitNOFILE=1\n",
    "/etc/systemd/system.conf": "[Manager]\nDefaultLimitMEMLOCK=8M\n",
}


def told(tmp_path: Path, files: dict[str, str]) -> list[tuple[str, str, str, int | None, str, int | None]]:
    sources = probe_host(write_capture(tmp_path, files))[0].get(LimitSources)
    assert sources is not None
    return [(one.whose, one.item, one.half, one.number, one.path, one.line) for one in sources.limits or ()]


def test_services_take_their_units_limits_then_the_managers_and_never_limits_conf(tmp_path: Path) -> None:
    found = told(tmp_path, BASE)
    assert [one for one in found if one[0] == "slurmd"] == [
        ("slurmd", "memlock", half, None, f"{UNIT}/slurmd.service", 2) for half in ("soft", "hard")
    ]
    assert [one for one in found if one[0] == "docker"] == [
        *(("docker", "memlock", half, 8 << 20, "/etc/systemd/system.conf", 2) for half in ("soft", "hard")),
        ("docker", "nofile", "soft", 1024, f"{UNIT}/docker.service", 2),
        ("docker", "nofile", "hard", 524288, f"{UNIT}/docker.service", 2),
    ]
    assert not [one for one in found if one[0] == "tuned"]


@pytest.mark.parametrize(
    ("system", "items"),
    [("ID=rocky", {"memlock", "nofile"}), ("ID=pop\nID_LIKE=ubuntu", {"nofile"}), ("", {"nofile"})],
    ids=["with root in *", "with root apart", "not known"],
)
def test_root_gets_its_own_lines_and_those_for_all_where_it_counts_as_one(
    system: str, items: set[str], tmp_path: Path
) -> None:
    found = told(tmp_path, {**BASE, "/etc/os-release": system})
    assert {one[1] for one in found if one[0] == "sessions of root"} == items
    assert [one[1:3] for one in found if one[0] == "sessions"] == [("memlock", "soft"), ("memlock", "hard")]


@pytest.mark.parametrize(
    ("text", "is_size", "halves"),
    [
        ("infinity", True, (None, None)),
        ("64M", True, (64 << 20, 64 << 20)),
        ("1K:infinity", True, (1024, None)),
        ("1024:524288", False, (1024, 524288)),
        ("64M", False, None),
        ("a:b", True, None),
        ("1:2:3", True, None),
        ("", True, None),
        ("9" * 30, True, None),
    ],
)
def test_values_of_units_are_read(text: str, is_size: bool, halves: tuple[int | None, int | None] | None) -> None:
    assert parse_limit_value(text, is_size) == halves
