"""The README shows what the product prints: its excerpt is the command's own output, less what is marked as cut."""

import re

import pytest

from advisor.cli import run
from tests.readme import COMMAND, CUT, ROOT


def test_the_excerpt_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    shown = (ROOT / "README.md").read_text().split(f"    $ {COMMAND}\n")[1]
    lines = re.match(r"(?:    .*\n|\n)+", shown)
    assert lines is not None
    assert run(COMMAND.split()[1:]) == 1
    printed = capsys.readouterr().out
    parts = [part.strip(" ").strip("\n") for part in re.sub(r"(?m)^    ", "", lines[0]).split(CUT)]
    assert len(parts) > 2
    place = 0
    for part in parts:
        assert part in printed[place:]
        place = printed.index(part, place) + len(part)
    assert "CRITICAL" in lines[0]
    assert "DISPUTED" in lines[0]
