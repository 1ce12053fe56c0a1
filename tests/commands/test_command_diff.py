"""`advisor diff`, whole."""

import json
from pathlib import Path

import pytest

from advisor.cli import run
from tests.trees import write_capture


@pytest.fixture
def hosts(tmp_path: Path) -> tuple[str, str]:
    for name, value in (("a", "60"), ("b", "10")):
        write_capture(tmp_path / name, {"/proc/sys/vm/swappiness": f"{value}\n", "/proc/sys/vm/dirty_ratio": "20\n"})
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_captures_folders_and_facts_are_compared(
    hosts: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["probe", "--root", hosts[0], "--out", str(tmp_path / "out"), "--quiet"]) == 0
    for first in (hosts[0], str(tmp_path / "out"), str(tmp_path / "out/facts.json")):
        assert run(["diff", first, hosts[1]]) == 0
        assert capsys.readouterr().out == "sysctl.vm_swappiness: 60 -> 10\n"
        assert run(["diff", first, hosts[1], "--fail-on-drift", "--quiet"]) == 1
        assert run(["diff", first, hosts[0], "--fail-on-drift"]) == 0
        assert capsys.readouterr().out == "no difference\n"


def test_json_has_both_values(hosts: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", *hosts, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema_version"] == 1
    assert told["differences"] == [{"fact": "sysctl.vm_swappiness", "kind": "changed", "a": 60, "b": 10}]


def test_what_is_no_host_is_one_sentence(hosts: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", hosts[0], "/nowhere"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
