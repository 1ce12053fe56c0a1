"""The workload of a command line, as trials are asked for."""

import sys
from dataclasses import replace
from pathlib import Path

from advisor.commands._workload import Wanted, describe
from advisor.model.trial import Config


def test_trials_get_the_time_that_loading_the_workload_takes_beyond_their_own(tmp_path: Path) -> None:
    text = "import time\n\ndef factory():\n    time.sleep(1.5)\n    return [1, 2, 3]\n"
    (tmp_path / "slow.py").write_text(text)
    wanted = Wanted(f"{tmp_path}/slow.py:factory", None, sys.executable, None, 60.0)
    described = describe(wanted)
    assert described.loading_seconds >= 1.5
    late = replace(wanted, loading_seconds=40.0)
    assert late.request(Config()).seconds == wanted.request(Config()).seconds + 40.0
