"""Every shipped rule must pass its own examples and keep the house's promises."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from advisor.commands._rules import failed_examples, loaded, sections
from advisor.commands._snapshot import derive
from advisor.model.facts import Facts
from advisor.model.setting import Setting
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import example_snapshot
from advisor.rulebook.language_types import field_type
from advisor.rulebook.rule import Rule
from advisor.targets._base import load_targets
from advisor.targets._denied import denied

RULES = loaded()
AREAS = {"cpu", "gpu", "memory", "nccl", "network", "numa", "pcie", "rdma", "storage"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_its_examples_want(rule: Rule) -> None:
    assert failed_examples([rule]) == []


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.only], ids=lambda rule: rule.id)
def test_a_rule_with_a_gate_shows_a_host_that_it_does_not_apply_to(rule: Rule) -> None:
    expected = [example.expect for example in rule.file.examples]
    assert any("not-applicable" in (want if isinstance(want, str) else want.values()) for want in expected)


def test_rules_cover_the_areas_and_are_named_by_the_bad_pattern() -> None:
    ids = [rule.id for rule in RULES]
    assert {name.partition("/")[0] for name in ids} >= AREAS
    assert not [name for name in ids if name.partition("/")[2].startswith("no-")]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.settings], ids=lambda rule: rule.id)
def test_what_a_rule_sets_can_be_written_and_is_not_forbidden(rule: Rule) -> None:
    targets = load_targets()
    made = settings_of(rule)
    assert made
    for setting in made:
        target = targets[setting.target]
        assert target.wrong(setting.key, setting.value) is None
        assert denied(setting.target, setting.key, target.text(setting.key, setting.value), "rule") is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_message_speaks_of_what_is_known_only(rule: Rule) -> None:
    here = sections()
    snapshots = [example_snapshot(rule, example, here, derive) for example in rule.file.examples]
    messages = [f.message for s in snapshots for f in evaluate([rule], s).failing()]
    assert [text for text in messages if re.search(r"\bunknown\b", text)] == [], "put the phrase in [[ ]]"


TOGETHER = {
    "arp_announce", "arp_ignore", "drives", "exists", "fstype", "line", "live", "net_core_rmem_max",
    "net_core_wmem_max", "netdev", "netdev_mtu", "pci_address", "point", "top", "wins",
}  # fmt: skip
"""Facts that are known whenever those are on which the verdicts rest, which come from the same file or answer."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_message_stays_whole_where_one_fact_is_missing(rule: Rule) -> None:
    here, told = sections(), []
    for example in rule.file.examples:
        for facts in lacking_one(example.facts):
            snapshot = example_snapshot(rule, example.model_copy(update={"facts": facts}), here, derive)
            told += [finding.message for finding in evaluate([rule], snapshot).failing()]
    assert [text for text in told if re.search(r"\bunknown\b", text)] == [], "put it in [[ ]], or count the known only"


def lacking_one(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The facts of an example with one left out at a time, of those that may be."""
    for section, fields in facts.items():
        model = sections().models[section]
        for less in _less(fields, model):
            yield {**facts, section: less}


def _less(value: Any, model: type[Facts] | None) -> Iterator[Any]:
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from ([*value[:at], less, *value[at + 1 :]] for less in _less(item, model))
    elif isinstance(value, dict) and model is not None:
        for name, inner in value.items():
            kind = field_type(model, name) if name in model.model_fields else None
            if kind is not None and name not in TOGETHER and not model.model_fields[name].is_required():
                yield {other: kept for other, kept in value.items() if other != name}
            inside = kind.item or kind if kind is not None else None
            yield from ({**value, name: less} for less in _less(inner, inside.model if inside else None))


def settings_of(rule: Rule) -> list[Setting]:
    """All settings that the rule asks for in its examples."""
    here = sections()
    snapshots = [example_snapshot(rule, example, here, derive) for example in rule.file.examples]
    return [setting for s in snapshots for finding in evaluate([rule], s).findings for setting in finding.settings]
