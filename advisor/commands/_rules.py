"""Rules as commands use them: the shipped ones and a site's own, loaded, evaluated, and tested by their examples."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from advisor.commands._snapshot import derive
from advisor.data import rules_folder
from advisor.discover import derived_models, probe_models, unit_names
from advisor.model.finding import Report
from advisor.model.job import Job
from advisor.model.snapshot import Snapshot
from advisor.rulebook.evaluate import evaluate
from advisor.rulebook.examples import check_example, example_snapshot
from advisor.rulebook.load import load_rules
from advisor.rulebook.rule import Rule, Sections


def sections() -> Sections:
    """Every section that rules may name."""
    return Sections(probe_models(), {**derived_models(), "job": Job})


def loaded(folders: Sequence[str | Path] = (), shipped: bool = True) -> tuple[Rule, ...]:
    """The shipped rules and those of ``folders``. Raises RuleError with every problem of all of them."""
    if shipped and not folders:
        return _shipped()
    every = [*([rules_folder()] if shipped else []), *folders]
    return load_rules(every, sections(), unit_names("targets"))


@cache
def _shipped() -> tuple[Rule, ...]:
    """The shipped rules, which no command changes."""
    return load_rules([rules_folder()], sections(), unit_names("targets"))


def evaluated(snapshot: Snapshot, folders: Sequence[str | Path] = ()) -> Report:
    """What the shipped rules and those of ``folders`` find on this host."""
    return evaluate(loaded(folders), snapshot)


def failed_examples(rules: Sequence[Rule]) -> list[str]:
    """One text for each difference between what an example wants and what its rule says."""
    here = sections()
    told = []
    for rule in rules:
        for example in rule.file.examples:
            snapshot = example_snapshot(rule, example, here, derive)
            report = evaluate([rule], snapshot)
            wrong = [*report.defects, *check_example(rule, example, report.findings)]
            told += [f"{rule.path}: example {example.name!r}: {text}" for text in wrong]
    return told
