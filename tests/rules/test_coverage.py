"""The pages of coverage and the shipped rules know each other: no name without a rule, no rule without a line."""

import re
from pathlib import Path

import pytest

from advisor.commands._rules import loaded

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs/coverage").glob("*.md"))
OWN = {"network": {"network", "rdma", "nccl"}, "storage": {"storage"}}
"""Areas whose rules a page lists all; any other page goes with the rest, once it is there."""
RULES = {rule.id for rule in loaded()}
AREAS = {rule.partition("/")[0] for rule in RULES}
_NAMED = re.compile(r"`([a-z0-9]+/[a-z0-9-]+)`")
_ROW = re.compile(r"\|\s*([A-Z][A-Z0-9]*-[0-9]+[a-z]?)\s*\|.*\|")


def named(page: Path) -> set[str]:
    """The rules that a page names: what is written as code and starts with an area's name."""
    found = _NAMED.findall(page.read_text("utf-8"))
    return {name for name in found if name.partition("/")[0] in AREAS}


def test_there_are_pages() -> None:
    assert "network" in {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_rule_that_a_page_names_is_there(page: Path) -> None:
    assert named(page) - RULES == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_item_stands_once_and_says_something(page: Path) -> None:
    rows = [row for line in page.read_text("utf-8").split("\n") if (row := _ROW.fullmatch(line))]
    items = [row[1] for row in rows]
    assert len(items) == len(set(items))
    for row in rows:
        answer = row[0].rstrip("| ").rpartition("|")[2].strip()
        assert answer.startswith("none: ") or _NAMED.search(answer) or len(answer.split()) > 3, row[0]


def test_every_shipped_rule_of_an_area_with_a_page_is_named() -> None:
    everywhere = set().union(*map(named, PAGES))
    owned = set().union(*OWN.values())
    listed = set().union(*(OWN.get(page.stem, AREAS - owned) for page in PAGES))
    assert sorted(rule for rule in RULES - everywhere if rule.partition("/")[0] in listed) == []
