"""The rule that docs/writing-rules.md begins with is one that loads and passes its own examples."""

import re
from pathlib import Path

import pytest

from advisor.cli import run
from tests.refresh import ROOT

GUIDE = (ROOT / "docs/writing-rules.md").read_text("utf-8")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the guide's rule, where the guide says to write it."""
    named = re.search(r"`site-rules/(\S+\.yaml)`:\n\n```yaml\n(.*?)```", GUIDE, re.DOTALL)
    assert named
    place = tmp_path / named[1]
    place.parent.mkdir(parents=True)
    place.write_text(named[2], "utf-8")
    return tmp_path


def test_the_rule_of_the_guide_passes_its_examples(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "test", str(site)]) == 0
    assert capsys.readouterr().out == "rules: 1, examples: 4, differences: 0\n"


def test_it_is_evaluated_beside_the_shipped_ones(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    host = str(ROOT / "tests/hosts/advice-from-articles")
    assert run(["check", "--root", host, "--rules", str(site), "--fail-on", "critical", "--format", "json"]) == 1
    assert '"storage/network-mount-under-data"' in capsys.readouterr().out
