"""--sample, whole: counters are read twice, on a live host and in a capture, and rules tell what grew."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.cli import run
from advisor.errors import SourceError
from advisor.host.captured import open_root
from tests.trees import write_capture, write_tree

SOFTNET = "/proc/net/softnet_stat"
VMSTAT = "/proc/vmstat"
RULE = """\
title: Packets are dropped
severity: critical
basis: kernel-doc
fails: growth(softnet.dropped) > 10
says: "{growth(softnet.dropped)} packets dropped, {rate(softnet.dropped)} a second"
why: They are sent again.
fix: Raise net.core.netdev_max_backlog.
sources: [https://docs.kernel.org/networking/]
examples:
  - {name: grows, facts: {softnet: {dropped: 500}}, growth: {softnet.dropped: 20}, expect: fails}
  - {name: old, facts: {softnet: {dropped: 500}}, growth: {softnet.dropped: 0}, expect: holds}
  - {name: read once, facts: {softnet: {dropped: 500}}, expect: unknown}
"""


def row(processed: int, dropped: int, cpu: int) -> str:
    return " ".join(f"{number:08x}" for number in (processed, dropped, 0, *[0] * 9, cpu, 0, 0)) + "\n"


def twice(folder: Path, seconds: Any = 5) -> Path:
    """A capture with two readings: CPU 0 passes the end of a counter, memory is swapped, the rows change places."""
    write_capture(folder, {SOFTNET: row(2**32 - 1, 100, 0) + row(7, 0, 1), VMSTAT: "pswpin 5\noom_kill 2\n"})
    write_capture(folder / "sample", {SOFTNET: row(9, 2, 1) + row(4, 130, 0), VMSTAT: "pswpin 9\noom_kill 1\n"})
    mark = folder / "sample" / "advisor-capture.json"
    mark.write_text(json.dumps({"version": 1, "root_user": False, "seconds": seconds}))
    return folder


def probed(capsys: pytest.CaptureFixture[str], out: Path, *arguments: str) -> Any:
    capsys.readouterr()
    assert run(["probe", "--format", "json", "--out", str(out), *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_capture_with_two_readings_tells_what_grew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = probed(capsys, tmp_path / "out", "--root", str(twice(tmp_path / "node")))["sample"]
    assert told["growth"]["softnet.cpus[0].processed"] == 5
    assert told["growth"]["softnet.processed"] == 7
    assert told["growth"]["softnet.dropped"] == 32
    assert told["unknown"]["memory.swapped_in_pages"] == "started again"  # a count of kills went down: another boot
    assert told["seconds"]["softnet"] == 5
    assert "sample" not in (tmp_path / "out" / "facts.json").read_text()


def test_rules_see_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules" / "net").mkdir(parents=True)
    (tmp_path / "rules" / "net" / "own-drops.yaml").write_text(RULE)
    arguments = ["check", "--rules", str(tmp_path / "rules")]
    assert run([*arguments, "--root", str(twice(tmp_path / "node"))]) == 1
    assert "32 packets dropped, 6.4 a second" in capsys.readouterr().out
    once = write_tree(tmp_path / "once", {SOFTNET: row(5, 100, 0)})
    assert once.names("/proc") is not None
    assert run([*arguments, "--root", str(tmp_path / "once"), "--sample", "1s", "--format", "json"]) == 0
    printed = capsys.readouterr()
    (finding,) = [one for one in json.loads(printed.out)["findings"] if one["rule"] == "net/own-drops"]
    assert finding["settle"] == ["capture it with --sample 5s: one reading does not tell what grows"]
    assert printed.err.startswith("advisor: --sample tells nothing here")


def test_this_host_is_read_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = probed(capsys, tmp_path, "--sample", "0.05s")["sample"]
    assert told["growth"]["softnet.processed"] >= 0
    assert all(seconds >= 0.05 for seconds in told["seconds"].values())
    assert "platform" not in told["seconds"]  # holds no counters


def test_a_capture_of_this_host_keeps_both_readings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("folder", "node.tar.gz"):
        dest = tmp_path / name
        assert run(["capture", str(dest), "--quiet", "--sample", "0.05s"]) == 0
        told = probed(capsys, tmp_path / "out", "--root", str(dest))["sample"]
        assert told["growth"]["softnet.processed"] >= 0
        again = tmp_path / f"again-{name}"
        assert run(["capture", str(again), "--quiet", "--root", str(dest)]) == 0
        assert probed(capsys, tmp_path / "out", "--root", str(again))["sample"] == told


def test_a_capture_of_a_capture_keeps_times_by_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice(tmp_path / "node", {"softnet": 2.5})
    assert run(["capture", str(tmp_path / "copy"), "--quiet", "--root", str(tmp_path / "node")]) == 0
    told = probed(capsys, tmp_path / "out", "--root", str(tmp_path / "copy"))["sample"]
    assert told["seconds"] == {"softnet": 2.5}


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(None, "seconds is missing"), (0, "seconds"), (-1, "seconds"), ("soon", "seconds"), ({"softnet": 0}, "seconds")],
    ids=["none", "no time", "before", "text", "no time for one"],
)
def test_a_second_reading_without_its_time_is_refused(tmp_path: Path, seconds: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        open_root(str(twice(tmp_path, seconds)))


def test_a_second_reading_that_is_a_link_is_none(tmp_path: Path) -> None:
    write_capture(tmp_path, {SOFTNET: row(1, 1, 1)})
    (tmp_path / "sample").symlink_to(".")
    assert open_root(str(tmp_path)).again() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--facts", "{out}/facts.json", "--sample", "5s"], "--facts and --sample exclude each other"),
        (["probe", "--sample", "soon"], "is not a length of time"),
        (["capture", "{out}/x", "--sample", "0s"], "is not a length of time"),
        (["tune", "--sample", "-1s"], "is not a length of time"),
    ],
    ids=["facts", "text", "no time", "before"],
)
def test_what_makes_no_sense_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run([argument.format(out=tmp_path) for argument in arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_summary_says_how_many_grew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "--root", str(twice(tmp_path / "node")), "--out", str(tmp_path / "out")]) == 0
    assert "Counters   read twice, 5 s apart: 6 of 16 grew, 2 cannot be compared\n" in capsys.readouterr().out
