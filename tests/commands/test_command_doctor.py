"""`advisor doctor`, whole, and what it says of an installation that lacks something."""

import json

import pytest

from advisor.cli import run
from advisor.commands.doctor import measuring


def test_every_job_is_told_with_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--format", "json"]) == 0
    jobs = {job["name"]: job for job in json.loads(capsys.readouterr().out)["jobs"]}
    assert [name.partition(" (")[0] for name in jobs] == [
        *("read this host", "ask NVIDIA GPUs", "judge it", "write configuration", "measure", "install and undo"),
    ]
    assert jobs["judge it (check)"]["able"] == jobs["write configuration (render)"]["able"] == "yes"
    assert all(job["able"] == "yes" or job["remedy"] for job in jobs.values())


def test_the_text_has_a_line_for_each_and_quiet_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [line.split()[0] in ("yes", "partly", "no") for line in lines] == [True] * 6
    assert run(["doctor", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_what_is_missing_or_too_old_is_named() -> None:
    job = measuring({"click": (999, 1), "no-such-package-here": (1, 2)})
    assert job.able == "no"
    assert "no-such-package-here (not installed)" in job.about
    assert "click 8" in job.about
    assert job.remedy == "install click>=999.1, no-such-package-here>=1.2"
