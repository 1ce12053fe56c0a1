"""Two laws that hold for every condition: Python agrees when all is known, and learning a fact flips no verdict."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.model.facts import Facts
from advisor.model.snapshot import Snapshot, Source
from advisor.rulebook.language import Scope, compile_expression
from advisor.rulebook.language_values import Defective, Run, Unknown


class Item(Facts):
    name: str
    n: int | None = None
    flag: bool | None = None
    word: str | None = None


class Box(Facts):
    items: tuple[Item, ...] | None = None
    numbers: tuple[int | None, ...] | None = None
    n: int | None = None
    m: int | None = None
    flag: bool | None = None
    word: str | None = None


SCOPE = Scope({"box": Box})
WORDS = ("a", "ab", "b")
EXAMPLES = 400


def either(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(*parts)


def filled(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda texts: form.format(*texts))


def numbers(depth: int, item: bool) -> st.SearchStrategy[str]:
    plain = st.sampled_from(["box.n", "box.m", "0", "1", "3", "len(box.items)", *(["x.n"] if item else [])])
    if depth == 0:
        return plain
    inner = numbers(depth - 1, item)
    looped = [] if item else [f"{name}(x.n for x in box.items if {{}})" for name in ("sum", "len")]
    return either(
        plain,
        filled("({} + {})", inner, inner),
        filled("({} * {})", inner, inner),
        filled("({} - {})", inner, inner),
        filled("({} // {})", inner, inner),
        filled("({} % {})", inner, inner),
        filled("max({}, {})", inner, inner),
        filled("min({}, {}, 2)", inner, inner),
        filled("sum(({}, {}))", inner, inner),
        filled("({} if {} else {})", inner, conditions(depth - 1, item), inner),
        st.just("sum(box.numbers)"),
        *(filled(form, conditions(depth - 1, True)) for form in looped),
        *([] if item else [filled("count({} for x in box.items)", conditions(depth - 1, True))]),
    )


def conditions(depth: int, item: bool) -> st.SearchStrategy[str]:
    plain = st.sampled_from(
        ["box.flag", "True", "box.word == 'a'", "box.n in box.numbers", *(["x.flag", "x.word != 'b'"] if item else [])]
    )
    if depth == 0:
        return plain
    inner, number = conditions(depth - 1, item), numbers(depth - 1, item)
    loops = [
        filled("any({} for x in box.items)", conditions(depth - 1, True)),
        filled("all({} for x in box.items if {})", conditions(depth - 1, True), conditions(depth - 1, True)),
        filled("any({} for x in box.items if {})", conditions(depth - 1, True), conditions(depth - 1, True)),
    ]
    return either(
        plain,
        filled("({} and {})", inner, inner),
        filled("({} or {})", inner, inner),
        filled("(not {})", inner),
        filled("({} < {})", number, number),
        filled("({} <= {} != {})", number, number, number),
        filled("({} in ({}, {}))", number, number, number),
        filled("({} not in ({}, 2))", number, number),
        filled("box.word.startswith({!r})", st.sampled_from(WORDS)),
        filled("({} if {} else {})", inner, inner, inner),
        *([] if item else loops),
    )


ints, flags, words = st.integers(-2, 4), st.booleans(), st.sampled_from(WORDS)
full_items = st.builds(Item, name=st.sampled_from("pqr"), n=ints, flag=flags, word=words)
full_boxes = st.builds(
    Box,
    items=st.lists(full_items, max_size=3).map(tuple),
    numbers=st.lists(ints, max_size=3).map(tuple),
    n=ints,
    m=ints,
    flag=flags,
    word=words,
)


def verdict(text: str, box: Box) -> Any:
    run = Run(Snapshot(Source(), {"box": box}, {}))
    try:
        return compile_expression(text, SCOPE).evaluate(run)
    except Defective:
        return "defect"


def namespace(facts: Facts) -> Any:
    plain = {name: getattr(facts, name) for name in type(facts).model_fields}
    plain["items"] = tuple(namespace(item) for item in plain.get("items") or ())
    return SimpleNamespace(**plain)


def python(text: str, box: Box) -> Any:
    """Python's own answer: the oracle, for texts that this file made."""
    names = {
        "box": namespace(box),
        "len": lambda items: sum(1 for _ in items),
        "count": lambda values: sum(map(bool, values)),
        "__builtins__": {"any": any, "all": all, "min": min, "max": max, "sum": sum},
    }
    try:
        return eval(text, names)  # noqa: S307
    except ZeroDivisionError:
        return "defect"


@given(conditions(3, False), full_boxes)
@settings(max_examples=EXAMPLES, deadline=None)
def test_with_nothing_unknown_python_agrees(text: str, box: Box) -> None:
    assert verdict(text, box) == python(text, box)


@st.composite
def learnt(draw: st.DrawFn) -> tuple[Box, Box]:
    """A box of which something is not known, and the same box with all of it known."""
    full = draw(full_boxes)
    hidden: dict[str, Any] = {name: None for name in ("n", "m", "flag", "word", "items", "numbers") if draw(flags)}
    if "items" not in hidden:
        hidden["items"] = tuple(
            item.model_copy(update={name: None for name in ("n", "flag", "word") if draw(flags)})
            for item in full.items or ()
        )
    if "numbers" not in hidden:
        hidden["numbers"] = tuple(None if draw(flags) else number for number in full.numbers or ())
    return full.model_copy(update=hidden), full


@given(conditions(3, False), learnt())
@settings(max_examples=EXAMPLES, deadline=None)
def test_learning_a_fact_never_flips_a_verdict(text: str, boxes: tuple[Box, Box]) -> None:
    before, after = (verdict(text, box) for box in boxes)
    if not isinstance(before, Unknown) and after != "defect":
        assert before == after
