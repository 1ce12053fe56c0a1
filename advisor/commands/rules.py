"""Lists the rules, or runs their examples."""

import os
from collections.abc import Sequence

import click


@click.group()
def command() -> None:
    """Lists the rules, or runs the examples that are their tests."""


@command.command("list")
@click.option("--rules", multiple=True, metavar="DIR", help="Further rules: DIR/<area>/<bad-pattern>.yaml.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def list_rules(rules: Sequence[str], form: str, quiet: bool, no_color: bool) -> int:
    """All rules: severity (or that authorities disagree), name and title."""
    import json

    from advisor.commands._pages import SCHEMA_VERSION, rule_document
    from advisor.commands._rules import loaded
    from advisor.inputs import printable

    every = loaded(rules)
    width = max((len(rule.id) for rule in every), default=0)
    if form == "json":
        document = {"schema_version": SCHEMA_VERSION, "rules": [rule_document(rule) for rule in every]}
        text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    else:
        text = "".join(f"{r.file.weight:8}  {r.id:{width}}  {printable(r.file.title)}\n" for r in every)
    if not quiet:
        click.echo(text, nl=False)
    return 0


@command.command("test")
@click.argument("folder", metavar="[DIR]", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-color", is_flag=True, help="Accepted as by every command; this one prints no colours.")
def test_rules(folder: str | None, form: str, quiet: bool, no_color: bool) -> int:
    """Runs the examples of the shipped rules, or of those in DIR. Exit status 1 when one fails."""
    import json

    from advisor.commands._pages import SCHEMA_VERSION
    from advisor.commands._rules import failed_examples, loaded
    from advisor.data import rules_folder
    from advisor.errors import RuleError
    from advisor.inputs import printable

    shipped = folder is None or os.path.realpath(folder) == os.path.realpath(rules_folder())
    rules = loaded([rules_folder() if folder is None else folder], shipped=False)
    if not rules:
        raise RuleError(f"{printable(folder)}: there is no rule: nothing was tested; give the folder above <area>/")
    if not shipped:
        loaded([str(folder)])  # its names must not be those of shipped rules
    failed = failed_examples(rules)
    examples = sum(len(rule.file.examples) for rule in rules)
    if form == "json":
        counts = {"schema_version": SCHEMA_VERSION, "rules": len(rules), "examples": examples, "failed": failed}
        text = json.dumps(counts, indent=1, sort_keys=True)
    else:
        text = "\n".join(
            [*map(printable, failed), f"rules: {len(rules)}, examples: {examples}, differences: {len(failed)}"]
        )
    if not quiet:
        click.echo(text)
    return 1 if failed else 0
