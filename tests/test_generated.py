"""What is generated and committed is what the code generates, and says the truth about what the code writes."""

import json
from pathlib import Path

import jsonschema
import pytest

from advisor.cli import run
from tests.refresh import ROOT, generated, stale


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
