"""What is generated and committed is what the code generates, and says the truth about what the code writes."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import jsonschema
import pytest

from advisor.cli import run
from advisor.discover import units
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import Facts, marks
from advisor.probes._run import run_probes
from advisor.reports._facts_page import Section, _models
from tests.gpu_node import gpu_node
from tests.refresh import ROOT, generated, sections, stale


def test_generated_files_are_fresh() -> None:
    files = {path: ROOT / path for path in generated()}
    old = [
        path for path, text in generated().items() if not files[path].exists() or files[path].read_text("utf-8") != text
    ]
    assert [*old, *stale()] == [], "run: python -m tests.refresh"


def test_facts_of_this_host_satisfy_the_published_schema(tmp_path: Path) -> None:
    assert run(["probe", "--quiet", "--out", str(tmp_path)]) == 0
    schema = json.loads((ROOT / "schemas" / "facts-1.json").read_text())
    jsonschema.validators.validator_for(schema).check_schema(schema)
    jsonschema.validate(json.loads((tmp_path / "facts.json").read_text()), schema)


@pytest.mark.parametrize(
    "change",
    [{"schema_version": 2}, {"facts": {"no such section": {}}}, {"gaps": {"/sys": "gone"}}],
    ids=["version", "section", "gap state"],
)
def test_the_published_schema_refuses_what_is_wrong(change: dict[str, object]) -> None:
    schema = json.loads((ROOT / "schemas" / "facts-1.json").read_text())
    document = {"schema_version": 1, "source": {"kind": "live", "root_user": True}, "facts": {}, "gaps": {}}
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, **change}, schema)


def test_every_fact_has_a_place_and_what_a_container_sees_of_it() -> None:
    rows = [line for line in generated()["docs/facts.md"].split("\n") if line.startswith("| `")]
    assert len(rows) > 1000
    assert [row for row in rows if "| `` |" in row or "| ? |" in row] == []


def places(section: Section) -> Iterator[tuple[str, str]]:
    """Model and, as the page says it, where it is read; ``/`` stands for models whose fields name whole paths."""
    for _, model, _, folder in _models(section.name, section.model, None, "", section):
        yield model.__name__, folder


def models_of(value: object) -> Iterator[Facts]:
    """Every fact model with an origin that is not one of its exceptions."""
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, Facts):
            yield item
            for name in marks(type(item)):
                yield from models_of(getattr(item, name))


def test_facts_of_a_gpu_node_and_of_this_host_are_read_where_the_page_says(tmp_path: Path) -> None:
    told: dict[str, set[str]] = {}
    for section in sections():
        for name, folder in places(section):
            told.setdefault(name, set()).update(part for part in folder.split(", "))
    node = open_root(str(gpu_node(8, 2, 2, 2, 12).write(tmp_path)))
    wrong = set()
    for host in (node, LiveHost.here()):
        for facts in run_probes(host, units("probes"))[0].facts.values():
            for model in models_of(facts):
                name, origin = type(model).__name__, model.origin
                if not any(fnmatchcase(origin, pattern) or origin.startswith(pattern) for pattern in told[name]):
                    wrong.add((name, origin))
    assert sorted(wrong) == []
