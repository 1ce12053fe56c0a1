"""Rewrites what is generated and committed: ``python -m tests.refresh``. Read the difference before you commit it."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from advisor.commands._rule_docs import FOLDER, rule_pages
from advisor.commands._rules import loaded
from advisor.discover import probe_models, units
from advisor.model.facts import Facts
from advisor.model.schema import facts_schema
from advisor.reports._facts_page import Section, facts_page
from advisor.rulebook.schema import rule_schema
from tests.golden_outs import GOLDEN, outs
from tests.readme import readme

ROOT = Path(__file__).resolve().parent.parent


@cache
def generated() -> Mapping[str, str]:
    """Path below the repository to text, for every generated file."""
    return {
        "schemas/facts-1.json": _json(facts_schema(probe_models())),
        "schemas/rule-1.json": _json(rule_schema()),
        "docs/facts.md": facts_page(sections()),
        "README.md": readme(),
        **rule_pages(loaded()),
        **outs(),
    }


def sections() -> list[Section]:
    """What every probe reads, for the page of facts."""
    found = []
    for name, module in units("probes").items():
        folders: dict[type[Facts], str] = {}
        for folder, model in module.COLLECTED.models if hasattr(module, "COLLECTED") else ():
            folders.setdefault(model, folder)
        about = (module.__doc__ or "").strip().partition("\n\n")[0].replace("\n", " ")
        found.append(Section(name, about, probe_models()[name], folders))
    return found


def _json(document: object) -> str:
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def stale() -> list[Path]:
    """Pages of rules, and files of OUT, that are no more."""
    known = generated()
    there = [*(ROOT / FOLDER).rglob("*.md"), *(path for path in (ROOT / GOLDEN).rglob("*") if path.is_file())]
    return [path for path in sorted(there) if path.relative_to(ROOT).as_posix() not in known]


if __name__ == "__main__":
    for page in stale():
        page.unlink()
    for path, text in generated().items():
        place = ROOT / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
