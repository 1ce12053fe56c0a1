"""Templates give files; wrong ones are named with their line; nothing breaks out of a comment."""

import pytest

from advisor.errors import TemplateError
from advisor.planning.render import comment, render, shquote


def test_a_template_is_written_at_its_own_path() -> None:
    assert render({"job/a.sh.j2": "x={{ x }}\n", ".gitignore.j2": "/y\n"}, {"x": 1}) == {
        ".gitignore": "/y\n",
        "job/a.sh": "x=1\n",
    }


def test_a_template_that_gives_white_space_only_gives_no_file() -> None:
    assert render({"a.j2": "{% if x %}text{% endif %}\n \n"}, {"x": False}) == {}


def test_a_part_is_used_by_others_and_gives_no_file() -> None:
    templates = {
        "_part.j2": "{% macro m(x) %}<{{ x }}>{% endmacro %}",
        "a.j2": '{% from "_part.j2" import m %}{{ m(1) }}',
    }
    assert render(templates, {}) == {"a": "<1>"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fine\n{% if %}\n", r"job/a\.j2:2: Expected an expression"),
        ("fine\n\n{{ nothing }}\n", r"job/a\.j2:3: 'nothing' is undefined"),
        ("{{ 1 / 0 }}", r"job/a\.j2:1: division by zero"),
        ("\n{{ ''.__class__.__mro__ }}", r"job/a\.j2:2: access to attribute '__class__'"),
        ("\n{{ x | no_such_filter }}", r"job/a\.j2:2: No filter named"),
        ("{% include 'other.j2' %}", r"job/a\.j2:1: there is no template 'other\.j2'"),
        ("a\n{{ '\x1b[31m' }}", r"job/a\.j2:1: line 2 of the result holds \\x1b"),
    ],
    ids=["syntax", "undefined", "zero", "sandbox", "filter", "include", "control character"],
)
def test_a_wrong_template_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message) as caught:
        render({"job/a.j2": text}, {})
    assert caught.value.exit_status == 2


def test_all_wrong_templates_are_named_at_once() -> None:
    with pytest.raises(TemplateError) as caught:
        render({"a.j2": "{{ x }}", "b.j2": "{% if %}", "c.j2": "fine"}, {})
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == ["a.j2", "b.j2"]


@pytest.mark.parametrize("name", ["../a.j2", "/a.j2", "a.txt"])
def test_a_name_that_is_no_path_in_out_is_refused(name: str) -> None:
    with pytest.raises(TemplateError, match="must be a path in OUT"):
        render({name: "x"}, {})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain, ünïcode", "plain, ünïcode"),
        ("a\nvm.panic_on_oom = 1", "a\\nvm.panic_on_oom = 1"),
        ("a\r\x1b[2J\x00", "a\\r\\x1b[2J\\x00"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
        ("\ud800", "\\ud800"),
        ("ends in \\", "ends in \\x5c"),
        ("ends in \\\n", "ends in \\\\n"),
        (60, "60"),
        ("x" * 500, "x" * 400 + " ..."),
    ],
    ids=["plain", "newline", "controls", "separators", "surrogate", "continuation", "escaped", "number", "long"],
)
def test_a_comment_stays_one_line(value: object, expected: str) -> None:
    assert comment(value) == expected
    assert not comment(value).endswith("\\")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("", "''"), (1, "'1'"), ("a b", "'a b'"), ("it's", "'it'\"'\"'s'"), ("$(rm) `x` \\", "'$(rm) `x` \\'")],
    ids=["empty", "number", "blank", "quote", "substitution"],
)
def test_a_shell_word_is_always_quoted(value: object, expected: str) -> None:
    assert shquote(value) == expected


EACH = "host/etc/systemd/system/[unit].d/90-advisor.conf.j2"


def test_a_template_with_a_place_in_its_path_makes_a_file_for_each() -> None:
    units = {"b.service": ["B=1"], "a@.service": ["A=1"], "nothing.service": []}
    files = render({EACH: "{% for line in unit %}\n{{ line }}\n{% endfor %}\n"}, {"each": {"unit": units}})
    assert files == {
        "host/etc/systemd/system/a@.service.d/90-advisor.conf": "A=1\n",
        "host/etc/systemd/system/b.service.d/90-advisor.conf": "B=1\n",
    }


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "a\nb"], ids=ascii)
def test_a_name_cannot_lead_out_of_its_place(name: str) -> None:
    with pytest.raises(TemplateError, match="cannot be part of a path"):
        render({EACH: "x\n"}, {"each": {"unit": {name: []}}})
