"""The pages of rules in docs/rules/, made from the rules."""

import json
from collections.abc import Iterator, Sequence

from advisor.rulebook.rule import CompiledSetting, Rule
from advisor.rulebook.schema import Example

FOLDER = "docs/rules"
_MADE = "<!-- made from rules/{id}.yaml; change that and refresh -->"


def rule_pages(rules: Sequence[Rule]) -> dict[str, str]:
    """Path below the repository to text: a page for each rule, and an index by area."""
    pages = {f"{FOLDER}/{rule.id}.md": "\n".join(_page(rule)) + "\n" for rule in rules}
    return {f"{FOLDER}/README.md": "\n".join(_index(rules)) + "\n", **pages}


def _index(rules: Sequence[Rule]) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield f"{len(rules)} rules; `advisor explain RULE` shows one with the values of a host."
    for area in sorted({_area(rule) for rule in rules}):
        yield from ("", f"## {area}", "", "| rule | severity | finds |", "|---|---|---|")
        for rule in (rule for rule in rules if _area(rule) == area):
            yield f"| [{rule.id}]({rule.id}.md) | {rule.file.weight} | {_cell(rule.file.title)} |"


def _area(rule: Rule) -> str:
    return rule.id.partition("/")[0]


def _page(rule: Rule) -> Iterator[str]:
    file = rule.file
    yield from (_MADE.format(id=rule.id), f"# {file.title}", "")
    unverified = ", unverified" if file.unverified else ""
    yield from (f"`{rule.id}`: {file.weight}, basis: {file.basis}{unverified}", "")
    yield from ("## Why", "", _prose(file.why), "", "## How it is found", "")
    for lead, words in (("For each", file.each), ("Where", file.only), ("Fails when", file.fails)):
        if words:
            yield from (f"{lead}:", "", "```", " ".join(words.split()), "```", "")
    yield from (f"Says: `{file.says}`", "")
    if file.positions:
        yield from (
            "## Authorities disagree",
            "",
            "No fault, and nothing is set: a measurement on your own job decides.",
        )
        yield from ("", "| one says | right when | source |", "|---|---|---|")
        yield from (f"| {_cell(p.says)} | {_cell(p.decides)} | {_cell(p.source)} |" for p in file.positions)
        yield ""
    yield from ("## How to measure it" if file.positions else "## What to do", "", _prose(file.fix), "")
    if rule.settings:
        yield from ("It writes:", "", *(_setting(setting) for setting in rule.settings), "")
    if file.ignore:
        yield from ("## When to ignore it", "", _prose(file.ignore), "")
    yield from ("## Sources", "", *(f"- {_prose(source)}" for source in file.sources), "", "## Examples", "")
    yield from (line for example in file.examples for line in _example(example))


def _setting(setting: CompiledSetting) -> str:
    entry = setting.entry
    floor = ", never lowered" if entry.only_raise else ""
    effect = f"(risk {entry.risk}, takes effect: {entry.takes_effect}{floor})"
    each = f", for each `{_prose(entry.each)}`" if entry.each else ""
    where = f", where `{_prose(entry.only)}`" if entry.only else ""
    return f"- `{entry.target}:{entry.key} = {entry.value}` {effect}{each}{where}"


def _example(example: Example) -> Iterator[str]:
    expect = example.expect
    verdict = expect if isinstance(expect, str) else ", ".join(f"{name}: {verdict}" for name, verdict in expect.items())
    yield f"- {example.name}: **{verdict}**"
    given = {"job": example.job, "gaps": example.gaps, "growth": example.growth}
    for name, facts in {**example.facts, **{name: facts for name, facts in given.items() if facts}}.items():
        yield f"  - `{name}`: `{json.dumps(facts, ensure_ascii=False)}`".replace("``", "`")


def _prose(words: str) -> str:
    return " ".join(words.split())


def _cell(words: str) -> str:
    return words.replace("|", "\\|")
