"""`advisor capture`, whole: a capture gives the facts and findings of the machine it is of."""

import json
import tarfile
from pathlib import Path

import pytest

from advisor.cli import run
from advisor.commands._rules import loaded
from advisor.commands._snapshot import derive, probe_host
from advisor.discover import units
from advisor.host.captured import open_root
from advisor.host.live import LiveHost
from advisor.model.facts import Facts, marks
from advisor.probes._run import run_probes
from advisor.rulebook.evaluate import evaluate
from tests.trees import write_capture

ONLY_LIVE = {"python"}
"""Sections about the Python environment of advisor itself, which a capture does not have."""


def steady(value: object) -> object:
    """Facts without volatile ones."""
    if isinstance(value, Facts):
        known = marks(type(value))
        names = [n for n in type(value).model_fields if n not in known or not known[n].volatile]
        return {name: steady(getattr(value, name)) for name in names}
    return [steady(item) for item in value] if isinstance(value, tuple) else value


def captured(tmp_path: Path, *options: str) -> str:
    dest = str(tmp_path / "node.tar")
    assert run(["capture", dest, "--quiet", *options]) == 0
    return dest


def test_facts_are_those_of_the_live_host(tmp_path: Path) -> None:
    dest = captured(tmp_path, "--no-redact")
    live, _ = run_probes(LiveHost.here(), units("probes"))
    again, _ = run_probes(open_root(dest), units("probes"))
    assert live.facts.keys() == again.facts.keys()
    for name in live.facts.keys() - ONLY_LIVE:
        assert steady(again.facts[name]) == steady(live.facts[name]), name
    ignored = {path for path in {**live.gaps, **again.gaps} if path.startswith("python environment")}
    assert {p: g for p, g in again.gaps.items() if p not in ignored} == {
        p: g for p, g in live.gaps.items() if p not in ignored
    }


@pytest.mark.parametrize("options", [["--no-redact"], []], ids=["as it is", "redacted"])
def test_findings_are_those_of_the_live_host(options: list[str], tmp_path: Path) -> None:
    dest = captured(tmp_path, *options)
    findings = []
    for host in (LiveHost.here(), open_root(dest)):
        snapshot, _ = probe_host(host)
        facts = {name: facts for name, facts in snapshot.facts.items() if name not in ONLY_LIVE}
        snapshot = derive(type(snapshot)(snapshot.source, facts, snapshot.gaps))
        findings.append([(f.rule, f.subject, f.verdict) for f in evaluate(loaded(()), snapshot).findings])
    assert findings[0] == findings[1]


def test_a_capture_of_a_capture_gives_the_same_facts(tmp_path: Path) -> None:
    first = captured(tmp_path)
    second = str(tmp_path / "second")
    assert run(["capture", second, "--quiet", "--no-redact", "--root", first]) == 0
    one, _ = run_probes(open_root(first), units("probes"))
    other, _ = run_probes(open_root(second), units("probes"))
    assert (one.facts, one.gaps) == (other.facts, other.gaps)


def test_nothing_of_the_python_environment_is_in_it(tmp_path: Path) -> None:
    with tarfile.open(captured(tmp_path)) as tar:
        assert not [name for name in tar.getnames() if "site-packages" in name]


def test_it_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_capture(tmp_path / "node", {"/proc/cmdline": "quiet host=quokka17\n"})
    root = ["--root", str(tmp_path / "node")]
    assert run(["capture", str(tmp_path / "a"), *root]) == 0
    assert "secrets replaced" in capsys.readouterr().out
    assert run(["capture", str(tmp_path / "b"), *root, "--no-redact"]) == 0
    assert "do not share it" in capsys.readouterr().out
    assert run(["capture", str(tmp_path / "c"), *root, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["redacted"]) == (1, True)
    assert run(["capture", str(tmp_path / "d"), *root, "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert "quokka17" not in (tmp_path / "a/fs/proc/cmdline").read_text()
    assert "quokka17" in (tmp_path / "b/fs/proc/cmdline").read_text()


def test_what_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_capture(tmp_path / "node", {"/proc/cmdline": "quiet\n"})
    (tmp_path / "there.tar").write_text("mine")
    assert run(["capture", str(tmp_path / "there.tar"), "--root", str(tmp_path / "node")]) == 2
    assert "there.tar" in capsys.readouterr().err
    assert (tmp_path / "there.tar").read_text() == "mine"
