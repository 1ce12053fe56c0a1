"""Every shipped rule must pass its own examples and keep the house's promises."""

import re

import pytest

from advisor.commands._rules import failed_examples, loaded, sections
from advisor.commands._snapshot import derive
from advisor.model.setting import Setting
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import example_snapshot
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


def settings_of(rule: Rule) -> list[Setting]:
    """All settings that the rule asks for in its examples."""
    here = sections()
    snapshots = [example_snapshot(rule, example, here, derive) for example in rule.file.examples]
    return [setting for s in snapshots for finding in evaluate([rule], s).findings for setting in finding.settings]
