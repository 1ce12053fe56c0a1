"""What a condition means, what it refuses, and how it answers when facts are missing."""

from typing import Annotated, Any, Literal

import pytest

from advisor.model.facts import Facts, File, GapState, Private, Volatile
from advisor.model.snapshot import Snapshot, Source
from advisor.rulebook.language import Scope, compile_expression
from advisor.rulebook.language_compiler import Mistake
from advisor.rulebook.language_values import PRIVATE, STEPS_LIMIT, Defective, Run, Unknown


class Plant(Facts):
    name: str
    kind: Literal["rose", "fern"] | None = None
    height: Annotated[int | None, File("height")] = None
    owner: Annotated[str | None, Private()] = None
    leaves: tuple[int | None, ...] | None = None


class Garden(Facts):
    plants: tuple[Plant, ...] | None = None
    area: float | None = None
    soil: str | None = None
    fenced: bool | None = None
    water: Annotated[int | None, Volatile()] = None
    size: tuple[int, int] | None = None
    tags: dict[str, str] | None = None
    release: str | None = None


SCOPE = Scope({"garden": Garden, "shed": Garden})
ROSE = Plant(origin="/g/rose", name="rose", kind="rose", height=3, leaves=(1, 2))
FERN = Plant(origin="/g/fern", name="fern", kind="fern", height=5, owner="me", leaves=())
FULL = Garden(
    origin="/g",
    plants=(ROSE, FERN),
    area=2.5,
    soil="loam",
    fenced=True,
    water=7,
    size=(4, 6),
    tags={"a": "x"},
    release="5.15.0-91-generic",
)


def snapshot(garden: Garden | None = FULL, gaps: dict[str, GapState] | None = None, **source: Any) -> Snapshot:
    return Snapshot(Source(**source), {"garden": garden} if garden else {}, gaps or {})


def answer(text: str, of: Snapshot | None = None) -> Any:
    expression = compile_expression(text, SCOPE, lambda _: True)
    return expression.evaluate(Run(of or snapshot()))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("garden.area > 2", True),
        ("1 < garden.area < 2", False),
        ("garden.soil == 'loam' and not garden.fenced", False),
        ("garden.soil in ('clay', 'loam')", True),
        ("garden.soil not in ('clay', 'loam')", False),
        ("'oa' in garden.soil", True),
        ("garden.size[1] == 6 and garden.size == (4, 6)", True),
        ("garden.size >= (4, 5)", True),
        ("garden.size[-1]", 6),
        ("garden.tags['a']", "x"),
        ("'a' in garden.tags", True),
        ("len(garden.plants)", 2),
        ("len(p for p in garden.plants if p.height > 3)", 1),
        ("len(garden.soil)", 4),
        ("count(p.height > 1 for p in garden.plants)", 2),
        ("any(p.kind == 'fern' and p.height == 5 for p in garden.plants)", True),
        ("all(p.height > 3 for p in garden.plants)", False),
        ("all(p.height > 3 for p in garden.plants if p.kind == 'fern')", True),
        ("sum(p.height for p in garden.plants)", 8),
        ("sum(leaf for p in garden.plants for leaf in p.leaves)", 3),
        ("min(p.height for p in garden.plants)", 3),
        ("max(garden.area, 1, 2)", 2.5),
        ("max(garden.size)", 6),
        ("garden.soil.startswith('lo') and garden.soil.endswith('am')", True),
        ("version(garden.release) >= version('5.15')", True),
        ("version('5.9') < version('5.10')", True),
        ("version('1.2') == version('1.2.0')", True),
        ("2 * MiB // KiB % 1000", 48),
        ("-garden.area + 1 - 25_000 / 2", -12501.5),
        ("1 if garden.fenced else 2", 1),
        ("len(p.height for p in (garden.plants if garden.fenced else ()))", 2),
        ("len(p.height for p in (() if garden.fenced else garden.plants))", 0),
        ("known(garden.soil)", True),
        ("absent(garden.soil)", False),
        ("any(())", False),
        ("  garden.area > 2", True),
        ("garden.area\n  > 2", True),
        ("garden.plants[0].height", 3),
    ],
)
def test_a_condition_means_what_python_would_mean(text: str, value: object) -> None:
    assert answer(text) == value


@pytest.mark.parametrize(
    ("text", "caret", "message"),
    [
        ("garden.heigth > 1", "heigth", "Garden has no field 'heigth'"),
        ("any(p.hieght > 1 for p in garden.plants)", "hieght", "Plant has no field 'hieght'; did you mean 'height'?"),
        ("garden .  soill == 'x'", "soill", "did you mean 'soil'?"),
        ("'é' in garden.soil and gardn.soil == ''", "gardn", "nothing is called 'gardn' here; did you mean 'garden'?"),
        ("garden.area < '5'", "garden", "a number cannot be compared with text"),
        ("garden.soil < 'x'", "garden", "text < text: there is no such order; compare versions with version(x)"),
        ("garden.soil + 'x' == 'y'", "garden", "+ needs numbers but 'garden.soil' is text"),
        ("garden.soil == 5", "garden", "text cannot be compared with a whole number"),
        ("garden.fenced == 1", "garden", "true or false cannot be compared with a whole number"),
        ("garden.area in ('a', 'b')", "garden", "a number is never in a list of text"),
        ("garden.plants", "garden", "it must be true or false but is a list"),
        ("garden.area and True", "garden", "'garden.area' must be true or false but is a number"),
        ("not garden.area", "garden.area", "must be true or false"),
        ("any(p.kind == 'rosse' for p in garden.plants)", "'rosse'", "it is never 'rosse'; did you mean 'rose'?"),
        ("any('ferm' == p.kind for p in garden.plants)", "'ferm'", "did you mean 'fern'?"),
        ("any(p.kind in ('rose', 'oak') for p in garden.plants)", "'oak'", "it is never 'oak'"),
        ("garden.area == None", "None", "None is no value to compare with: ask known(x) or absent(x)"),
        ("garden.area is 5", "garden", "'is' is not part of the condition language"),
        ("garden.size[2] == 1", "2]", "there are only 2 items"),
        ("garden.size['a'] == 1", "'a'", "has no item 'a'"),
        ("garden.size[garden.water] == 1", "garden.water", "the key in [] must be a number or text written out"),
        ("garden.size[0:1] == (1,)", "0:1", "the key in [] must be"),
        ("garden.soil[0] == 'l'", "garden", "is text and has no items"),
        ("garden.soil.lower() == 'x'", "garden", "there is no method 'lower'"),
        ("garden.area ** 2 > 1", "garden", "of arithmetic there is only + - * / // %"),
        ("1 << 99 > 1", "1", "of arithmetic there is only"),
        ("'a' * 9 == 'b'", "'a'", "* needs numbers"),
        ("(1,) * 9 == (1,)", "(1,)", "* needs numbers"),
        ("open('/etc/passwd')", "open", "there is no function 'open'"),
        ("__import__('os').system('id')", "__import__", "there is no method 'system'"),
        ("().__class__", "()", "has no fields"),
        ("garden.__class__ == 1", "__class__", "Garden has no field '__class__'"),
        ("garden.origin == ''", "origin", "Garden has no field 'origin'"),
        ("garden.model_fields == 1", "model_fields", "no field"),
        ("lambda: 1", "lambda", "lambda is not part of the condition language"),
        ("[1][0] == 1", "[1]", "is not part of the condition language"),
        ("f'{garden}' == ''", "f'", "is not part"),
        ("(x := 1) == 1", "x :=", ":= is not part"),
        ("b'x' == b'x'", "b'x'", "is not a number, text, True or False"),
        ("1j == 1", "1j", "is not a number"),
        ("~5 == 1", "~5", "is not part"),
        ("garden.area >", "", "not an expression"),
        ("garden.area > 1) or (True", ")", "not an expression"),
        ("", "", "not an expression"),
        ("known()", "known", "known() takes 1 argument"),
        ("known(x=garden.area)", "known", "no function takes arguments by name"),
        ("absent(1 + 1)", "1 + 1", "absent() takes the name of one fact"),
        ("version('latest') < version('1')", "'latest'", "is no version"),
        ("version(garden.area) < version('1')", "garden.area", "version() needs text"),
        ("len(garden.area) > 1", "garden.area", "len() needs a list"),
        ("sum(p.kind for p in garden.plants) > 1", "(p.kind", "sum() needs numbers but has text"),
        ("any(p.height for p in garden.plants)", "(p.height", "any() needs conditions but has a whole number"),
        ("any(garden.fenced)", "garden.fenced", "any() needs a list"),
        ("any(True for garden in garden.plants)", "garden in", "the name 'garden' is taken"),
        ("any(True for a, b in garden.plants)", "a, b", "a loop has one name"),
        ("any(True for p in garden.soil)", "garden.soil", "a loop needs a list"),
        ("any(p.height > 1 for p in garden.plants) and p.height > 1", "p.height > 1$", "nothing is called 'p' here"),
        ("any(True for p in garden.plants if p.height)", "p.height)", "must be true or false"),
        ("garden == shed", "garden", "Garden cannot be compared with Garden"),
        ("1 if garden.fenced else 'a'", "1", "one branch is a whole number, the other text"),
        ("((1,) if garden.fenced else ())[0]", "(1,)", "one branch is a list, the other a list"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text: str, caret: str, message: str) -> None:
    with pytest.raises(Mistake) as refused:
        compile_expression(text, SCOPE)
    assert message in refused.value.message
    if caret.endswith("$"):
        assert refused.value.offset == text.rindex(caret[:-1])
    elif caret:
        assert refused.value.offset == text.index(caret)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "1" + ")" * 500,
        "not " * 300 + "True",
        "+".join(["1"] * 900) + " > 1",
        "1 < " * 300 + "2",
        "'" + "a" * 3000 + "' == ''",
        "garden" + ".soil" * 300,
        "garden.area > 1\0",
        "1" * 1999,
        "-" * 1500 + "1 > 0",
    ],
    ids=["parentheses", "nots", "sum", "chain", "string", "attributes", "nul", "digits", "minuses"],
)
def test_a_bomb_is_refused_at_once(text: str) -> None:
    with pytest.raises(Mistake):
        compile_expression(text, SCOPE)


def test_a_loop_over_loops_ends() -> None:
    many = Garden(plants=(ROSE,) * 101)
    loops = " ".join(f"for p{n} in garden.plants" for n in range(3))
    assert STEPS_LIMIT < 101**3
    with pytest.raises(Defective, match="visit more than 1,000,000 items"):
        answer(f"any(p0.height > 9 {loops})", snapshot(many))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / (garden.water - 7) > 1", "division by zero"),
        ("1 % 0 == 1", "division by zero"),
        ("min(p.height for p in garden.plants if p.height > 99) > 1", "min() of nothing"),
    ],
)
def test_what_cannot_be_computed_is_a_defect_of_the_rule(text: str, message: str) -> None:
    with pytest.raises(Defective) as defect:
        answer(text)
    assert message in str(defect.value)


HALF = snapshot(
    Garden(
        origin="/g",
        plants=(ROSE, Plant(origin="/g/x", name="x", kind="fern", leaves=(1, None))),
        area=1.0,
        tags={},
        release="latest",
    ),
    gaps={"/g/x/height": "denied"},
)


@pytest.mark.parametrize(
    "text",
    [
        "garden.fenced",
        "not garden.fenced",
        "garden.fenced == True",
        "garden.fenced or garden.area > 5",
        "garden.fenced and garden.area > 0",
        "garden.area < garden.water",
        "garden.area + garden.water > 0",
        "garden.water in (1, 2)",
        "1 in (2, garden.water)",
        "1 < garden.water < 3",
        "any(p.height > 3 for p in garden.plants)",
        "all(p.height > 2 for p in garden.plants)",
        "any(p.height > 3 for p in garden.plants if p.height > 1)",
        "len(p for p in garden.plants if p.height > 3) == 1",
        "count(p.height > 3 for p in garden.plants) == 0",
        "sum(p.height for p in garden.plants) > 0",
        "max(p.height for p in garden.plants) > 0",
        "max(garden.area, garden.water) > 0",
        "sum(leaf for p in garden.plants for leaf in p.leaves) > 0",
        "garden.plants[1].leaves == (1, 2)",
        "garden.plants[1].leaves[1] == 1",
        "garden.plants[7].height == 1",
        "garden.tags['a'] == 'x'",
        "version(garden.release) > version('1')",
        "garden.soil.startswith('a')",
        "garden.fenced if garden.fenced else garden.area > 0",
        "garden.area > 5 if garden.fenced else garden.area > 0",
        "absent(garden.soil)",
        "shed.fenced",
        "any(True for p in shed.plants)",
        "len(shed.plants) > 0",
    ],
)
def test_a_condition_that_needs_a_missing_fact_is_unknown(text: str) -> None:
    assert isinstance(answer(text, HALF), Unknown)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("garden.fenced or garden.area == 1", True),
        ("garden.fenced and garden.area == 2", False),
        ("garden.area == 2 and garden.fenced", False),
        ("3 < garden.area < garden.water", False),
        ("1 in (1, garden.water)", True),
        ("garden.water in ()", False),
        ("any(p.height > 2 for p in garden.plants)", True),
        ("all(p.height > 5 for p in garden.plants)", False),
        ("any(p.height > 2 for p in garden.plants if p.kind == 'fern' or p.height > 0)", True),
        ("all(p.kind == 'fern' or p.height == 3 for p in garden.plants)", True),
        ("any(p.height > 1 and p.kind == 'rose' for p in garden.plants)", True),
        ("len(garden.plants) == 2", True),
        ("1 if garden.fenced else 1", 1),
        ("known(garden.fenced)", False),
        ("known(shed)", False),
        ("garden.water > 0 and 1 / 0 > 1 or True", True),
    ],
)
def test_a_missing_fact_that_cannot_matter_does_not(text: str, value: object) -> None:
    assert answer(text, HALF) == value


@pytest.mark.parametrize(
    ("gap", "value"), [("absent", True), ("denied", None), ("not captured", None), ("timed out", None)]
)
def test_only_what_was_looked_for_and_not_there_is_absent(gap: GapState, value: bool | None) -> None:
    plant = Garden(plants=(Plant(origin="/g/x", name="x"),))
    found = answer("absent(garden.plants[0].height)", snapshot(plant, {"/g/x/height": gap}))
    assert isinstance(found, Unknown) if value is None else found is value


def test_an_unknown_names_fact_file_and_reason() -> None:
    found = answer("any(p.height > 3 for p in garden.plants)", HALF)
    assert [(m.expression, m.path, m.gap) for m in found.missing] == [
        ("garden.plants[x].height", "/g/x/height", "denied")
    ]


@pytest.mark.parametrize(
    ("source", "text", "gap"),
    [
        ("live", "garden.water > 1", "no value"),
        ("facts", "garden.water > 1", "not captured"),
        ("facts", "garden.fenced", "no value"),
        ("facts", "shed.fenced", "not read"),
    ],
)
def test_without_a_recorded_gap_the_reason_is_still_told(source: str, text: str, gap: str) -> None:
    found = answer(text, snapshot(Garden(origin="/g"), kind=source))
    assert [m.gap for m in found.missing] == [gap]


def seen(text: str, of: Snapshot | None = None) -> dict[str, object]:
    run = Run(of or snapshot())
    compile_expression(text, SCOPE).evaluate(run)
    return {name: evidence.value for name, evidence in run.seen.items()}


def test_the_trace_holds_what_was_looked_at_and_no_more() -> None:
    assert seen("garden.area > 5 and garden.soil == 'x'") == {"garden.area": 2.5}
    assert seen("any(p.height > 2 for p in garden.plants)") == {
        "garden.plants": ("rose", "fern"),
        "garden.plants[rose].height": 3,
    }


def test_the_trace_holds_unknown_facts_too() -> None:
    assert seen("garden.fenced or garden.area == 1", HALF) == {"garden.fenced": None, "garden.area": 1.0}


def test_a_private_value_never_leaves_the_snapshot() -> None:
    assert seen("garden.plants[1].owner == 'me'")["garden.plants[fern].owner"] == PRIVATE


def test_a_volatile_fact_is_known_before_anything_runs() -> None:
    assert compile_expression("garden.water > 1", SCOPE).volatile
    assert not compile_expression("garden.area > 1", SCOPE).volatile
    assert compile_expression("any(shed.water > p.height for p in garden.plants)", SCOPE).sections == {"garden", "shed"}
