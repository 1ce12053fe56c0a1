"""Captured machines of other projects open, whatever they are packed in."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.host.captured import open_root

HOSTS = Path(__file__).resolve().parents[3] / "shared/hosts"


def roots() -> Iterator[str]:
    """The archives that hold the tree of one machine."""
    if not HOSTS.is_dir():
        return
    with open(HOSTS / "INDEX.tsv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["kind"].startswith("fsroot tarball"):
                yield row["path"]


@pytest.mark.shared
@pytest.mark.skipif(not HOSTS.is_dir(), reason="needs the captured machines beside the checkout")
def test_every_captured_tree_opens() -> None:
    opened = 0
    for path in roots():
        host = open_root(str(HOSTS / path))
        assert host.kind == "tree"
        assert host.names("/sys") or host.names("/proc"), path
        assert host.gaps == dict.fromkeys(host.gaps, "not captured"), path
        opened += 1
    assert opened > 80
