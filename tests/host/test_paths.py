"""Names as text: nothing is lost on the way there and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.host.paths import in_natural_order, raw_of, text_of


@given(st.binary())
def test_every_name_comes_back_and_fits_into_json(raw: bytes) -> None:
    text = text_of(raw)
    back = raw_of(json.loads(json.dumps(text).encode("ascii")))
    assert (back.encode() if isinstance(back, str) else back) == raw
    text.encode("utf-8")


@given(st.binary(), st.binary())
def test_different_names_stay_different(a: bytes, b: bytes) -> None:
    assert (text_of(a) == text_of(b)) == (a == b)


@pytest.mark.parametrize("character", ["\uf080", "\uf0ff"], ids=["first", "last"])
def test_a_real_character_of_the_private_range_comes_back(character: str) -> None:
    assert raw_of(text_of(character.encode())) == character.encode()


def test_ordinary_names_are_themselves() -> None:
    assert text_of("é0000:3b:00.0".encode()) == "é0000:3b:00.0"


@given(st.lists(st.text(alphabet="0123a9", max_size=30)))
def test_the_order_does_not_depend_on_the_order_given(names: list[str]) -> None:
    assert in_natural_order(names) == in_natural_order(reversed(names))


def test_digits_are_ordered_by_number() -> None:
    assert in_natural_order(["cpu10", "cpu9", "b", "0", "mlx5_10", "mlx5_9"]) == (
        "0",
        "b",
        "cpu9",
        "cpu10",
        "mlx5_9",
        "mlx5_10",
    )
