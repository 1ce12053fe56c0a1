"""What grew between two readings: who is matched with whom, what starts again, and what cannot be told."""

from typing import Annotated, Any

import pytest

from advisor.errors import SourceError
from advisor.model.facts import Counter, Facts
from advisor.model.sample import Sample, counters_of, grown_by, holds_counters, sample_of
from advisor.model.snapshot import Snapshot, Source, committed_json, full_json, parse_snapshot


class Pair(Facts):
    name: str
    value: Annotated[int | None, Counter()] = None


class Cable(Facts):
    broken: Annotated[int | None, Counter(stops_at=255)] = None


class Card(Facts):
    name: str | None = None
    packets: Annotated[int | None, Counter()] = None
    narrow: Annotated[int | None, Counter(bits=32)] = None
    cable: Cable | None = None
    others: tuple[Pair, ...] | None = None


class Cards(Facts):
    packets: Annotated[int | None, Counter(sum_of="cards")] = None
    cards: tuple[Card, ...] | None = None
    size: int | None = None


class Still(Facts):
    name: str


def sample(first: Cards, second: Cards) -> Sample:
    return sample_of({"net": first, "still": Still(name="x")}, {"net": second}, {"net": 5.0})


def cards(*found: Card, **total: Any) -> Cards:
    return Cards(cards=found, **total)


def test_items_are_matched_by_name_not_by_place() -> None:
    found = sample(
        cards(Card(name="a", packets=1), Card(name="b", packets=100), packets=101),
        cards(Card(name="b", packets=107), Card(name="a", packets=4), packets=111),
    )
    assert found.growth == {"net.cards[a].packets": 3, "net.cards[b].packets": 7, "net.packets": 10}
    assert (found.unknown, found.seconds) == ({}, {"net": 5.0})


def test_what_is_gone_or_came_new_has_no_growth() -> None:
    found = sample(
        cards(Card(name="a", packets=1), Card(name="b", packets=2), packets=3),
        cards(Card(name="a", packets=1), Card(name="c", packets=50), packets=51),
    )
    assert found.growth == {"net.cards[a].packets": 0}
    assert found.unknown == dict.fromkeys(("net.cards[b].packets", "net.packets"), "not there again")


@pytest.mark.parametrize("name", ["a", None], ids=["two of one name", "without a name"])
def test_items_that_cannot_be_told_apart_are_not_compared(name: str | None) -> None:
    both = (Card(name=name, packets=1), Card(name=name, packets=2))
    found = sample(cards(*both, packets=3), cards(*both, packets=3))
    assert found.growth == {}
    assert set(found.unknown.values()) == {"not there again"}


def test_a_thing_that_started_again_has_no_growth_at_all() -> None:
    before = Card(name="a", packets=90, narrow=5, cable=Cable(broken=1), others=(Pair(name="x", value=7),))
    after = Card(name="a", packets=95, narrow=6, cable=Cable(broken=3), others=(Pair(name="x", value=0),))
    other = Card(name="b", packets=1)
    found = sample(cards(before, other), cards(after, other))
    assert found.growth == {"net.cards[b].packets": 0}
    assert found.unknown == dict.fromkeys(
        (f"net.cards[a].{name}" for name in ("packets", "narrow", "cable.broken", "others[x].value")), "started again"
    )


def test_a_counter_at_its_limit_tells_nothing() -> None:
    full, half = Card(name="a", cable=Cable(broken=255)), Card(name="b", cable=Cable(broken=200))
    found = sample(cards(full, half), cards(full, Card(name="b", cable=Cable(broken=255))))
    assert found.unknown == {"net.cards[a].cable.broken": "at its limit"}
    assert found.growth == {"net.cards[b].cable.broken": 55}


@pytest.mark.parametrize(
    ("first", "second", "bits", "grown"),
    [
        (5, 5, None, 0),
        (5, 9, 32, 4),
        (2**32 - 3, 2, 32, 5),
        (3 * 2**32 - 3, 2 * 2**32 + 2, 32, 5),
        (1000, 2, 32, None),
        (2**32 - 3, 2, None, None),
        (2.5, 4.0, None, 1.5),
    ],
    ids=["still", "grew", "passed its end", "a sum, one of which passed it", "started again", "too wide to", "seconds"],
)
def test_growth_of_one_counter(first: float, second: float, bits: int | None, grown: float | None) -> None:
    assert grown_by(first, second, bits) == grown


@pytest.mark.parametrize("second", [{}, {"net": Still(name="x")}], ids=["section gone", "another model"])
def test_a_section_that_was_not_read_again_has_no_growth(second: dict[str, Facts]) -> None:
    found = sample_of({"net": cards(Card(name="a", packets=1))}, second, {"net": 1.0})
    assert (found.growth, found.unknown) == ({}, {"net.cards[a].packets": "not there again"})


def test_only_models_with_counters_need_a_second_reading() -> None:
    assert holds_counters(Cards)
    assert not holds_counters(Still)
    assert list(counters_of(cards(Card(name="a", packets=1), packets=1), "net")) == [
        "net.cards[a].packets",
        "net.packets",
    ]


SAMPLED = Snapshot(
    Source(), {"net": cards(Card(name="a", packets=1))}, {}, sample=Sample({"net": 5.5}, {"net.cards[a].packets": 2})
)


def test_growth_stays_out_of_committed_facts_and_survives_in_observations() -> None:
    assert "sample" not in committed_json(SAMPLED)
    assert parse_snapshot(full_json(SAMPLED), {"net": Cards}, "o.json").sample == SAMPLED.sample
    assert parse_snapshot(committed_json(SAMPLED), {"net": Cards}, "f.json").sample is None


@pytest.mark.parametrize(
    ("old", "new"),
    [("5.5", "0"), ('packets": 2', 'packets": "2"'), ('"unknown": {}', '"unknown": {"x": "lost"}')],
    ids=["no time", "text", "another reason"],
)
def test_a_wrong_sample_is_refused(old: str, new: str) -> None:
    text = full_json(SAMPLED)
    assert old in text
    with pytest.raises(SourceError, match=r"o\.json: sample\."):
        parse_snapshot(text.replace(old, new), {"net": Cards}, "o.json")
