"""A node set up as articles advise: each void or harmful line is found, nothing else is, and none is generated."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.cli import run

CASE = Path(__file__).parent.parent / "hosts" / "advice-from-articles"
JOB = ("--ranks", "8", "--workers", "32", "--checkpoints", "/mnt/ckpt")
DATA = ("/datasets/imagenet", "/tank/imagenet", "/dev/shm/imagenet")
"""On NFS, on ZFS, in memory: what is said of a file system depends on whether the job reads from it."""
ADVICE = re.compile(
    r"""
    \b log_max_ | nobarrier | barrier=0 | \b noac \b | actimeo=1 \b | (?:nfs)?vers=4(?:\.0)? (?![.\d]) | \b soft [,\s]
    | NCCL_ (?: ALGO | PROTO | IB_DISABLE | IB_GID_INDEX | SOCKET_TIMEOUT | MIN_NCHANNELS | TREE_THRESHOLD
              | TRACE_FILE | DEBUG_SUBSYS=ALL | RING ) \b
    | \b (?: 134217728 | [rw]mem_(?:max|default) | tcp_[rw]mem | tcp_congestion_control | zone_reclaim_mode
           | min_free_kbytes | drop_caches | mitigations | isolcpus | swapoff ) \b
    | --membind | \b ffff \b | smp_affinity \b | \b a?wb \b | wrcache | compression=off | /mnt/ckpt | ip \s route
    | num_workers \W+ 32 \b | _use_new_zipfile | empty_cache
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What no generated line may hold, whatever the reason."""


def findings(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, str]]:
    """What fails on the node, as ``check`` tells a program."""
    assert run(["check", "--root", str(CASE), "--format", "json", *JOB, *more]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["defects"] == []
    return [one for one in document["findings"] if one["verdict"] == "fails"]


def expected(data: str) -> set[tuple[str, str, str]]:
    """Rule, subject and weight of every finding that the checked claims call for, with the data set at this place."""
    rows = list(csv.DictReader((CASE / "expected.tsv").read_text().splitlines(), delimiter="\t"))
    assert {len(row) - list(row.values()).count(None) for row in rows} == {5}, "a row of expected.tsv has five columns"
    return {(row["rule"], row["subject"], row["weight"]) for row in rows if row["data"] in ("", data)}


@pytest.mark.parametrize("data", DATA)
def test_exactly_the_findings_that_the_checked_claims_call_for(capsys: pytest.CaptureFixture[str], data: str) -> None:
    found = {
        (one["rule"], one["subject"], "disputed" if one["disputed"] else one["severity"])
        for one in findings(capsys, "--data", data)
    }
    assert found == expected(data)


def test_what_a_capture_cannot_decide_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether an index of GIDs is out of date depends on NCCL's version, which lies in the training environment."""
    run(["check", "--root", str(CASE), "--format", "json", *JOB])
    found = {one["rule"]: one for one in json.loads(capsys.readouterr().out)["findings"] if one["verdict"] == "unknown"}
    assert "python.nccl_version" in found["nccl/gid-index-frozen"]["message"]


def configuration(out: Path) -> Iterator[str]:
    """Every line that would take effect; of a diff the words that it adds."""
    for path in sorted(out.rglob("*")):
        if path.is_file() and path.relative_to(out).parts[0] in ("host", "job", "suggested"):
            lines = [line.strip() for line in path.read_text().splitlines()]
            if path.suffix == ".diff":
                lines = sorted(_words(lines, "+") - _words(lines, "-"))
            yield from (line for line in lines if not line.startswith("#"))


def _words(lines: list[str], sign: str) -> set[str]:
    """What stands in the lines that a diff takes out (-) or puts in (+)."""
    return {word for line in lines if line.startswith(sign) for word in re.split(r"[ ,]+", line[1:])}


@pytest.mark.parametrize("more", [(), ("--bound", "--data", DATA[0])], ids=["as it is", "with ranks bound"])
def test_none_of_the_advice_is_generated(tmp_path: Path, more: tuple[str, ...]) -> None:
    assert run(["render", "--quiet", "--root", str(CASE), "--out", str(tmp_path), *JOB, *more]) == 0
    lines = list(configuration(tmp_path))
    assert [line for line in lines if ADVICE.search(line)] == []
    assert any("kernel.numa_balancing" in line for line in lines) == (
        "--bound" in more
    )  # so that lines are seen at all


def test_what_a_diff_can_undo_is_suggested(tmp_path: Path) -> None:
    assert run(["render", "--quiet", "--root", str(CASE), "--out", str(tmp_path), *JOB]) == 0
    lines = (tmp_path / "suggested" / "fstab.diff").read_text().splitlines()
    assert len([line for line in lines if line.startswith("-/dev/") and "nobarrier" in line]) == 2
    assert not any(line.startswith("+") and "nobarrier" in line for line in lines)


def test_the_advice_itself_would_be_noticed() -> None:
    """The pattern meets every line of the files in which the advice stands."""
    files = ("etc/nccl.conf", "etc/modprobe.d/mlx5_core.conf", "etc/sysctl.conf")
    lines = [line for name in files for line in (CASE / "fs" / name).read_text().splitlines() if line[0] != "#"]
    harmless = {"NCCL_DEBUG=INFO"}
    assert {line for line in lines if not ADVICE.search(line)} == harmless
    assert len([line for line in (CASE / "fs/etc/fstab").read_text().splitlines() if ADVICE.search(line)]) == 4
